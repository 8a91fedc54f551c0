// Package python is the host's half of the Python executor. It starts interpreters in guests of the kernel
// ring, gives each one program, reads its output, and enforces every limit. It runs no Python and reads none.
// executors/python/pyguest does that, inside the guest, and denies first what the kernel ring would deny as
// well.
//
// A guest runs one program and is then discarded, since its modules, files and threads are dirty. Fresh
// interpreters are kept ready, with the modules loaded that the policy allows, so that a program begins at
// once. A session is a guest that stays, for the runs of one name.
package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// Config is what an Executor needs. If the sizes are zero, no guest is kept ready and there are no sessions.
type Config struct {
	Launcher     executors.Launcher
	Environments Environments
	Go           func(func())     // starts goroutines; Close waits for them
	Now          func() time.Time // wall clock, monotonic
	Random       io.Reader        // of session tokens

	Workspace, Home string   // values of $WORKSPACE and ~ in a policy; if empty, they have none
	Env             []string // NAME=value of every program, in addition to the variables that each program has

	Blank   int // guests kept ready for each profile that was asked for
	Max     int // guests kept ready in total; if 0, four times Blank
	Waiting int // guests starting at once; if 0, 2

	Sessions int           // number of sessions; for one more, the agent and actor with the most lose one
	Idle     time.Duration // how long an unused session is kept; if 0, 15 minutes
	// SessionBytes is the most memory that an interpreter may use and still be kept for its session. If it is 0,
	// the policy's limit of memory for a program is used.
	SessionBytes int64
	Notice       func(Notice) // called with the effect of a policy on live guests; may be nil

	// Wasm runs the programs of agents whose engine is profiles.PythonWasm. If nil, they are denied: there is
	// no fallback. Close closes it.
	Wasm executors.Executor

	// Unguarded disables the guards in the guests. Tests show by it what the kernel ring enforces alone.
	Unguarded bool
}

// Environments finds the environment of an agent's programs.
type Environments interface {
	// Of returns the environment of an agent that has the executor. If this host does not have the environment
	// that the policy requires, it returns an *executors.Unavailable error.
	Of(ctx context.Context, a *profiles.Agent) (pyproto.Environment, error)
}

// Executor runs Python programs. It is safe for concurrent use.
type Executor struct {
	cfg      Config
	blank    *pool.Pool[spec, *process]
	code     codes
	sessions sessions

	inForce atomic.Pointer[policy] // nil before the first policy
	telling sync.Mutex             // one policy at a time

	mu      sync.Mutex
	runs    map[*process]*executors.Run // runs under way
	digests map[string]bool             // of the engines that were seen on this host
}

// New checks cfg. It starts nothing.
func New(cfg Config) (*Executor, error) {
	switch {
	case cfg.Launcher == nil, cfg.Environments == nil, cfg.Go == nil, cfg.Now == nil, cfg.Random == nil:
		return nil, errors.New("python executor: Launcher, Environments, Go, Now and Random must be set")
	case cfg.Sessions < 0, cfg.Idle < 0, cfg.SessionBytes < 0:
		return nil, errors.New("python executor: a bound of sessions is negative")
	}
	if cfg.Idle == 0 {
		cfg.Idle = defaultIdle
	}
	e := &Executor{cfg: cfg, digests: map[string]bool{}, runs: map[*process]*executors.Run{}}
	e.code.of = map[string]*compiled{}
	e.sessions.live = map[string]*session{}
	var err error
	e.blank, err = pool.New(pool.Config[spec, *process]{
		Executor: "python", Go: cfg.Go, Launch: e.launch, Blank: cfg.Blank, Max: cfg.Max, Waiting: cfg.Waiting,
	})
	return e, err
}

// Name is "python".
func (e *Executor) Name() string { return profiles.ExecutorPython }

// HasEngine reports whether an interpreter with this digest has answered on this host.
func (e *Executor) HasEngine(digest string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.digests[digest]
}

// Warm keeps guests ready for an agent and waits for the first. Its error says why this host cannot run
// programs. It is a *profiles.Denial if the host does not provide the layers, or has no interpreter.
func (e *Executor) Warm(ctx context.Context, a *profiles.Agent, revision string) error {
	if err := e.blank.Enter(); err != nil {
		return err
	}
	defer e.blank.Leave()
	want, err := e.specOf(ctx, a, revision)
	if err != nil {
		return err
	}
	return e.blank.Warm(ctx, want)
}

// Run runs one program. See executors.Executor. Errors of the program, and its denials, are in the outcome.
// Errors of Run are denials of the start (*profiles.Denial), errors of the host (Host.Ask),
// executors.ErrSnapshot for a session that no longer exists, and faults before the program began.
func (e *Executor) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	if err := e.blank.Enter(); err != nil {
		return executors.Outcome{}, err
	}
	defer e.blank.Leave()
	if isWasm(r.Agent) {
		return e.runWasm(ctx, r, h)
	}
	if r.Resume != nil {
		return e.goOn(ctx, r, h)
	}
	for try := range maxTries {
		b, err := e.bind(ctx, r)
		if err != nil {
			return executors.Outcome{}, err
		}
		g, kept, err := e.start(ctx, b.spec, try > 0)
		if err != nil {
			return executors.Outcome{}, err
		}
		out, over, err := e.begin(ctx, g, r, kept, h)
		if over {
			return out, err
		}
	}
	return executors.Outcome{}, fmt.Errorf("start run %s: the policy changes faster than an interpreter starts", r.ID)
}

// maxTries is how often a program is given another interpreter.
const maxTries = 4

