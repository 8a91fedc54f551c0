// Package js is the host's half of the JavaScript executor. It starts guest processes, gives each one program
// at a time, and enforces every limit a second time, since a guest is not trusted to enforce its own. It runs
// no JavaScript itself and never loads the engine; executors/js/jsguest does.
//
// A guest runs further programs only of the same agent, actor and revision, and only after a clean end
// (docs/adr/0003-guest-reuse.md). Fresh guests are kept ready, so that a first run is warm.
package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/profiles"
)

// Config is what an Executor needs. If the sizes are zero, no guest is kept: every run then starts a process,
// and no process serves two runs.
type Config struct {
	Launcher executors.Launcher
	Argv     []string // starts a guest: the binary's path and its hidden verb
	// compiled code, in a folder that only this user can write; if empty, every guest compiles
	CacheDir string
	Go       func(func())     // starts goroutines; Close waits for them
	Now      func() time.Time // wall clock

	// Engines start guests of other engines, by the digest of the engine. These are older builds of this
	// program, kept while one of their snapshots may be resumed.
	Engines map[string][]string

	Blank   int  // guests kept ready that have not seen a program
	Once    bool // one program will run: a guest that was taken is not replaced
	Idle    int  // guests kept after a run, in total
	PerKey  int  // guests kept after a run for one agent, actor and revision
	Reuse   int  // programs that one guest may run; if 0, 1
	Waiting int  // guests starting at once; if 0, 2
}

// Limits of a guest process in addition to those of its run.
const (
	guestCPU    = 10 * time.Minute // over its whole life
	guestData   = 640 << 20        // memory of the process: a run of the default limits fits
	guestFiles  = 64 << 20         // compiled code and image; the guest drops this right before a program
	processData = 384 << 20        // part of guestData: runtime, compiled code, translation
)

// Executor runs JavaScript and TypeScript. It is safe for concurrent use.
type Executor struct {
	cfg   Config
	pool  *pool.Pool[spec, *guest]
	cache *pool.Cache

	mu     sync.Mutex
	closed bool
	idle   []*guest // guests that have served runs, the longest waiting first
	digest string
}

// key identifies the runs that a used guest may serve.
type key struct{ agent, actor, revision string }

func (k key) holder() pool.Holder { return pool.Holder{Agent: k.agent, Actor: k.actor} }

// guest is a process with its link.
type guest struct {
	pool.Guest[spec]
	key  key // zero while blank
	runs int
}

// New checks cfg. It starts nothing; Warm does.
func New(cfg Config) (*Executor, error) {
	switch {
	case cfg.Launcher == nil, cfg.Go == nil, cfg.Now == nil:
		return nil, errors.New("js executor: Launcher, Go and Now must be set")
	case len(cfg.Argv) == 0:
		return nil, errors.New("js executor: Argv must name the guest")
	case slices.ContainsFunc(
		slices.Collect(maps.Values(cfg.Engines)), func(argv []string) bool { return len(argv) == 0 },
	):
		return nil, errors.New("js executor: Engines names a digest without a guest")
	case cfg.Idle < 0, cfg.PerKey < 0, cfg.Reuse < 0:
		return nil, errors.New("js executor: a size is negative")
	}
	if cfg.Reuse == 0 {
		cfg.Reuse = 1
	}
	cfg.Engines = maps.Clone(cfg.Engines)
	e := &Executor{cfg: cfg, cache: pool.NewCache(cfg.CacheDir, cfg.Now)}
	var err error
	e.pool, err = pool.New(pool.Config[spec, *guest]{
		Executor: "js", Go: cfg.Go, Launch: e.launch, Blank: cfg.Blank, Max: cfg.Blank, Waiting: cfg.Waiting,
		Once: cfg.Once,
	})
	return e, err
}

// Name is "js".
func (e *Executor) Name() string { return profiles.ExecutorJS }

// Digest names the engine of the guests. It is empty before the first was ready.
func (e *Executor) Digest() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.digest
}

// Warm starts the blank guests and waits for the first. Its error says why this host cannot run JavaScript. It
// is a *profiles.Denial with CodeExecutorUnavailable if the engine is missing.
func (e *Executor) Warm(ctx context.Context) error { return e.pool.Warm(ctx, blankSpec()) }

