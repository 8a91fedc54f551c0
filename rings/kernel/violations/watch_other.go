//go:build !linux

package violations

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

// Follower is nothing on this system.
type Follower struct{}

// Follow refuses: guests need Linux.
func Follow(func(func())) (*Follower, error) { return nil, errors.Join(ErrUnseen, errLinux) }

// Guest does nothing.
func (*Follower) Guest(int, Told) (stop func()) { return func() {} }

// Close does nothing.
func (*Follower) Close() error { return nil }
