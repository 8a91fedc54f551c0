//go:build !linux

package files

import (
	"errors"
	"os"
)

// NoFollow makes opening a link fail.
const NoFollow = 0

// LockDir refuses: there is no lock here that ends with the process.
func LockDir(string) (*os.File, error) { return nil, errors.ErrUnsupported }
