//go:build !linux

package audit

import (
	"errors"
	"os"
)

func openSegment(string, bool) (file, error) { return nil, errors.ErrUnsupported }

func noRoom(error) bool { return false }

func lockDir(string) (*os.File, error) { return nil, errors.ErrUnsupported }
