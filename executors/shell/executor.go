// Package shell is the host's half of the shell executor. It starts guest processes of the kernel ring, sends
// each one script, reads the output of the script, and enforces every limit a second time. It reads no shell
// text and starts no program; executors/shell/shellguest does that, inside the guest.
//
// A guest runs one script and is then discarded, since its files, processes and variables are dirty. Fresh
// guests are kept ready for profiles that were asked for, so that a script begins at once.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// Config is what an Executor needs. If the sizes are zero, no guest is kept ready.
type Config struct {
	Launcher executors.Launcher
	Argv     []string         // starts a guest: the binary's path and its hidden verb
	Go       func(func())     // starts goroutines; Close waits for them
	Now      func() time.Time // wall clock

	Workspace, Home string   // values of $WORKSPACE and ~ in a policy; if empty, they have none
	Env             []string // NAME=value of every script, in addition to the variables that each script has

	Blank   int // guests kept ready for each profile that was asked for
	Max     int // guests kept ready in total; if 0, four times Blank
	Waiting int // guests starting at once; if 0, 2
}

// Executor runs shell scripts. It is safe for concurrent use.
type Executor struct {
	cfg   Config
	blank *pool.Pool[pool.Spec, *guest]
}

// guest is a process with its link. Its Key is of the agent and of the digest of its kernel.
type guest struct{ pool.Guest[pool.Spec] }

// New checks cfg. It starts nothing.
func New(cfg Config) (*Executor, error) {
	switch {
	case cfg.Launcher == nil, cfg.Go == nil, cfg.Now == nil:
		return nil, errors.New("shell executor: Launcher, Go and Now must be set")
	case len(cfg.Argv) == 0:
		return nil, errors.New("shell executor: Argv must name the guest")
	}
	e := &Executor{cfg: cfg}
	var err error
	e.blank, err = pool.New(pool.Config[pool.Spec, *guest]{
		Executor: "shell", Go: cfg.Go, Launch: e.launch, Blank: cfg.Blank, Max: cfg.Max, Waiting: cfg.Waiting,
	})
	return e, err
}

// Name is "shell".
func (e *Executor) Name() string { return profiles.ExecutorShell }

// Digest names the version of the code that reads and runs scripts.
func (e *Executor) Digest() string { return shellproto.Engine }

// Warm keeps guests ready for an agent and waits for the first. Its error says why this host cannot run
// scripts. It is a *profiles.Denial with CodeTierUnavailable if the host does not provide the layers.
func (e *Executor) Warm(ctx context.Context, a *profiles.Agent, revision string) error {
	want, err := specOf(a, revision)
	if err != nil {
		return err
	}
	if err := e.blank.Enter(); err != nil {
		return err
	}
	defer e.blank.Leave()
	return e.blank.Warm(ctx, want)
}

// Run runs one script. See executors.Executor. A denied script is an outcome with exit code 126. Errors are
// denials of the start (*profiles.Denial), errors of the host (Host.Ask), executors.ErrEngine, ErrSnapshot and
// ErrSlow, and faults before the script began.
func (e *Executor) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	if err := e.blank.Enter(); err != nil {
		return executors.Outcome{}, err
	}
	defer e.blank.Leave()
	want, err := specOf(r.Agent, r.Revision)
	if err != nil {
		return executors.Outcome{}, err
	}
	if r.Resume != nil && r.Resume.Engine != shellproto.Engine {
		return executors.Outcome{}, fmt.Errorf(
			"resume run %s: %w: %q; this host has %s", r.ID, executors.ErrEngine, r.Resume.Engine, shellproto.Engine,
		)
	}
	o, err := e.options(r)
	if err != nil {
		return executors.Outcome{}, err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return executors.Outcome{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	if out, spent := r.Spent(o.CPU, o.Wall); spent {
		return out, nil
	}
	work := executors.Work{
		Options: raw, Source: []byte(r.Program.Source), Pause: r.Pause, Resume: r.Resume, Session: r.Session,
		Acts:   true,
		Budget: executors.Budget{CPU: o.CPU, Wall: o.Wall, ResultBytes: maxValue},
	}
	out, err := e.blank.Run(ctx, want, func(g *guest) (executors.Outcome, error) { return e.runIn(ctx, g, r, work, h) })
	if errors.Is(err, executors.ErrGone) && !errors.Is(err, executors.ErrSnapshot) {
		out.State, err = executors.StateFailed, nil
		out.Error = &executors.ProgramError{
			Name: "GuestError", Message: "the guest process ended before it did anything for the script",
		}
	}
	return out, err
}

// maxValue limits a script's value, which is null.
const maxValue = 4

func millis(n *int64) time.Duration { return time.Duration(*n) * time.Millisecond }

// specOf returns the process that an agent's scripts need, or the denial if the agent does not have the
// executor.
func specOf(a *profiles.Agent, revision string) (pool.Spec, error) {
	if a != nil {
		if k, ok := a.Kernel(profiles.ExecutorShell); ok {
			digest, err := k.Digest()
			if err != nil {
				return pool.Spec{}, fmt.Errorf("start a shell guest: %w", err)
			}
			tier := profiles.TierOS
			if executors.Satisfies(a.MinTier, tier) {
				tier = a.MinTier
			}
			return pool.Spec{
				Key: a.Name + "\x00" + digest, Agent: a.Name, Revision: revision, Kernel: k, Tier: tier,
			}, nil
		}
	}
	return pool.Spec{}, &profiles.Denial{Capability: "executor shell", Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeExecutorNotGranted, Revision: revision,
		Reason: "the policy does not grant the shell executor",
	}}
}

// maxPrograms is how many programs one script starts, at most.
const maxPrograms = 10_000

// defaultAtOnce is how many of them run at once, unless the policy says otherwise.
const defaultAtOnce = 16

// options builds the guest's options.
func (e *Executor) options(r executors.Run) (shellproto.Options, error) {
	l := r.Limits
	if l.CPUMillis == nil || l.WallMillis == nil || l.MemoryBytes == nil || l.OutputBytes == nil {
		return shellproto.Options{}, fmt.Errorf("start run %s: a limit is missing", r.ID)
	}
	o := shellproto.Options{
		File: r.Program.Name, Agent: shellproto.Profile(*r.Agent), Revision: r.Revision,
		Workspace: e.cfg.Workspace, Home: e.cfg.Home, Dir: r.Program.Dir, Env: slices.Clone(e.cfg.Env),
		Stdin: len(r.Program.Stdin) > 0, Seed: r.Seed, Keep: r.Session,
		CPU: millis(l.CPUMillis), Wall: millis(l.WallMillis), Memory: *l.MemoryBytes, Programs: maxPrograms,
		AtOnce: defaultAtOnce,
	}
	if l.Processes != nil {
		o.AtOnce = max(*l.Processes, 1)
	}
	if r.Resume != nil {
		o.Ended = r.Resume.Session
	}
	if o.File == "" {
		o.File = "script.sh"
	}
	if err := o.Check(); err != nil {
		return shellproto.Options{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	return o, nil
}

// Drop ends the ready guests that were started for another revision.
func (e *Executor) Drop(revision string) { e.blank.Drop(revision) }

// Close rejects further runs, ends every ready guest and waits for the runs under way. The caller ends the
// contexts of those.
func (e *Executor) Close() error {
	e.blank.Close()
	return nil
}
