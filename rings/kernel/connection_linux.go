package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// connection may be closed more than once: by who uses it and by the Ring.
type connection struct {
	said     *os.File               // by the guest
	told     *os.File               // to it: the same in a socket
	watching *atomic.Bool           // one connection of the Ring is watched at a time
	cause    *atomic.Pointer[error] // why the ring ended the guest
}

// connectPipes makes the connection of a guest that does not seal itself; far are the guest's
// ends, to read from and to write to, which the caller closes. Ours wait through the
// poller, theirs block, since the guest has nothing else to do. It is no socket: with the
// bytes of one a program sends descriptors, and those that nobody takes are closed by the
// thread of the daemon that reads, which waits for as long as the program has chosen
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

// connectSocket is Pipes for a guest that seals itself, which sends no descriptors any more
// before anything untrusted is sent to it: one descriptor is all it keeps.
func connectSocket(watching *atomic.Bool) (c connection, far []*os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return c, nil, fmt.Errorf("make a connection: %w", err)
	}
	_ = unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) // of Linux 6.16; the seal refuses to send as well
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return c, nil, errors.Join(fmt.Errorf("make a connection: %w", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	ours := os.NewFile(uintptr(fds[0]), "guest")
	return connection{ours, ours, watching, &atomic.Pointer[error]{}}, []*os.File{os.NewFile(uintptr(fds[1]), "host")}, nil
}

// Made is false of the zero Connection.
func (c connection) Made() bool { return c.said != nil }

// EndFor says why the guest is ended, before it is: reads return that in place of
// its end. Only the first reason counts.
func (c connection) EndFor(why error) { c.cause.CompareAndSwap(nil, &why) }

// Cause is why the ring has ended the guest; nil: it has not.
func (c connection) Cause() error {
	if why := c.cause.Load(); why != nil {
		return *why
	}
	return nil
}

// Read reads. When the ring has ended the guest, its end is why.
func (c connection) Read(p []byte) (int, error) {
	n, err := c.said.Read(p)
	if err != nil {
		err = c.because(err)
	}
	return n, err
}

// Write tells the guest.
func (c connection) Write(p []byte) (int, error) { return c.told.Write(p) }

// because is err, or why the ring ended the guest.
func (c connection) because(err error) error {
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
