package js

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/profiles"
)

// spec is the process that a run needs. All guests are in one list of the pool, and fits decides which of them
// may serve a run.
type spec struct {
	pool.Spec
	cpu    time.Duration
	memory int64
	engine string // digest; if empty, that of Config.Argv
}

// blankSpec is a guest without an agent: the minimum that the guest of any agent gets.
func blankSpec() spec {
	k, _ := profiles.Agent{JS: &profiles.JS{}}.Kernel(profiles.ExecutorJS)
	return spec{Spec: pool.Spec{Tier: profiles.TierWasm, Kernel: k}}
}

// narrow returns the spec of a blank guest, if that is enough for the run and grants nothing that its own spec
// would not.
func (s spec) narrow() spec {
	if k := blankSpec().Kernel; s.ordinary() && k.Within(s.Kernel) {
		s.Kernel = k
	}
	return s
}

// ordinary reports whether a guest without an agent is enough.
func (s spec) ordinary() bool { return s.cpu <= guestCPU/4 && s.memory <= guestData-processData }

// take returns a guest for one run: a guest that served the same key, a guest that served no run yet, or a new
// guest. kept is false for a new guest.
func (e *Executor) take(ctx context.Context, k key, s spec) (g *guest, kept bool, err error) {
	if s.ordinary() {
		if g := e.pick(k, s); g != nil {
			return g, true, nil
		}
	}
	g, err = e.pool.Launch(ctx, s)
	return g, false, err
}

// pick removes a kept guest from the pool that has enough of its limits left, or returns nil.
func (e *Executor) pick(k key, s spec) *guest {
	want := cmp.Or(s.engine, e.Digest())
	fits := func(g *guest) bool { return g.Link.Ready().Digest == want && g.Spec.Kernel.Within(s.Kernel) }
	e.mu.Lock()
	i := slices.IndexFunc(e.idle, func(g *guest) bool { return g.key == k && g.Satisfies(s.Tier) && fits(g) })
	if i >= 0 {
		defer e.mu.Unlock()
		g := e.idle[i]
		e.idle = slices.Delete(e.idle, i, i+1)
		return g
	}
	e.mu.Unlock()
	g, _ := e.pool.Pick(s, fits)
	return g
}

// launch starts a guest and waits until it is ready. If s asks for an engine, the guest has that engine, or the
// error wraps executors.ErrEngine.
func (e *Executor) launch(ctx context.Context, s spec) (*guest, error) {
	own := e.Digest()
	if s.engine == "" || own == "" || s.engine == own {
		g, err := e.startGuest(ctx, s, e.cfg.Argv)
		if err != nil || s.engine == "" || g.Link.Ready().Digest == s.engine {
			return g, err
		}
		e.pool.Keep(g) // it was the first, and reported the engine of this build
	}
	argv, ok := e.cfg.Engines[s.engine]
	if !ok {
		return nil, fmt.Errorf("%w: %s; this host has %s", executors.ErrEngine, s.engine, e.Digest())
	}
	g, err := e.startGuest(ctx, s, argv)
	var denial *profiles.Denial
	switch {
	case err == nil && g.Link.Ready().Digest == s.engine:
		return g, nil
	case err == nil:
		g.End()
		err = fmt.Errorf("its guest has %s", g.Link.Ready().Digest)
	case ctx.Err() != nil, errors.As(err, &denial) && denial.Decision.Code == profiles.CodeTierUnavailable:
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s: %w", executors.ErrEngine, s.engine, err)
}

// startGuest starts the guest of argv and greets it.
func (e *Executor) startGuest(ctx context.Context, s spec, argv []string) (*guest, error) {
	link, err := e.cache.Start(ctx, pool.Starts{
		Cold:  jsproto.Cold,
		Begin: func(ctx context.Context, cache string) (*executors.Link, error) { return e.begin(ctx, s, argv, cache) },
		Fill: func(ctx context.Context, room, made string) (*executors.Link, error) {
			return e.fill(ctx, s, argv, room, made)
		},
	})
	if err != nil {
		return nil, refused(err)
	}
	if err := e.known(link.Ready(), slices.Equal(argv, e.cfg.Argv)); err != nil {
		return nil, errors.Join(err, link.Close())
	}
	return &guest{Guest: pool.Guest[spec]{Link: link, Spec: s}}, nil
}

// begin starts one guest, which loads compiled code from cache, and waits until it is ready and, in a kernel
// ring, sealed.
func (e *Executor) begin(ctx context.Context, s spec, argv []string, cache string) (*executors.Link, error) {
	spec := executors.Spec{
		Executor: profiles.ExecutorJS, Argv: argv, MinTier: s.Tier, Agent: s.Agent, Kernel: s.Kernel, Seals: true,
		CPU: max(guestCPU, 2*s.cpu), MemoryBytes: max(guestData, s.memory+processData), FileBytes: guestFiles,
	}
	// If this program is built with C, as the race detector needs it, the C library would read the number of
	// processors when a thread needs memory.
	spec.Env = []string{"MALLOC_ARENA_MAX=1"}
	if cache != "" {
		spec.Own = []profiles.PathRule{{Path: cache}}
	}
	g, err := e.cfg.Launcher.Launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	return pool.Dial(ctx, e.link(), g, jsproto.Settings{CacheDir: cache, Ring: pool.InRing(g)})
}

// fill starts a guest that compiles into a folder of its own and runs no program.
func (e *Executor) fill(ctx context.Context, s spec, argv []string, room, made string) (*executors.Link, error) {
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorJS, Argv: argv, MinTier: s.Tier, Kernel: s.Kernel, Room: room,
		CPU: guestCPU, MemoryBytes: guestData, FileBytes: guestFiles,
	})
	if err != nil {
		return nil, err
	}
	return pool.Greet(ctx, e.link(), g, jsproto.Settings{CacheDir: made, Ring: true, Fill: true})
}

