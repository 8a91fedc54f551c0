//go:build !linux

package store

import (
	"errors"
	"os"
)

// noFollow makes opening a link fail.
const noFollow = 0

// writable refuses: without a lock that ends with the process, and folders that
// are known to be on disk, two could change what one has promised.
func writable() error {
	return errors.New("state folders are changed on Linux only; ringd audit reads them here, too")
}

// lockDir refuses.
func lockDir(string) (*os.File, error) { return nil, writable() }
