//go:build !linux

package store

import (
	"errors"
	"os"
)

// noFollow makes opening a link fail.
const noFollow = 0

// writable returns an error. This system has no lock that ends with the process, and no sync of folders, so
// two processes could change what one has promised.
func writable() error {
	return errors.New("state folders are changed on Linux only; ringd audit reads them here, too")
}

// lockDir returns an error.
func lockDir(string) (*os.File, error) { return nil, writable() }
