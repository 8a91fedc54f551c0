package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
)

// guest is one process with its descendants. It stays a zombie, so that its
// number means nothing else, until Kill has waited for it.
type guest struct {
	ring        *Ring
	process     *os.Process
	conn        connection
	attestation executors.Attestation

	mu   sync.Mutex
	dead bool          // under mu
	cpu  time.Duration // under mu; the last figure, once dead
}

// connection may be closed more than once: by who uses it and by the Ring.
type connection struct {
	*os.File
	watching *atomic.Bool // one connection of the Ring is watched at a time
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
		return 0, true, err
	case n == 0:
		return 0, true, io.EOF
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

// Conn is the host's end; the caller closes it.
func (g *guest) Conn() io.ReadWriteCloser { return g.conn }

// Attestation says what stands around the guest.
func (g *guest) Attestation() executors.Attestation { return g.attestation }

// Kill ends the whole process group and waits for the guest.
func (g *guest) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return nil
	}
	// The group before the wait: while the guest is not waited for, no other
	// group can have its number.
	if err := unix.Kill(-g.process.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill guest %d: %w", g.process.Pid, err)
	}
	state, err := g.process.Wait()
	if err != nil {
		return fmt.Errorf("wait for guest %d: %w", g.process.Pid, err)
	}
	g.dead = true
	g.cpu = state.UserTime() + state.SystemTime()
	g.ring.forget(g)
	return nil
}

// CPU is the processor time of all threads of the guest, also after its end.
func (g *guest) CPU() (time.Duration, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return g.cpu, nil
	}
	// The clock of a process, as clock_getcpuclockid(3) makes it; the 2 is the
	// scheduler's count.
	var t unix.Timespec
	err := unix.ClockGettime(int32(^g.process.Pid)<<3|2, &t)
	if errors.Is(err, syscall.EINVAL) {
		// It has ended and was not waited for: only the wait knows the figure.
		return g.cpu, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read processor time of guest %d: %w", g.process.Pid, err)
	}
	g.cpu = time.Duration(t.Nano())
	return g.cpu, nil
}
