package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell/start"
	"github.com/ringd/ringd/profiles"
)

// spec is what a run asks of its process.
type spec struct {
	key
	kernel   profiles.Kernel
	tier     profiles.Tier
	revision string
}

// take returns a guest for one run: a ready one, or a new one. kept is false for a
// new one.
func (e *Executor) take(ctx context.Context, s spec) (g *guest, kept bool, err error) {
	e.mu.Lock()
	i := slices.IndexFunc(e.blank, func(g *guest) bool {
		return g.key == s.key && executors.Satisfies(g.link.Guest().Attestation().Tier, s.tier)
	})
	if i >= 0 {
		g = e.blank[i]
		e.blank = slices.Delete(e.blank, i, i+1)
	}
	e.mu.Unlock()
	if g != nil {
		return g, true, nil
	}
	g, err = e.launch(ctx, s)
	return g, false, err
}

// launch starts a guest and waits until it is ready.
func (e *Executor) launch(ctx context.Context, s spec) (*guest, error) {
	select {
	case e.waiting <- struct{}{}:
		defer func() { <-e.waiting }()
	case <-ctx.Done():
		return nil, fmt.Errorf("start shell guest: %w", context.Cause(ctx))
	}
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorShell, Argv: e.cfg.Argv, MinTier: s.tier, Agent: s.agent, Kernel: s.kernel, Streams: true,
		CPU: time.Duration(s.kernel.CPUMillis) * time.Millisecond, MemoryBytes: s.kernel.MemoryBytes, FileBytes: s.kernel.FileBytes,
		// The runtime of a guest takes no more threads than it needs: they count as
		// processes of the script. Where it breaks is nothing for who wrote one.
		Env: []string{"GOMAXPROCS=2", "GOTRACEBACK=none", "MALLOC_ARENA_MAX=1"},
	})
	if err != nil {
		return nil, refused(err)
	}
	link, err := executors.Dial(ctx, executors.LinkConfig{Go: e.cfg.Go, Now: e.cfg.Now}, &counted{Guest: g}, executors.Hello{Version: executors.ProtocolVersion})
	if err != nil {
		return nil, errors.Join(refused(err), closeStreams(g))
	}
	if r := link.Ready(); r.Executor != profiles.ExecutorShell || r.Digest != start.Engine {
		return nil, errors.Join(fmt.Errorf("start shell guest: %q with engine %q answered", r.Executor, r.Digest), link.Close(), closeStreams(g))
	}
	if _, ok := g.(executors.Streamer); !ok {
		return nil, errors.Join(errors.New("start shell guest: it has no streams"), link.Close())
	}
	return &guest{link: link, process: g, key: s.key, revision: s.revision}, nil
}

// counted is a guest whose processor time is asked for before it is killed: then
// nobody knows any more what its programs have used.
type counted struct {
	executors.Guest
	once sync.Once
	last atomic.Int64
}

// Kill implements executors.Guest.
func (c *counted) Kill() error {
	c.once.Do(func() {
		if used, err := c.Guest.CPU(); err == nil {
			c.last.Store(int64(used))
		}
	})
	return c.Guest.Kill()
}

// CPU implements executors.Guest.
func (c *counted) CPU() (time.Duration, error) {
	used, err := c.Guest.CPU()
	return max(used, time.Duration(c.last.Load())), err
}

// refused makes the denial of a guest that says it cannot run scripts.
func refused(err error) error {
	var denial *profiles.Denial
	var u *executors.Unavailable
	switch {
	case errors.As(err, &denial):
		return err // the launcher's
	case !errors.As(err, &u):
		return fmt.Errorf("start shell guest: %w", err)
	}
	d := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeExecutorUnavailable, Reason: u.Text}
	if u.Fix != "" {
		d.Instead = []string{u.Fix}
	}
	return &profiles.Denial{Capability: "executor shell", Decision: d}
}

// keep makes a guest one that waits.
func (e *Executor) keep(g *guest) bool {
	e.mu.Lock()
	var old []*guest
	keep := !e.closed && e.countLocked(g.key) < e.cfg.Blank
	if keep {
		e.blank = append(e.blank, g)
		for len(e.blank) > e.cfg.Most { // the longest ready one makes room
			old = append(old, e.blank[0])
			e.blank = slices.Delete(e.blank, 0, 1)
		}
	}
	e.mu.Unlock()
	for _, g := range old {
		e.drop(g)
	}
	return keep
}

// countLocked is how many guests wait for a key.
func (e *Executor) countLocked(k key) int {
	n := 0
	for _, g := range e.blank {
		if g.key == k {
			n++
		}
	}
	return n
}

// startTime bounds the start of a guest that nobody waits for.
const startTime = 30 * time.Second

// refill starts guests of a key until as many wait as are wanted. Their start
// outlives ctx, which is that of a run, but not Close.
func (e *Executor) refill(ctx context.Context, s spec) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	want := e.cfg.Blank - e.countLocked(s.key)
	for _, k := range e.of {
		if k == s.key {
			want--
		}
	}
	for range min(want, e.cfg.Most-len(e.coming)) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
		e.starts++
		n := e.starts
		e.coming[n], e.of[n] = cancel, s.key
		e.work.Add(1)
		e.cfg.Go(func() {
			defer e.work.Done()
			defer cancel()
			e.add(ctx, s, n)
		})
	}
}

// soon is how long a run has the processors to itself before the guest of the next
// one is started.
const soon = 30 * time.Millisecond

// refillSoon refills a while later, or when what it returns is called: a script may
// run for long, and most are over at once.
func (e *Executor) refillSoon(ctx context.Context, s spec) func() {
	late := time.AfterFunc(soon, func() { e.refill(ctx, s) })
	return func() {
		if late.Stop() {
			e.refill(ctx, s)
		}
	}
}

// add starts one guest. A failure shows on the run that needs one: it starts its
// own and gets the error.
func (e *Executor) add(ctx context.Context, s spec, n int) {
	g, err := e.launch(ctx, s)
	e.mu.Lock()
	delete(e.coming, n)
	delete(e.of, n)
	e.mu.Unlock()
	if err == nil && !e.keep(g) {
		e.drop(g)
	}
}

// drop ends a guest that nobody waits for. Kill's error is a process that does
// not die; the launcher's Close meets it again and reports it.
func (e *Executor) drop(g *guest) { _ = errors.Join(g.link.Close(), closeStreams(g.process)) }
