//go:build !linux

package cli

import (
	"errors"
	"os"
)

// drop refuses: what was typed before would answer a question nobody saw.
func drop(*os.File) error { return errors.New("read terminal: only Linux can") }
