package conn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Connection may be closed more than once: by who uses it and by the Ring.
type Connection struct {
	*os.File
	watching *atomic.Bool           // one connection of the Ring is watched at a time
	cause    *atomic.Pointer[error] // why the ring ended the guest
}

// New makes a connection of our end of a Pair; watching is shared by all of a ring.
func New(f *os.File, watching *atomic.Bool) Connection {
	return Connection{f, watching, &atomic.Pointer[error]{}}
}

// Pair returns the two ends of a connection. Ours waits through the poller;
// theirs blocks, since the guest has nothing else to do.
func Pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a connection: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a connection: %w", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "guest"), os.NewFile(uintptr(fds[1]), "host"), nil
}

// EndFor says why the guest is ended, before it is: reads return that in place of
// its end. Only the first reason counts.
func (c Connection) EndFor(why error) { c.cause.CompareAndSwap(nil, &why) }

// Cause is why the ring has ended the guest; nil: it has not.
func (c Connection) Cause() error {
	if why := c.cause.Load(); why != nil {
		return *why
	}
	return nil
}

// Read reads. When the ring has ended the guest, its end is why.
func (c Connection) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	if err != nil {
		err = c.because(err)
	}
	return n, err
}

// because is err, or why the ring ended the guest.
func (c Connection) because(err error) error {
	if why := c.Cause(); why != nil {
		return why
	}
	return err
}

// looks is how often Watch looks before it gives up: some 100 microseconds, in
// which a guest takes an answer and asks its next question.
const looks = 300

// Watch implements executors.Watcher. It keeps one thread of the daemon busy at
// most, however many guests there are. What fails otherwise than the connection
// itself is left to Read.
func (c Connection) Watch(p []byte) (n int, ok bool, err error) {
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
func (c Connection) Close() error {
	if err := c.File.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
