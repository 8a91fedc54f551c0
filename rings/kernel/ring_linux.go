package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
)

// Ring starts guests. It is safe for concurrent use.
//
// All guests are forked from one thread that lives as long as the Ring: the
// kernel sends the parent-death signal when the forking thread ends, not the
// process, and the thread has given up new privileges, so that a guest never
// had a moment with them.
type Ring struct {
	refused  inForce
	requests chan request
	done     chan struct{} // closed when the thread has ended
	null     *os.File
	watching atomic.Bool // see connection.Watch

	mu     sync.Mutex
	closed bool
	live   map[*guest]struct{}
}

type request struct {
	attr  *os.ProcAttr
	argv  []string
	reply chan<- reply
}

type reply struct {
	process *os.Process
	err     error
}

// New starts the launching thread. The caller closes the Ring.
func New(c Config) (*Ring, error) {
	if c.Go == nil {
		return nil, errors.New("kernel ring: Config.Go is not set")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("kernel ring: %w", err)
	}
	r := &Ring{requests: make(chan request), done: make(chan struct{}), null: null, live: map[*guest]struct{}{}}
	ready := make(chan error, 1)
	c.Go(func() { r.thread(ready) })
	if err := <-ready; err != nil {
		return nil, errors.Join(fmt.Errorf("kernel ring: %w", err), null.Close())
	}
	return r, nil
}

// thread forks guests until requests is closed. It never unlocks its thread,
// which therefore ends with it, and with the thread every guest still alive.
func (r *Ring) thread(ready chan<- error) {
	defer close(r.done)
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		ready <- fmt.Errorf("give up new privileges: %w", err)
		return
	}
	ready <- nil
	for q := range r.requests {
		// Descriptors that this process was itself started with are not marked,
		// and a guest must not have them.
		err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
		if err != nil {
			q.reply <- reply{err: fmt.Errorf("mark descriptors: %w", err)}
			continue
		}
		p, err := os.StartProcess(q.argv[0], q.argv, q.attr)
		q.reply <- reply{process: p, err: err}
	}
}

// Launch starts a guest: its own process group away from any terminal, an
// empty environment, the null device as standard streams, the connection as
// descriptor 3. The limits hold before anything is sent to it. The caller ends
// it with Kill; Close of the Ring ends what is left. ctx is looked at before the
// start only. Errors: *profiles.Denial, ErrClosed, faults.
func (r *Ring) Launch(ctx context.Context, s executors.Spec) (executors.Guest, error) {
	if !executors.Satisfies(tierOf(s.Executor), s.MinTier) {
		return nil, refuseTier(s)
	}
	if len(s.Argv) == 0 || s.Executor == "" || s.CPU <= 0 || s.MemoryBytes <= 0 || s.FileBytes < 0 {
		return nil, fmt.Errorf("launch %s guest: the spec is incomplete", s.Executor)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("launch %s guest: %w", s.Executor, err)
	}
	ours, theirs, err := pair()
	if err != nil {
		return nil, fmt.Errorf("launch %s guest: %w", s.Executor, err)
	}
	process, err := r.start(s.Argv, theirs)
	err = errors.Join(err, theirs.Close())
	if process == nil {
		return nil, errors.Join(fmt.Errorf("launch %s guest: %w", s.Executor, err), ours.Close())
	}
	g := &guest{ring: r, process: process, conn: connection{ours, &r.watching}, attestation: attest(s.Executor)}
	if err == nil {
		err = limit(process.Pid, s)
	}
	if err == nil {
		err = r.keep(g)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("launch %s guest: %w", s.Executor, err), g.Kill(), ours.Close())
	}
	return g, nil
}

// start asks the thread for a process with conn as descriptor 3.
func (r *Ring) start(argv []string, conn *os.File) (*os.Process, error) {
	attr := &os.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: []*os.File{r.null, r.null, r.null, conn},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	answer := make(chan reply, 1)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.requests <- request{attr: attr, argv: argv, reply: answer}
	r.mu.Unlock()
	a := <-answer
	return a.process, a.err
}

func (r *Ring) keep(g *guest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.live[g] = struct{}{}
	return nil
}

func (r *Ring) forget(g *guest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, g)
}

// Close kills every guest and ends the thread. Launch then returns ErrClosed.
// It may be called more than once.
func (r *Ring) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	left := make([]*guest, 0, len(r.live))
	for g := range r.live {
		left = append(left, g)
	}
	if first {
		close(r.requests)
	}
	r.mu.Unlock()
	var err error
	for _, g := range left {
		err = errors.Join(err, g.Kill(), g.conn.Close())
	}
	<-r.done
	if first {
		err = errors.Join(err, r.null.Close())
	}
	return err
}

// pair returns the two ends of a connection. Ours waits through the poller;
// theirs blocks, since the guest has nothing else to do.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a connection: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a connection: %w", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "guest"), os.NewFile(uintptr(fds[1]), "host"), nil
}

// Address space beside the memory in use: the Go runtime and wazero reserve far
// more than they touch, so the tight limit is that of data.
const reservedBytes = 16 << 30

// limit sets the resource limits of a guest that waits for its first message.
// There is no limit of processes: the kernel counts them for the whole user, and
// with the threads of every other process of the user among them.
func limit(pid int, s executors.Spec) error {
	seconds := uint64(s.CPU.Seconds()) + 1
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"CPU", unix.RLIMIT_CPU, seconds},
		{"DATA", unix.RLIMIT_DATA, uint64(s.MemoryBytes)},
		{"AS", unix.RLIMIT_AS, uint64(s.MemoryBytes) + reservedBytes},
		{"FSIZE", unix.RLIMIT_FSIZE, uint64(s.FileBytes)},
		{"CORE", unix.RLIMIT_CORE, 0},
		{"NOFILE", unix.RLIMIT_NOFILE, 64},
		{"MEMLOCK", unix.RLIMIT_MEMLOCK, 0},
		{"MSGQUEUE", unix.RLIMIT_MSGQUEUE, 0},
		{"RTPRIO", unix.RLIMIT_RTPRIO, 0},
	} {
		if raceDetector && (l.resource == unix.RLIMIT_DATA || l.resource == unix.RLIMIT_AS) {
			continue // it maps terabytes before main
		}
		var old unix.Rlimit
		if err := unix.Prlimit(pid, l.resource, nil, &old); err != nil {
			return fmt.Errorf("read limit %s: %w", l.name, err)
		}
		v := min(l.value, old.Max)
		if err := unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: v, Max: v}, nil); err != nil {
			return fmt.Errorf("set limit %s of process %s: %w", l.name, strconv.Itoa(pid), err)
		}
	}
	return nil
}
