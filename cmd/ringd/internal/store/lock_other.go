//go:build !linux

package store

import (
	"errors"
	"os"
)

// NoFollow makes opening a link fail.
const NoFollow = 0

// writable refuses: without a lock that ends with the process, and folders that
// are known to be on disk, two could change what one has promised.
func writable() error {
	return errors.New("state folders are changed on Linux only; ringd audit reads them here, too")
}

// LockDir refuses.
func LockDir(string) (*os.File, error) { return nil, writable() }
