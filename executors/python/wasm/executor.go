// Package wasm is the host's half of the second Python engine: CPython in WebAssembly, for programs of the
// standard library alone and for hosts without the kernel ring. A policy asks for it by name; it is never a
// fallback. It starts guest processes, gives each one program, and enforces every limit a second time. It runs
// no Python itself and never loads the engine; executors/python/wasm/wasmguest does.
//
// A guest runs one program and is then discarded. Fresh interpreters are kept ready for any agent: they hold
// nothing of a policy.
package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/executors/python/wasm/wasmproto"
	"github.com/ringd/ringd/profiles"
)

// Config is what an Executor needs. If Blank is zero, no guest is kept ready.
type Config struct {
	Launcher executors.Launcher
	Argv     []string // starts a guest: the binary's path and its hidden verb
	Dir      string   // folder of the engine's files: see package place
	CacheDir string   // compiled code, in a folder that only this user can write; if empty, every guest compiles
	Go       func(func())
	Now      func() time.Time

	Preload []string // modules that a guest has loaded before its program
	Blank   int      // guests kept ready, from the first run on

	// Unguarded leaves out the guard of imports and events. Tests show by it what the engine enforces alone. No
	// policy can ask for it.
	Unguarded bool
}

// Limits of a guest process in addition to those of its run.
const (
	guestCPU    = 10 * time.Minute // over its whole life
	guestFiles  = 64 << 20         // compiled code; the guest drops this right before a program
	processData = 512 << 20        // runtime, compiled code, library, the program's files
	fillData    = 2 << 30          // for compiling
	blankMemory = 256 << 20        // of the program, in a guest without an agent
	maxDenials  = 1000             // max. number of denials that a result lists
)

// Executor runs Python programs in WebAssembly. It is safe for concurrent use.
type Executor struct {
	cfg   Config
	blank *pool.Pool[spec, *process]
	cache *pool.Cache
}

// New checks cfg. It starts nothing.
func New(cfg Config) (*Executor, error) {
	switch {
	case cfg.Launcher == nil, cfg.Go == nil, cfg.Now == nil:
		return nil, errors.New("WebAssembly Python: Launcher, Go and Now must be set")
	case len(cfg.Argv) == 0:
		return nil, errors.New("WebAssembly Python: Argv must name the guest")
	}
	e := &Executor{cfg: cfg, cache: pool.NewCache(cfg.CacheDir, cfg.Now)}
	var err error
	e.blank, err = pool.New(pool.Config[spec, *process]{
		Executor: "WebAssembly Python", Go: cfg.Go, Launch: e.launch, Blank: cfg.Blank, Max: cfg.Blank,
	})
	return e, err
}

// Name is "python".
func (e *Executor) Name() string { return profiles.ExecutorPython }

// Available returns why this host does not have the engine, or nil if it has.
func (e *Executor) Available() error { return place.Check(e.cfg.Dir) }

// Warm starts the waiting guests, and waits for the first.
func (e *Executor) Warm(ctx context.Context) error {
	if err := e.blank.Enter(); err != nil {
		return err
	}
	defer e.blank.Leave()
	return e.blank.Warm(ctx, blankSpec())
}

