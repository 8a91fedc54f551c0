package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/spawn"
)

// guest is one process with its descendants. Until it was waited for it stays a zombie, so that its process ID
// is not reused.
type guest struct {
	ring      *Ring
	agent     string
	executor  string
	uid       int             // user ID it runs as
	kernel    profiles.Kernel // its profile at the start
	base      profiles.Kernel // the profile of the policy at the start, before it is live
	process   *os.Process
	conn      connection
	control   *spawn.Control  // nil if there is no init
	layers    *layers         // nil if there is no init
	reaps     bool            // its init stays and reports the program's end
	memory    int64           // limit of the memory of all its processes, bytes; if 0, it is not counted
	folders   []string        // those of its folders that are in memory
	before    time.Duration   // processor time of its group when its program began
	streams   *guestStreams   // nil if it has none
	listeners *guestListeners // nil if it has no network
	done      chan struct{}   // closed when its program has ended and none of its processes is left
	after     func()          // called when it was waited for; may be nil
	followed  chan struct{}   // closed when all messages of init were read; nil if there is no init
	end       sync.Once       // closes done
	usage     chan time.Duration
	free      func()    // releases its user; under mu
	reaped    sync.Once // releases its resources in the ring
	lost      error     // set once reaped

	serves atomic.Pointer[string] // the run that it serves; nil before the first
	begun  atomic.Bool            // its program runs

	mu          sync.Mutex
	dead        bool                  // under mu
	cpu         time.Duration         // under mu; final once dead
	peak        int64                 // under mu
	lastTold    *initproto.Told       // under mu; the program's end, as init reported it
	limit       string                // under mu; the limit of the ring that ended it
	held        string                // under mu; as in executors.Exit
	status      syscall.WaitStatus    // under mu; once dead
	failed      error                 // under mu; why its end is not known
	attestation executors.Attestation // under mu
	wider       bool                  // under the ring's mu: the set in force grants more than it has
}

// Conn is the host's end. The caller closes it.
func (g *guest) Conn() io.ReadWriteCloser { return g.conn }

// Attestation returns the layers around the guest.
func (g *guest) Attestation() executors.Attestation {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.attestation
	a.Layers = maps.Clone(a.Layers)
	return a
}

// Serve implements executors.Serving.
func (g *guest) Serve(run string) { g.serves.Store(&run) }

func (g *guest) run() string {
	if s := g.serves.Load(); s != nil {
		return *s
	}
	return ""
}

// attest sets the state of one layer.
func (g *guest) attest(layer, state string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.attestation.Layers[layer] = state
}

// Kill ends the guest with all its descendants and waits for it.
func (g *guest) Kill() error {
	return errors.Join(g.signal(), g.reap())
}

// signal kills all processes of the guest and does not wait.
func (g *guest) signal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return nil
	}
	// Until the guest is waited for, no other process group can have its number. If the guest has its own PID
	// namespace, this process is the first in it, and all others end with it.
	if err := unix.Kill(-g.process.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill guest %d: %w", g.process.Pid, err)
	}
	if g.control == nil {
		return nil
	}
	if err := g.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill guest %d: %w", g.process.Pid, err)
	}
	return g.layers.kill()
}

// reap waits for a guest that ends, and releases its resources in the ring. Concurrent callers all return when
// that is done, with the same error.
func (g *guest) reap() error {
	g.reaped.Do(func() { g.lost = g.giveUp() })
	return g.lost
}

