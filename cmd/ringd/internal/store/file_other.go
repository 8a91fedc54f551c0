//go:build !linux

package store

import (
	"errors"
	"os"
)

const noFollow = 0

func lockDir(string) (*os.File, error) { return nil, errors.ErrUnsupported }
