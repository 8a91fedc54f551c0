package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// connection is the daemon's end of the guest protocol. It may be closed more than once: by its user and by the
// Ring.
type connection struct {
	said     *os.File               // from the guest
	told     *os.File               // to the guest; with a socket, the same as said
	watching *atomic.Bool           // only one connection of the Ring is polled at a time
	cause    *atomic.Pointer[error] // why the ring ended the guest
}

// connectPipes makes the connection of a guest that does not seal itself. far are the guest's ends, to read
// from and to write to. The caller closes them. The daemon's ends wait through the poller. The guest's ends
// block, since the guest has nothing else to do.
//
// It is no socket, because a program can send descriptors with the bytes of a socket. The reading thread of the
// daemon would close those that are not taken, and that close waits for as long as the program has chosen
// (SO_LINGER).
func connectPipes(watching *atomic.Bool) (c connection, far []*os.File, err error) {
	said, out, err := pipe(true)
	if err != nil {
		return c, nil, err
	}
	told, in, err := pipe(false)
	if err != nil {
		return c, nil, errors.Join(err, said.Close(), out.Close())
	}
	return connection{said, told, watching, &atomic.Pointer[error]{}}, []*os.File{in, out}, nil
}

// connectSocket is connectPipes for a guest that seals itself. Such a guest can send no descriptors by the time
// it gets anything untrusted, and it keeps only one descriptor.
func connectSocket(watching *atomic.Bool) (c connection, far []*os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return c, nil, fmt.Errorf("make a connection: %w", err)
	}
	// Needs Linux 6.16. The seal denies sending descriptors too.
	_ = unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0)
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return c, nil, errors.Join(fmt.Errorf("make a connection: %w", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	ours := os.NewFile(uintptr(fds[0]), "guest")
	return connection{ours, ours, watching, &atomic.Pointer[error]{}}, []*os.File{
		os.NewFile(uintptr(fds[1]), "host"),
	}, nil
}

// Made is false for the zero connection.
func (c connection) Made() bool { return c.said != nil }

// EndFor sets the reason why the guest is going to be ended. Reads return it instead of EOF. Only the first
// reason is kept.
func (c connection) EndFor(why error) { c.cause.CompareAndSwap(nil, &why) }

// Cause returns why the ring has ended the guest, or nil if it has not.
func (c connection) Cause() error {
	if why := c.cause.Load(); why != nil {
		return *why
	}
	return nil
}

// Read reads from the guest. If the ring has ended the guest, it returns the reason.
func (c connection) Read(p []byte) (int, error) {
	n, err := c.said.Read(p)
	if err != nil {
		err = c.because(err)
	}
	return n, err
}

// Write writes to the guest.
func (c connection) Write(p []byte) (int, error) { return c.told.Write(p) }

// because returns the reason why the ring ended the guest, or err if it did not.
func (c connection) because(err error) error {
	if why := c.Cause(); why != nil {
		return why
	}
	return err
}

// looks is how often Watch polls before it gives up: some 100 microseconds, in which a guest takes an answer
// and asks its next question.
const looks = 300

// Watch implements executors.watcher. At most one thread of the daemon polls, however many guests there are.
// Errors other than those of the connection itself are left to Read.
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
	raw, failed := c.said.SyscallConn()
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
	return errors.Join(input{c.said}.Close(), input{c.told}.Close())
}
