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

// guest is one process with its descendants. It stays a zombie, so that its
// number means nothing else, until it was waited for.
type guest struct {
	ring     *Ring
	agent    string
	executor string
	uid      int             // as which it runs
	kernel   profiles.Kernel // of the policy, what it was started with
	base     profiles.Kernel // of the policy, when it was started; before it is live
	process  *os.Process
	conn     connection
	control  *spawn.Control  // nil: there is no init
	around   *around         // nil: there is no init
	reaps    bool            // its init stays and tells of the program's end
	memory   int64           // what all of it may hold, bytes; 0: nobody counts
	folders  []string        // of it that are memory
	before   time.Duration   // what its group had used when its program began
	streams  *guestStreams   // nil: it has none
	doors    *guestListeners // nil: its network leads nowhere
	done     chan struct{}   // closed when its program has ended and nothing else of it lives
	after    func()          // when it was waited for; nil: nothing
	followed chan struct{}   // closed when all that init said was read; nil: it says nothing
	end      sync.Once       // closes done
	usage    chan time.Duration
	free     func()    // gives its user up; under mu
	reaped   sync.Once // gives up what the ring holds of it
	lost     error     // once reaped

	serves atomic.Pointer[string] // the run that it serves; nil: none yet
	begun  atomic.Bool            // its program runs

	mu          sync.Mutex
	dead        bool                  // under mu
	cpu         time.Duration         // under mu; the last figure, once dead
	peak        int64                 // under mu
	told        *initproto.Told       // under mu; the program's end, as init saw it
	limit       string                // under mu; the limit that the ring itself held
	held        string                // under mu; as in executors.Exit
	status      syscall.WaitStatus    // under mu; once dead
	failed      error                 // under mu; why its end is not known
	attestation executors.Attestation // under mu
	wider       bool                  // under the ring's mu: the set in force grants more than it has
}

// Conn is the host's end; the caller closes it.
func (g *guest) Conn() io.ReadWriteCloser { return g.conn }

// Attestation says what stands around the guest.
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

// attest changes one layer.
func (g *guest) attest(layer, state string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.attestation.Layers[layer] = state
}

// Kill ends the guest with all its descendants and waits for it.
func (g *guest) Kill() error {
	return errors.Join(g.signal(), g.reap())
}

// signal kills all of the guest and does not wait.
func (g *guest) signal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return nil
	}
	// While the guest is not waited for, no other group can have its number. Of one
	// in a namespace of processes it is the first, and all others end with it.
	if err := unix.Kill(-g.process.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill guest %d: %w", g.process.Pid, err)
	}
	if g.control == nil {
		return nil
	}
	if err := g.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill guest %d: %w", g.process.Pid, err)
	}
	return g.around.kill()
}

// reap waits for a guest that ends, and gives up what the ring holds of it. Of
// several callers each returns when that is done, with the same error.
func (g *guest) reap() error {
	g.reaped.Do(func() { g.lost = g.giveUp() })
	return g.lost
}

func (g *guest) giveUp() error {
	// The number stays taken, and others may use the guest meanwhile. What fails
	// here, the wait proper meets.
	for errors.Is(unix.Waitid(unix.P_PID, g.process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	g.mu.Lock()
	state, err := g.process.Wait()
	if err != nil {
		err = fmt.Errorf("wait for guest %d: %w", g.process.Pid, err)
	} else {
		g.cpu = max(g.cpu, state.UserTime()+state.SystemTime())
		g.status, _ = state.Sys().(syscall.WaitStatus) // on Linux it is one
		// The kernel counts in what this process had when it started the guest, since it
		// was one with it until execve. Where an init stays, that one tells of its own.
		if u, ok := state.SysUsage().(*syscall.Rusage); ok && !g.reaps {
			g.peak = max(g.peak, u.Maxrss<<10)
		}
	}
	g.dead, g.failed = true, err
	g.mu.Unlock()
	if g.followed != nil { // its last words are the end of the program
		late := time.AfterFunc(answerTime, func() { _ = g.control.Interrupt() })
		<-g.followed
		late.Stop()
	}
	if g.control != nil {
		err = errors.Join(err, g.control.Close(), g.around.close())
	}
	g.doors.Close()
	if g.after != nil {
		g.after()
	}
	g.ring.forget(g)
	g.left(nil)
	g.end.Do(func() { close(g.done) })
	return err
}

// left gives up the user of a guest that has ended, with free or what was given to an
// earlier call.
func (g *guest) left(free func()) {
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

// endFor ends the guest over a limit that the ring holds itself; held is as in
// executors.Exit. Its end shows on its streams.
func (g *guest) endFor(limit, held string) {
	g.mu.Lock()
	if g.limit == "" && !g.dead {
		g.limit, g.held = limit, held
	}
	g.mu.Unlock()
	_ = g.signal() // Close of the ring, or a Kill, meets the error again
}

// streamsOf is what the streams of s need.
func (g *guest) streamsOf(s executors.Spec) streamsConfig {
	return streamsConfig{
		UID: g.uid, GID: g.ring.gid, Most: s.Kernel.OutputBytes, Over: func() { g.endFor("output", "") },
	}
}

// revoke ends the guest for a reason that its connection tells.
func (g *guest) revoke(why error) error {
	g.conn.EndFor(why)
	return g.signal()
}

// abandon closes what a guest that did not start, or is dead, has of the ring.
func (g *guest) abandon() error {
	err := g.conn.Close()
	if g.streams != nil {
		err = errors.Join(err, g.streams.Close())
	}
	return err
}

// CPU is the processor time of the guest, also after its end. Of one whose init
// stays it is that of all its processes.
func (g *guest) CPU() (time.Duration, error) {
	if g.reaps {
		return g.askUsage()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return g.cpu, nil
	}
	// The clock of a process, as clock_getcpuclockid(3) makes it; the 2 is the
	// scheduler's count. Of a thread that runs on another processor right now it has
	// what was counted at the last tick, some milliseconds ago.
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

// answerTime is how long an init may take to say how much was used.
const answerTime = time.Second

// askUsage asks init. One that does not answer is an error, upon which the
// executor ends the guest.
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

// Stdin is closed by the caller.
func (g *guest) Stdin() io.WriteCloser { return g.streams.Stdin() }

// Stdout ends with the guest or its limit.
func (g *guest) Stdout() io.Reader { return g.streams.Stdout() }

// Stderr ends with the guest or its limit.
func (g *guest) Stderr() io.Reader { return g.streams.Stderr() }

// Wait returns the end of the program, after which no descendant lives. Only a
// guest with streams ends by itself.
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
	case g.told != nil:
		e.Code, e.Signal, e.Limit = g.told.Code, g.told.Signal, cmp.Or(e.Limit, g.told.Limit)
	case status.Signaled():
		e.Signal = int(status.Signal())
	case g.reaps: // init itself exited and did not say why
		return executors.Exit{}, executors.Because(fmt.Errorf("wait for %s guest: its init ended with code %d", g.executor, status.ExitStatus()),
			"its first process ended and did not say why the program did")
	default:
		e.Code = status.ExitStatus()
	}
	if e.Limit == "" && e.Signal == int(unix.SIGXCPU) {
		e.Limit = "cpu"
	}
	return e, nil
}

// Sealed waits until the guest has given up the rest itself.
func (g *guest) Sealed(ctx context.Context) error {
	if g.around == nil || g.around.seal == nil {
		return nil // without the layers it seals itself as it can, and attests nothing
	}
	return g.around.seal.wait(ctx, g)
}
