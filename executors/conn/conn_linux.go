package conn

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// looks is how often Watch looks before it gives up: some 50 microseconds.
const looks = 150

// Watch implements executors.Watcher.
func (c Conn) Watch(p []byte) (n int, ok bool, err error) {
	for range looks {
		n, _, err = unix.Recvfrom(c.descriptor, p, unix.MSG_DONTWAIT)
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
