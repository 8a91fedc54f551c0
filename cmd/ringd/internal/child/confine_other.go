//go:build !linux

package child

import (
	"os"
	"os/exec"
)

func confine(*exec.Cmd) error { return ErrUnavailable }

func limitSelf(header) error { return ErrUnavailable }

func usageOf(*os.ProcessState) Usage { return Usage{} }

func peakBytes() uint64 { return 0 }