// Run runs one program. See executors.Executor. Errors of the program, and its denials, are in the outcome.
// Errors of Run are denials of the start (*profiles.Denial), errors of the host (Host.Ask),
// executors.ErrSnapshot for a session, which this engine does not have, and faults before the program began.
func (e *Executor) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	if err := e.blank.Enter(); err != nil {
		return executors.Outcome{}, err
	}
	defer e.blank.Leave()
	if r.Resume != nil {
		return executors.Outcome{}, fmt.Errorf(
			"resume run %s: %w: the WebAssembly Python keeps nothing for a later run", r.ID, executors.ErrSnapshot,
		)
	}
	want, o, err := options(r, e.cfg.Now())
	if err != nil {
		return executors.Outcome{}, err
	}
	o.Python.Unguarded = e.cfg.Unguarded
	raw, err := json.Marshal(o)
	if err != nil {
		return executors.Outcome{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	work := executors.Work{
		Options: raw, Source: []byte(r.Program.Source), Holds: true, Prints: true, Updated: begins, Denials: maxDenials,
		Budget: executors.Budget{
			CPU: o.CPU, Wall: millis(r.Limits.WallMillis), OutputBytes: o.OutputBytes,
			ResultBytes: o.Python.ResultBytes,
		},
	}
	out, err := e.blank.Run(ctx, want, func(g *process) (executors.Outcome, error) {
		return runIn(ctx, g, r.ID, work, h)
	})
	return finalOutcome(out, err)
}

// begins handles the guest's message before its program begins. No policy reaches it later.
func begins(u executors.Updated) error {
	if u.Seq != 0 {
		return fmt.Errorf("the WebAssembly Python says that it has taken update %d, and there was none", u.Seq)
	}
	return nil
}

// finalOutcome is the outcome of a guest that broke or violated the protocol.
func finalOutcome(out executors.Outcome, err error) (executors.Outcome, error) {
	if !errors.Is(err, executors.ErrGuest) {
		return out, err
	}
	out.State, out.Value = executors.StateFailed, nil
	out.Error = &executors.ProgramError{Name: "GuestError", Message: err.Error()}
	if errors.Is(err, executors.ErrRevoked) { // a push revoked something it had been started with
		out.State, out.Error.Name = executors.StateDenied, profiles.ErrorCapabilityRevoked
	}
	return out, nil
}

// runIn runs a program in g, which cannot be used afterwards.
func runIn(
	ctx context.Context, g *process, run string, w executors.Work, h executors.Host,
) (executors.Outcome, error) {
	g.Serve(run)
	out, again, err := g.Link.Run(ctx, w, h)
	out.Attestation = g.Link.Guest().Attestation()
	if again { // a guest serves no second run
		err = errors.Join(err, g.Link.Close())
	}
	return out, err
}

// Close rejects further runs, ends every waiting guest and waits for the runs under way. The caller ends the
// contexts of those.
func (e *Executor) Close() error {
	e.blank.Close()
	return nil
}

func millis(n *int64) time.Duration { return time.Duration(*n) * time.Millisecond }

// options builds the process and the options of a run, or denies what the profile does not grant or this engine
// cannot do.
func options(r executors.Run, now time.Time) (spec, wasmproto.Options, error) {
	if r.Agent == nil || r.Agent.Python == nil {
		return spec{}, wasmproto.Options{}, &profiles.Denial{Capability: capability, Decision: profiles.Decision{
			Verdict: profiles.Deny, Code: profiles.CodeExecutorNotGranted, Revision: r.Revision,
			Reason: "the policy does not grant the python executor",
		}}
	}
	if r.Session {
		return spec{}, wasmproto.Options{}, &profiles.Denial{Capability: capability, Decision: profiles.Decision{
			Verdict: profiles.Deny, Code: profiles.CodeExecutorUnavailable, Revision: r.Revision,
			Reason:  "the WebAssembly Python has no sessions: it keeps nothing for a later run",
			Instead: []string{"run the program without a session", "set tier: os-sandbox for python in the policy"},
		}}
	}
	l := r.Limits
	if l.CPUMillis == nil || l.WallMillis == nil || l.MemoryBytes == nil || l.OutputBytes == nil ||
		l.ResultBytes == nil {
		return spec{}, wasmproto.Options{}, fmt.Errorf("start run %s: a limit is missing", r.ID)
	}
	own := []string{executors.Workspace}
	profile := pyproto.ProfileOf(pyproto.ProfileConfig{
		Agent: r.Agent, Revision: r.Revision, Read: append([]string{place.Library}, own...), Write: own,
		Library: []string{}, Now: now,
	})
	profile.Network = profiles.NetworkOff
	o := wasmproto.Options{
		Python: pyproto.Options{
			File: r.Program.Name, Profile: &profile, Inputs: r.Inputs, Bridges: pyproto.BridgesOf(r.Agent),
			Dir: executors.Workspace,
			Env: []string{}, Stdin: true, Denials: maxDenials, ResultBytes: *l.ResultBytes,
		},
		Stdin: r.Program.Stdin, Seed: r.Seed, CPU: millis(l.CPUMillis), MemoryBytes: *l.MemoryBytes,
		OutputBytes: *l.OutputBytes,
	}
	if o.Python.File == "" {
		o.Python.File = "program.py"
	}
	if err := o.Check(); err != nil {
		return spec{}, wasmproto.Options{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	want := blankSpec()
	want.bare = r.Agent.Python != nil && len(r.Agent.Python.Imports.Process) > 0
	if executors.Satisfies(r.Agent.MinTier, want.Tier) {
		want.Tier = r.Agent.MinTier
	}
	if o.MemoryBytes > blankMemory || o.CPU > guestCPU/4 {
		want.memory, want.cpu = o.MemoryBytes, max(guestCPU, 2*o.CPU)
	}
	return want.keyed(), o, nil
}
