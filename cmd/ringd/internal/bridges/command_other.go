//go:build !linux

package bridges

import (
	"errors"
	"syscall"
)

const supported = false

func processAttributes() *syscall.SysProcAttr { return nil }

func killGroup(int) error { return errors.ErrUnsupported }

func awaitExit(int) {}
