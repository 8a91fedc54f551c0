package guestside

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// looks is how often Watch polls before it gives up: some 50 microseconds.
const looks = 150

// Watch implements executors.watcher.
func (c Conn) Watch(p []byte) (n int, ok bool, err error) {
	look := func() (n int, err error) {
		n, _, err = unix.Recvfrom(c.descriptor, p, unix.MSG_DONTWAIT)
		return n, err
	}
	if c.told != c.said {
		look = c.lookInto(p)
	}
	for range looks {
		n, err = look()
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, true, err
		case n == 0:
			return 0, true, io.EOF
		default:
			return n, true, nil
		}
	}
	return 0, false, nil
}

// lookInto reads from a pipe without blocking. Nothing else reads from it. Unlike a socket, a pipe has no flag
// for one non-blocking read.
func (c Conn) lookInto(p []byte) func() (int, error) {
	fds := []unix.PollFd{{Fd: int32(c.descriptor), Events: unix.POLLIN}}
	return func() (int, error) {
		if n, err := unix.Poll(fds, 0); n <= 0 || err != nil {
			return 0, unix.EAGAIN // Read returns the other error
		}
		return unix.Read(c.descriptor, p)
	}
}
