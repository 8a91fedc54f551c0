//go:build !linux

package violations

import (
	"errors"
	"os"
)

var errLinux = errors.New("watch a guest: guests need Linux")

// Listener does not exist on this system.
type Listener struct{}

// Listen returns an error: guests need Linux.
func Listen(_ Config, fd *os.File) (*Listener, error) {
	if fd == nil {
		return nil, errLinux
	}
	return nil, errors.Join(errLinux, fd.Close())
}

// Close does nothing.
func (*Listener) Close() error { return nil }

// Follower does not exist on this system.
type Follower struct{}

// Follow returns an error: guests need Linux.
func Follow(func(func())) (*Follower, error) { return nil, errors.Join(ErrUnseen, errLinux) }

// Guest does nothing.
func (*Follower) Guest(int, Told) (stop func()) { return func() {} }

// Close does nothing.
func (*Follower) Close() error { return nil }
