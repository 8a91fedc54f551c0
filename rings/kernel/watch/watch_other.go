//go:build !linux

package watch

import (
	"errors"
	"os"
)

var errLinux = errors.New("watch a guest: guests need Linux")

// Listener is nothing on this system.
type Listener struct{}

// Listen refuses: guests need Linux.
func Listen(_ Config, fd *os.File) (*Listener, error) {
	if fd == nil {
		return nil, errLinux
	}
	return nil, errors.Join(errLinux, fd.Close())
}

// Close does nothing.
func (*Listener) Close() error { return nil }
