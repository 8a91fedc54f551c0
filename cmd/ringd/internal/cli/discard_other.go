//go:build !linux

package cli

import (
	"errors"
	"os"
)

// discardInput returns an error: input typed earlier would answer a question that was not seen.
func discardInput(*os.File) error { return errors.New("read terminal: only Linux can") }