// Run runs one program. See executors.Executor. If a guest dies or violates the protocol, the outcome is
// failed. Errors are denials (*profiles.Denial), those of the host (Host.Ask), executors.ErrEngine, ErrSnapshot
// and ErrSlow, and faults before the program began or continued.
func (e *Executor) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	if err := e.pool.Enter(); err != nil {
		return executors.Outcome{}, err
	}
	defer e.pool.Leave()
	o, err := options(r, e.cfg.Now())
	if err != nil {
		return executors.Outcome{}, err
	}
	if out, spent := r.Spent(o.CPU, o.Wall); spent {
		return out, nil
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return executors.Outcome{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	k := key{agent: r.Agent.Name, actor: r.Actor, revision: r.Revision}
	kernel, _ := r.Agent.Kernel(profiles.ExecutorJS) // options has denied an agent without it
	want := spec{
		Spec: pool.Spec{Agent: r.Agent.Name, Kernel: kernel, Tier: r.Agent.MinTier},
		cpu:  o.CPU, memory: 2*o.MemoryBytes + 8<<20,
	}.narrow()
	if r.Resume != nil {
		if want.engine = r.Resume.Engine; want.engine == "" {
			return executors.Outcome{}, fmt.Errorf("resume run %s: %w: \"\"", r.ID, executors.ErrEngine)
		}
	}
	work := executors.Work{
		Options: raw, Source: []byte(r.Program.Source), Pause: r.Pause, Resume: r.Resume, Session: r.Session,
		Budget: executors.Budget{CPU: o.CPU, Wall: o.Wall, OutputBytes: o.OutputBytes, ResultBytes: o.ResultBytes},
	}
	g, kept, err := e.take(ctx, k, want)
	if err != nil {
		return executors.Outcome{}, err
	}
	e.pool.Refill(ctx, blankSpec()) // now: a run may wait for hours, and the next one should be warm
	g.Serve(r.ID)
	out, err := e.runIn(ctx, g, k, work, h)
	if kept && errors.Is(err, executors.ErrGone) { // it died while it was waiting in the pool
		if g, err = e.pool.Launch(ctx, want); err != nil {
			return executors.Outcome{}, err
		}
		g.Serve(r.ID)
		out, err = e.runIn(ctx, g, k, work, h)
	}
	if errors.Is(err, executors.ErrGuest) && !errors.Is(err, executors.ErrSnapshot) {
		out.State = executors.StateFailed
		if out.Error == nil {
			out.Error = &executors.ProgramError{Name: "GuestError"}
		}
		out.Error.Message = err.Error()
		err = nil
	}
	return out, err
}

// runIn runs a program in g, and then keeps or ends g.
func (e *Executor) runIn(
	ctx context.Context, g *guest, k key, w executors.Work, h executors.Host,
) (executors.Outcome, error) {
	g.key = k
	g.runs++
	out, again, err := g.Link.Run(ctx, w, h)
	out.Attestation = g.Link.Guest().Attestation()
	if again {
		e.give(g)
	}
	return out, err
}

// options builds the guest's options, or denies what the profile does not grant.
func options(r executors.Run, now time.Time) (jsproto.Options, error) {
	if r.Agent == nil || r.Agent.JS == nil {
		return jsproto.Options{}, &profiles.Denial{Capability: "executor js", Decision: profiles.Decision{
			Verdict: profiles.Deny, Code: profiles.CodeExecutorNotGranted, Revision: r.Revision,
			Reason: "the policy does not grant the js executor",
		}}
	}
	l := r.Limits
	if l.CPUMillis == nil || l.WallMillis == nil || l.MemoryBytes == nil || l.OutputBytes == nil ||
		l.ResultBytes == nil || l.StackBytes == nil {
		return jsproto.Options{}, fmt.Errorf("start run %s: a limit is missing", r.ID)
	}
	o := jsproto.Options{
		File: r.Program.Name, Language: language(r.Program),
		Inputs: r.Inputs, Seed: r.Seed, Revision: r.Revision,
		Imports: r.Agent.JS.Imports, Modules: allowed(r, now), Keep: r.Session,
		CPU: time.Duration(*l.CPUMillis) * time.Millisecond, Wall: time.Duration(*l.WallMillis) * time.Millisecond,
		MemoryBytes: *l.MemoryBytes, StackBytes: *l.StackBytes, OutputBytes: *l.OutputBytes,
		ResultBytes: *l.ResultBytes,
	}
	if p := r.Resume; p != nil {
		o.UsedCPU, o.UsedWall, o.Ended = p.Used.CPU, p.Used.Wall, p.Session
		// Older policies could grant more, and the run was started with that.
		o.StackBytes = min(o.StackBytes, profiles.MaxJSStackBytes)
	}
	if o.File == "" {
		o.File = "program." + o.Language
	}
	for _, g := range r.Agent.JS.DenyGlobals {
		o.DenyGlobals = append(o.DenyGlobals, g.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Agent.Bridges)) {
		b := r.Agent.Bridges[name]
		if len(b.Executors) == 0 || slices.Contains(b.Executors, profiles.ExecutorJS) {
			o.Bridges = append(o.Bridges, name)
		}
	}
	if err := o.Check(); err != nil {
		return jsproto.Options{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	return o, nil
}

// allowed returns the modules that the import profile allows this agent. The guest never sees the source of
// another.
func allowed(r executors.Run, now time.Time) map[string]profiles.Module {
	d := profiles.NewDecider(*r.Agent, r.Revision, profiles.Environment{Now: now})
	out := map[string]profiles.Module{}
	for name, m := range r.Modules {
		if d.Import(profiles.ExecutorJS, name).Verdict == profiles.Allow {
			out[name] = m
		}
	}
	return out
}

func language(p executors.Program) string {
	switch p.Language {
	case jsproto.JavaScript, jsproto.TypeScript:
		return p.Language
	case "":
		switch path.Ext(p.Name) {
		case ".ts", ".mts", ".cts":
			return jsproto.TypeScript
		default:
			return jsproto.JavaScript
		}
	default:
		return p.Language // Check rejects it
	}
}