func (e *Executor) link() executors.LinkConfig {
	return executors.LinkConfig{Go: e.cfg.Go, Now: e.cfg.Now}
}

// known rejects a guest of another kind, and a guest of this build with another engine than those before it.
func (e *Executor) known(r executors.Ready, own bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Executor != profiles.ExecutorJS || r.Digest == "" {
		return fmt.Errorf("start js guest: %q with engine %q answered", r.Executor, r.Digest)
	}
	if e.digest == "" && own {
		e.digest = r.Digest
	}
	if e.digest != r.Digest && own {
		return fmt.Errorf("start js guest: engine %s, the guests before have %s", r.Digest, e.digest)
	}
	return nil
}

// refused is the denial of a guest that reports that it cannot run programs.
func refused(err error) error {
	var u *executors.Unavailable
	if errors.As(err, &u) && u.Fix == "" {
		err = &executors.Unavailable{Text: u.Text, Fix: "make engine"}
	}
	return executors.Refused(profiles.ExecutorJS, err)
}

// give keeps a guest after a clean end, or ends it.
func (e *Executor) give(g *guest) {
	if g.runs < e.cfg.Reuse && !e.tired(g) && e.keepIdle(g) {
		return
	}
	g.End()
}

// tired reports whether a guest has used so much of its life's processor time that another run could exceed it.
func (e *Executor) tired(g *guest) bool {
	used, err := g.Link.Guest().CPU()
	return err != nil || used > guestCPU/2
}

func (e *Executor) keepIdle(g *guest) bool {
	var old *guest
	e.mu.Lock()
	same := 0
	for _, i := range e.idle {
		if i.key == g.key {
			same++
		}
	}
	keep := !e.closed && e.cfg.Idle > 0 && same < e.cfg.PerKey
	if keep {
		if len(e.idle) >= e.cfg.Idle {
			held := make([]pool.Holder, len(e.idle))
			for i, o := range e.idle {
				held[i] = o.key.holder()
			}
			i := pool.Crowded(held, g.key.holder())
			old = e.idle[i]
			e.idle = slices.Delete(e.idle, i, i+1)
		}
		e.idle = append(e.idle, g)
	}
	e.mu.Unlock()
	if old != nil {
		old.End()
	}
	return keep
}

// Drop ends the idle guests of every other revision.
func (e *Executor) Drop(revision string) {
	e.mu.Lock()
	var old []*guest
	e.idle = slices.DeleteFunc(e.idle, func(g *guest) bool {
		if g.key.revision == revision {
			return false
		}
		old = append(old, g)
		return true
	})
	e.mu.Unlock()
	for _, g := range old {
		g.End()
	}
}

// Close rejects further runs, ends every kept guest and waits for the runs under way. The caller ends the
// contexts of those.
func (e *Executor) Close() error {
	e.mu.Lock()
	e.closed = true
	kept := e.idle
	e.idle = nil
	e.mu.Unlock()
	for _, g := range kept {
		g.End()
	}
	e.pool.Close()
	return nil
}
