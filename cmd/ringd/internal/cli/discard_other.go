//go:build !linux

package cli

import (
	"errors"
	"os"
)

// discardInput returns an error, so that ringd asks nothing on this system. Input that was typed before the question
// cannot be discarded here, and would answer the question.
func discardInput(*os.File) error { return errors.New("read terminal: only Linux can") }