// start returns an interpreter for one program. kept is true for one from the pool. fresh skips the pool: it is
// set after one from there was dead.
func (e *Executor) start(ctx context.Context, s spec, fresh bool) (g *process, kept bool, err error) {
	if !fresh {
		return e.blank.Take(ctx, s)
	}
	g, err = e.blank.Launch(ctx, s)
	return g, false, err
}

// begin runs a program in a fresh interpreter. If over is false, the program has not begun and another
// interpreter may run it: this one had died in the pool, or was not started for the policy that has come into
// force.
func (e *Executor) begin(
	ctx context.Context, g *process, r executors.Run, kept bool, h executors.Host,
) (out executors.Outcome, over bool, err error) {
	b, done, err := e.settled(ctx, g, r)
	defer done()
	if err != nil {
		g.End()
		return out, !errors.Is(err, executors.ErrSnapshot), err
	}
	defer e.blank.RefillSoon(ctx, b.spec)()
	out, again, err := e.runIn(ctx, g, b, h)
	switch {
	case errors.Is(err, executors.ErrGone) && kept:
		return out, false, nil
	case errors.Is(err, executors.ErrGone):
		out.State = executors.StateFailed
		out.Error = &executors.ProgramError{
			Name: "GuestError", Message: "the interpreter ended before it did anything for the program",
		}
	case err != nil:
		return out, true, err
	}
	out, err = e.keep(ctx, g, b.run, out, again)
	return out, true, err
}

// bound is a run with everything that it needs, under one policy.
type bound struct {
	run    executors.Run
	spec   spec
	work   executors.Work
	policy *policy // the policy in force, or nil before the first
}

// bind adds to a run everything that it needs under the policy in force.
func (e *Executor) bind(ctx context.Context, r executors.Run) (bound, error) {
	b := bound{policy: e.inForce.Load()}
	var err error
	if b.run, err = b.policy.now(r); err != nil {
		return bound{}, err
	}
	if b.spec, err = e.specOf(ctx, b.run.Agent, b.run.Revision); err != nil {
		return bound{}, err
	}
	o, err := e.options(b.run, b.spec.env)
	if err != nil {
		return bound{}, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return bound{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	b.work = executors.Work{
		Denials: maxDenials,
		Options: text, Source: []byte(r.Program.Source), Holds: true,
		// It sends no console lines: the output of a program comes through its streams, which are counted
		// there.
		Budget: executors.Budget{
			CPU: millis(r.Limits.CPUMillis), Wall: millis(r.Limits.WallMillis), ResultBytes: *r.Limits.ResultBytes,
		},
	}
	return b, nil
}

// settled binds a run that has its guest. The guest then gets all policies that come into force, until the
// returned function is called. The error wraps executors.ErrSnapshot if the guest was started for another
// policy.
func (e *Executor) settled(ctx context.Context, g *process, r executors.Run) (b bound, done func(), err error) {
	done = e.register(g, &r)
	for {
		if b, err = e.bind(ctx, r); err != nil {
			return b, done, err
		}
		// otherwise the goroutine that updates the guests has not seen this one
		if e.inForce.Load() == b.policy {
			return b, done, g.serves(b.spec)
		}
	}
}

// register makes the guest of a run get policies during the run. The returned function ends that.
func (e *Executor) register(g *process, r *executors.Run) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[g] = r
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.runs[g] == r { // otherwise a run continues from there
			delete(e.runs, g)
		}
	}
}

func millis(n *int64) time.Duration { return time.Duration(*n) * time.Millisecond }

// options builds the guest's options.
func (e *Executor) options(r executors.Run, env pyproto.Environment) (pyproto.Options, error) {
	if l := r.Program.Language; l != "" && l != profiles.ExecutorPython {
		return pyproto.Options{}, fmt.Errorf("start run %s: %q is not a language of this executor", r.ID, l)
	}
	l := r.Limits
	if l.CPUMillis == nil || l.WallMillis == nil || l.MemoryBytes == nil || l.OutputBytes == nil ||
		l.ResultBytes == nil {
		return pyproto.Options{}, fmt.Errorf("start run %s: a limit is missing", r.ID)
	}
	profile := pyproto.ProfileOfAgent(r.Agent, r.Revision, env, e.places())
	o := pyproto.Options{
		File: r.Program.Name, Profile: &profile, Inputs: r.Inputs, Bridges: pyproto.BridgesOf(r.Agent),
		Dir: r.Program.Dir, Env: environment(e.cfg.Env), Stdin: len(r.Program.Stdin) > 0, Session: r.Session,
		Denials: maxDenials, ResultBytes: *l.ResultBytes, Unguarded: e.cfg.Unguarded,
	}
	if o.File == "" {
		o.File = "program.py"
	}
	if err := o.Check(); err != nil {
		return pyproto.Options{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	return o, nil
}

func (e *Executor) places() pyproto.Places {
	return pyproto.Places{Workspace: e.cfg.Workspace, Home: e.cfg.Home, Now: e.cfg.Now()}
}

// maxDenials is how many denials the end of a run lists.
const maxDenials = 100

// environment is the variables of a program: those that ordinary programs expect, and nothing of the host.
func environment(more []string) []string {
	return append([]string{
		"PATH=" + executors.Programs, "USER=agent", "LOGNAME=agent", "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
	}, more...)
}

// Drop ends the ready guests that were started for another revision.
func (e *Executor) Drop(revision string) { e.blank.Drop(revision) }

// Close rejects further runs, ends every guest and session, and waits for the runs under way. The caller ends
// the contexts of those.
func (e *Executor) Close() error {
	e.closeSessions()
	e.blank.Close()
	if e.cfg.Wasm != nil {
		return e.cfg.Wasm.Close()
	}
	return nil
}
