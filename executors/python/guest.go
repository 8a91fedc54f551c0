package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/executors/python/pyguest"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// spec is the process that a run needs.
type spec struct {
	pool.Spec
	env  pyproto.Environment
	bare bool // nothing is imported in advance
}

// preload lists the modules that a guest imports before its program. No policy watches that yet: a library
// would also find modules there that are denied to libraries.
func (s spec) preload() []string {
	if s.bare {
		return []string{}
	}
	return list(s.env.Preload)
}

// process is an interpreter with its link.
type process struct {
	pool.Guest[spec]
	std executors.Streamer
	up  updates
}

// specOf returns the process that an agent's programs need, or the denial if the agent does not have the
// executor.
func (e *Executor) specOf(ctx context.Context, a *profiles.Agent, revision string) (spec, error) {
	k, ok := profiles.Kernel{}, false
	if a != nil {
		k, ok = a.Kernel(profiles.ExecutorPython)
	}
	if !ok {
		return spec{}, notGranted(revision)
	}
	if !executors.Satisfies(a.MinTier, profiles.TierProcess) { // not one of the tiers
		return spec{}, &profiles.Denial{Capability: capability, Decision: profiles.Decision{
			Verdict: profiles.Deny, Code: profiles.CodeTierUnavailable, Revision: revision,
			Reason: fmt.Sprintf("the policy asks for tier %q, which is not known", a.MinTier),
		}}
	}
	env, err := e.cfg.Environments.Of(ctx, a)
	if err != nil {
		return spec{}, executors.Refused(profiles.ExecutorPython, err)
	}
	digest, err := k.Digest()
	if err != nil {
		return spec{}, fmt.Errorf("start a python guest: %w", err)
	}
	tier := profiles.TierOS
	if executors.Satisfies(a.MinTier, tier) {
		tier = a.MinTier
	}
	bare := a.Python != nil && len(a.Python.Imports.Process) > 0
	return spec{env: env, bare: bare, Spec: pool.Spec{
		Key:   a.Name + "\x00" + digest + "\x00" + env.Digest + map[bool]string{true: "\x00bare"}[bare],
		Agent: a.Name, Revision: revision, Kernel: k, Tier: tier,
	}}, nil
}

func notGranted(revision string) error {
	return &profiles.Denial{Capability: capability, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeExecutorNotGranted, Revision: revision,
		Reason: "the policy does not grant the python executor",
	}}
}

const capability = "executor python"

// launch starts an interpreter and waits until it is ready.
func (e *Executor) launch(ctx context.Context, s spec) (*process, error) {
	code, err := e.code.get(ctx, s, e.compile)
	if err != nil {
		return nil, executors.Refused(profiles.ExecutorPython, err)
	}
	settings, err := pyproto.Hello(pyproto.Settings{Sites: list(s.env.Sites), Preload: s.preload()}, code)
	if err != nil {
		return nil, err
	}
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorPython, Argv: argv(s.env, pyguest.Launcher), MinTier: s.Tier, Agent: s.Agent,
		Kernel: s.Kernel, Streams: true,
		CPU: time.Duration(s.Kernel.CPUMillis) * time.Millisecond, MemoryBytes: s.Kernel.MemoryBytes,
		FileBytes: s.Kernel.FileBytes,
		Own:       s.env.Own, Code: s.env.Code, List: s.env.List, Env: ofProcess(),
	})
	if err != nil {
		return nil, executors.Refused(profiles.ExecutorPython, err)
	}
	std, ok := g.(executors.Streamer)
	if !ok {
		return nil, errors.Join(errors.New("start python guest: it has no streams"), g.Kill(), g.Conn().Close())
	}
	alone := context.WithoutCancel(ctx) // its end is awaited after the run, too
	leaves := &executors.Leaving{Guest: g, Wait: func() { _, _ = std.Wait(alone) }}
	link, err := executors.Dial(ctx, executors.LinkConfig{
		Go: e.cfg.Go, Now: e.cfg.Now,
	}, &executors.Counted{Guest: leaves},
		executors.Hello{Version: executors.ProtocolVersion, Settings: settings})
	if err != nil {
		return nil, errors.Join(
			executors.Refused(profiles.ExecutorPython, err), startOutput(ctx, g), executors.CloseGuest(g),
		)
	}
	if r := link.Ready(); r.Executor != profiles.ExecutorPython || !s.env.Speaks(r.Digest) {
		return nil, errors.Join(fmt.Errorf(
			"start python guest: %q with engine %q answered, not %q", r.Executor, r.Digest, s.env.EngineOf(),
		),
			link.Close(), executors.CloseGuest(g))
	}
	e.mu.Lock()
	e.digests[link.Ready().Digest] = true
	e.mu.Unlock()
	return &process{Guest: pool.Guest[spec]{Link: link, Process: g, Spec: s}, std: std}, nil
}

// argv starts an interpreter that reads no variable, no site and no folder by itself, and writes no byte code.
// It holds nothing of the policy.
func argv(env pyproto.Environment, program string) []string {
	return []string{env.Interpreter, "-I", "-S", "-B", "-X", "utf8", "-c", program}
}

// ofProcess is the environment of the interpreter itself. A library that starts a thread for each processor
// would exceed the limit of threads.
func ofProcess() []string {
	return []string{"LC_ALL=C.UTF-8", "MALLOC_ARENA_MAX=2", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1"}
}

// maxSaid limits the quoted output of an interpreter that did not start.
const maxSaid = 2 << 10

// startOutput is the standard error of an interpreter that ended before it was ready. Nothing of a program has run, so
// it is CPython's own output.
func startOutput(ctx context.Context, g executors.Guest) error {
	std, ok := g.(executors.Streamer)
	if !ok {
		return nil
	}
	exit := executors.EndedOf(ctx, std)
	buf := make([]byte, maxSaid)
	n, _ := io.ReadFull(std.Stderr(), buf)
	switch {
	case n > 0:
		return fmt.Errorf("the interpreter said: %q", buf[:n])
	case exit.Signal != 0:
		return fmt.Errorf("the interpreter was ended by signal %d", exit.Signal)
	case exit.Limit != "":
		return fmt.Errorf("the interpreter reached the limit of %s", exit.Limit)
	default:
		return nil
	}
}

// list is never null in JSON.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}
