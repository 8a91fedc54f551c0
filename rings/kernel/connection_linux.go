package kernel

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// connection may be closed more than once: by who uses it and by the Ring.
type connection struct {
	*os.File
	watching *atomic.Bool           // one connection of the Ring is watched at a time
	cause    *atomic.Pointer[error] // why the ring ended the guest; read in place of the end
}

func (r *Ring) connection(f *os.File) connection {
	return connection{f, &r.watching, &atomic.Pointer[error]{}}
}

// Read reads. When the ring has ended the guest, its end is why.
func (c connection) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	if err != nil {
		err = c.because(err)
	}
	return n, err
}

// because is err, or why the ring ended the guest.
func (c connection) because(err error) error {
	if why := c.cause.Load(); why != nil {
		return *why
	}
	return err
}

// looks is how often Watch looks before it gives up: some 100 microseconds, in
// which a guest takes an answer and asks its next question.
const looks = 300

// Watch implements executors.Watcher. It keeps one thread of the daemon busy at
// most, however many guests there are. What fails otherwise than the connection
// itself is left to Read.
func (c connection) Watch(p []byte) (n int, ok bool, err error) {
	if !c.watching.CompareAndSwap(false, true) {
		return 0, false, nil
	}
	defer c.watching.Store(false)
	look := func(fd uintptr) bool {
		for range looks {
			n, err = unix.Read(int(fd), p)
			if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				ok = true
				break
			}
		}
		return true
	}
	raw, failed := c.SyscallConn()
	if failed == nil {
		failed = raw.Read(look)
	}
	switch {
	case failed != nil || !ok:
		return 0, false, nil
	case err != nil:
		return 0, true, c.because(err)
	case n == 0:
		return 0, true, c.because(io.EOF)
	}
	return n, true, nil
}

// Close closes the connection.
func (c connection) Close() error {
	if err := c.File.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
