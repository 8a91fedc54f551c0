package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// guestStreams are the daemon's ends of a guest's standard streams.
type guestStreams struct {
	stdin          input
	stdout, stderr *output
}

// streamsConfig is what streams need.
type streamsConfig struct {
	UID, GID int    // of the guest
	Most     int64  // max. bytes of standard output and error together
	Over     func() // called once when there is more
}

// newGuestStreams makes the three pipes of a guest. far are the guest's ends; the caller closes them.
func newGuestStreams(c streamsConfig) (s *guestStreams, far []*os.File, err error) {
	var near []*os.File
	for i := range 3 {
		n, f, err := pipe(i > 0)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll(near), closeAll(far))
		}
		near, far = append(near, n), append(far, f)
		if os.Getuid() == 0 {
			// A program also opens its streams by name, such as /dev/stdin, and is not root.
			if err := f.Chown(c.UID, c.GID); err != nil {
				return nil, nil, errors.Join(
					fmt.Errorf("give a guest its streams: %w", err), closeAll(near), closeAll(far),
				)
			}
		}
	}
	count := &outputLimit{left: c.Most, over: c.Over}
	return &guestStreams{
		stdin: input{near[0]}, stdout: &output{near[1], count}, stderr: &output{near[2], count},
	}, far, nil
}

// pipe returns the daemon's end, which waits through the poller, and the guest's, which blocks. If reads is
// set, the daemon's end is the one to read.
func pipe(reads bool) (near, far *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	n, f := fds[1], fds[0]
	if reads {
		n, f = f, n
	}
	if err := unix.SetNonblock(n, true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a pipe: %w", err), unix.Close(n), unix.Close(f))
	}
	return os.NewFile(uintptr(n), "stream"), os.NewFile(uintptr(f), "stream"), nil
}

// input may be closed more than once: by its writer and by the ring.
type input struct{ *os.File }

// Close closes the pipe.
func (i input) Close() error {
	if err := i.File.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// outputLimit is the rest of the output that a guest may write.
type outputLimit struct {
	over func()

	mu   sync.Mutex
	left int64 // left
	done bool
}

// take returns how many of n bytes may be forwarded. If that is fewer than n, it ends the guest.
func (c *outputLimit) take(n int) int {
	c.mu.Lock()
	given := int(min(int64(n), c.left))
	c.left -= int64(given)
	over := given < n && !c.done
	c.done = c.done || over
	c.mu.Unlock()
	if over {
		c.over()
	}
	return given
}

// output is one of the two streams that a guest writes.
type output struct {
	f *os.File
	*outputLimit
}

// Read implements io.Reader. It returns io.EOF at the limit.
func (o *output) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	given := o.take(n)
	switch {
	case given < n:
		return given, io.EOF
	case errors.Is(err, os.ErrClosed):
		return given, io.EOF
	}
	return given, err
}

// SetReadDeadline implements executors.drainer.
func (o *output) SetReadDeadline(t time.Time) error { return o.f.SetReadDeadline(t) }

// Drain implements executors.drainer. It ignores an expired deadline.
func (o *output) Drain(p []byte) (n int, err error) {
	raw, err := o.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if n, failed = unix.Read(int(fd), p); n < 0 {
			n = 0
		}
	})
	given := o.take(n)
	switch {
	case errors.Is(failed, unix.EAGAIN), errors.Is(failed, unix.EINTR):
		failed = nil
	case failed == nil && err == nil && n == 0 && len(p) > 0, given < n:
		failed = io.EOF
	}
	return given, errors.Join(err, failed)
}

// Close closes the daemon's end. It may be called again.
func (o *output) Close() error { return input{o.f}.Close() }

// The caller closes Stdin.
func (s *guestStreams) Stdin() io.WriteCloser { return s.stdin }

// Stdout ends with the guest or at its limit.
func (s *guestStreams) Stdout() io.Reader { return s.stdout }

// Stderr ends with the guest or at its limit.
func (s *guestStreams) Stderr() io.Reader { return s.stderr }

// Close closes the daemon's ends.
func (s *guestStreams) Close() error {
	return errors.Join(s.stdin.Close(), s.stdout.Close(), s.stderr.Close())
}

func closeAll(files []*os.File) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