func (g *guest) giveUp() error {
	// The process ID stays taken, and others may use the guest meanwhile. The wait below meets an error again.
	for errors.Is(unix.Waitid(unix.P_PID, g.process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	g.mu.Lock()
	state, err := g.process.Wait()
	if err != nil {
		err = fmt.Errorf("wait for guest %d: %w", g.process.Pid, err)
	} else {
		g.cpu = max(g.cpu, state.UserTime()+state.SystemTime())
		g.status, _ = state.Sys().(syscall.WaitStatus) // on Linux it always is one
		// The kernel includes the usage of this process at the time it started the guest, since the two were
		// one until execve. If an init stays, init reports its own usage.
		if u, ok := state.SysUsage().(*syscall.Rusage); ok && !g.reaps {
			g.peak = max(g.peak, u.Maxrss<<10)
		}
	}
	g.dead, g.failed = true, err
	g.mu.Unlock()
	if g.followed != nil { // its last messages say how the program ended
		late := time.AfterFunc(answerTime, func() { _ = g.control.Interrupt() })
		<-g.followed
		late.Stop()
	}
	if g.control != nil {
		err = errors.Join(err, g.control.Close(), g.layers.close())
	}
	g.listeners.Close()
	if g.after != nil {
		g.after()
	}
	g.ring.forget(g)
	g.releaseUser(nil)
	g.end.Do(func() { close(g.done) })
	return err
}

// releaseUser releases the user of a guest that has ended, with free or with the function of an earlier call.
func (g *guest) releaseUser(free func()) {
	g.mu.Lock()
	if free != nil {
		g.free = free
	}
	free = g.free
	dead := g.dead
	g.mu.Unlock()
	if dead && free != nil {
		free()
	}
}

// endFor ends the guest because of a limit that the ring itself enforces. held is as in executors.Exit. The end
// shows on the guest's streams.
func (g *guest) endFor(limit, held string) {
	g.mu.Lock()
	if g.limit == "" && !g.dead {
		g.limit, g.held = limit, held
	}
	g.mu.Unlock()
	_ = g.signal() // Close of the ring, or a Kill, meets the error again
}

// streamsOf is the configuration of the streams that s needs.
func (g *guest) streamsOf(s executors.Spec) streamsConfig {
	return streamsConfig{
		UID: g.uid, GID: g.ring.gid, Most: s.Kernel.OutputBytes, Over: func() { g.endFor("output", "") },
	}
}

// revoke ends the guest. Reads of its connection return why.
func (g *guest) revoke(why error) error {
	g.conn.EndFor(why)
	return g.signal()
}

// abandon closes the resources of a guest that did not start or is dead.
func (g *guest) abandon() error {
	err := g.conn.Close()
	if g.streams != nil {
		err = errors.Join(err, g.streams.Close())
	}
	return err
}

// CPU is the processor time of the guest, also after its end. If its init stays, it is that of all its
// processes.
func (g *guest) CPU() (time.Duration, error) {
	if g.reaps {
		return g.askUsage()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return g.cpu, nil
	}
	// The clock of a process, as clock_getcpuclockid(3) makes it. The 2 selects the scheduler's count. For a
	// thread that runs on another processor right now it has the count of the last tick, some milliseconds ago.
	var t unix.Timespec
	err := unix.ClockGettime(int32(^g.process.Pid)<<3|2, &t)
	if errors.Is(err, syscall.EINVAL) {
		// It has ended and was not waited for: only the wait returns the figure.
		return g.cpu, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read processor time of guest %d: %w", g.process.Pid, err)
	}
	g.cpu = time.Duration(t.Nano())
	return g.cpu, nil
}

// answerTime limits how long an init may take to answer AskUsage.
const answerTime = time.Second

// askUsage asks init for the usage. If init does not answer, it returns an error, upon which the executor ends
// the guest.
func (g *guest) askUsage() (time.Duration, error) {
	last := func() (time.Duration, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.cpu, nil
	}
	if err := g.control.Send(initproto.Ask{What: initproto.AskUsage}); err != nil {
		<-g.done // it is ending: follow waits for it
		return last()
	}
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case cpu := <-g.usage:
		return cpu, nil
	case <-g.done:
		return last()
	case <-late.C:
		return 0, fmt.Errorf("read processor time of guest %d: its init does not answer", g.process.Pid)
	}
}

// The caller closes Stdin.
func (g *guest) Stdin() io.WriteCloser { return g.streams.Stdin() }

// Stdout ends with the guest or at its limit.
func (g *guest) Stdout() io.Reader { return g.streams.Stdout() }

// Stderr ends with the guest or at its limit.
func (g *guest) Stderr() io.Reader { return g.streams.Stderr() }

// Wait returns how the program ended. No descendant is alive then. Only a guest with streams ends by itself.
func (g *guest) Wait(ctx context.Context) (executors.Exit, error) {
	select {
	case <-g.done:
	case <-ctx.Done():
		return executors.Exit{}, fmt.Errorf("wait for %s guest: %w", g.executor, context.Cause(ctx))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed != nil {
		return executors.Exit{}, g.failed
	}
	if why := g.conn.Cause(); why != nil {
		return executors.Exit{}, why
	}
	e := executors.Exit{Limit: g.limit, Held: g.held, CPU: g.cpu, Peak: g.peak}
	switch status := g.status; {
	case g.lastTold != nil:
		e.Code, e.Signal, e.Limit = g.lastTold.Code, g.lastTold.Signal, cmp.Or(e.Limit, g.lastTold.Limit)
	case status.Signaled():
		e.Signal = int(status.Signal())
	case g.reaps: // init itself exited without a reason
		return executors.Exit{}, executors.Because(fmt.Errorf(
			"wait for %s guest: its init ended with code %d", g.executor, status.ExitStatus(),
		),
			"its first process ended without the reason of the program's end")
	default:
		e.Code = status.ExitStatus()
	}
	if e.Limit == "" && e.Signal == int(unix.SIGXCPU) {
		e.Limit = "cpu"
	}
	return e, nil
}

// Sealed waits until the guest has sealed itself.
func (g *guest) Sealed(ctx context.Context) error {
	if g.layers == nil || g.layers.seal == nil {
		return nil // without the layers it seals itself as far as it can, and nothing is attested
	}
	return g.layers.seal.wait(ctx, g)
}
