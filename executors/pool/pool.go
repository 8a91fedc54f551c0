// Package pool keeps fresh guests ready, so that a run begins at once. A guest serves one run. The executors
// that use the pool describe a guest, the runs that it may serve, and how it is started and ended.
package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Spec is the guest that a run needs. Executors embed it in a type of their own.
type Spec struct {
	Key      string // a guest serves the runs with its own key
	Agent    string // owner of the guest, or empty. Guests of one agent do not displace those of another
	Revision string // Drop ends the guests of other revisions
	Kernel   profiles.Kernel
	Tier     profiles.Tier
}

func (s Spec) base() Spec { return s }

// Guest is a process with its link. Executors embed it in a type of their own.
type Guest[S any] struct {
	Link *executors.Link
	// Process is the guest as it was launched, if it has streams. Otherwise it is nil.
	Process executors.Guest
	Spec    S
}

func (g *Guest[S]) base() *Guest[S] { return g } //nolint:unused // the constraint guest calls it

// Satisfies reports whether the guest has the isolation of a tier.
func (g *Guest[S]) Satisfies(tier profiles.Tier) bool {
	return executors.Satisfies(g.Link.Guest().Attestation().Tier, tier)
}

// Serve names the next run to the process.
func (g *Guest[S]) Serve(run string) {
	process := g.Process
	if process == nil {
		process = g.Link.Guest()
	}
	if s, ok := process.(executors.Serving); ok {
		s.Serve(run)
	}
}

// End ends a guest that is not used any more. An error of Kill is a process that does not die. The launcher's
// Close meets it again and reports it.
func (g *Guest[S]) End() { _ = errors.Join(g.Link.Close(), executors.CloseGuest(g.Process)) }

// spec and guest are what embeds Spec and Guest.
type (
	spec         interface{ base() Spec }
	guest[S any] interface {
		base() *Guest[S]
		Satisfies(tier profiles.Tier) bool
		End()
	}
)

// Config is what a Pool needs. If the sizes are zero, no guest is kept ready.
type Config[S spec, G guest[S]] struct {
	Executor string                                    // its name, for errors
	Go       func(func())                              // starts goroutines; Close waits for them
	Launch   func(ctx context.Context, s S) (G, error) // starts a guest and waits until it is ready

	Blank   int  // guests kept ready for each key that was asked for
	Max     int  // guests kept ready in total; if 0, four times Blank
	Waiting int  // guests starting at once; if 0, 2
	Once    bool // one program will run: a guest that was taken is not replaced
}

// ErrClosed is returned by Enter after Close.
var ErrClosed = errors.New("the executor is closed")

// Pool holds the waiting guests of one executor, and counts its runs. It is safe for concurrent use.
type Pool[S spec, G guest[S]] struct {
	cfg     Config[S, G]
	waiting chan struct{} // limits starts under way

	mu     sync.Mutex
	work   sync.WaitGroup // counts runs and refills
	closed bool
	blank  []G                        // the longest waiting first
	coming map[int]context.CancelFunc // starts in the background
	of     map[int]string             // their keys
	starts int
}

// New checks cfg. It starts nothing.
func New[S spec, G guest[S]](cfg Config[S, G]) (*Pool[S, G], error) {
	switch {
	case cfg.Go == nil, cfg.Launch == nil:
		return nil, fmt.Errorf("%s executor: Go and Launch must be set", cfg.Executor)
	case cfg.Blank < 0, cfg.Max < 0, cfg.Waiting < 0:
		return nil, fmt.Errorf("%s executor: a size is negative", cfg.Executor)
	}
	if cfg.Max == 0 {
		cfg.Max = 4 * cfg.Blank
	}
	if cfg.Waiting == 0 {
		cfg.Waiting = 2
	}
	return &Pool[S, G]{
		cfg: cfg, waiting: make(chan struct{}, cfg.Waiting), coming: map[int]context.CancelFunc{}, of: map[int]string{},
	}, nil
}

// Enter counts a run that begins. It returns an error after Close; otherwise the caller calls Leave after the run.
func (p *Pool[S, G]) Enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("%s: %w", p.cfg.Executor, ErrClosed)
	}
	p.work.Add(1)
	return nil
}

// Leave counts the end of a run.
func (p *Pool[S, G]) Leave() { p.work.Done() }

// Discard ends a guest in the background. Close waits for it: a caller calls Discard before.
func (p *Pool[S, G]) Discard(g G) {
	p.work.Add(1)
	p.cfg.Go(func() {
		defer p.work.Done()
		g.End()
	})
}

// Run runs a program in a guest: a waiting one that fits, or a new one. If a waiting guest had died, a new one
// runs the program. Another guest is started for the next run.
func (p *Pool[S, G]) Run(
	ctx context.Context, s S, run func(G) (executors.Outcome, error),
) (executors.Outcome, error) {
	g, kept, err := p.Take(ctx, s)
	if err != nil {
		return executors.Outcome{}, err
	}
	defer p.RefillSoon(ctx, s)()
	out, err := run(g)
	if kept && errors.Is(err, executors.ErrGone) {
		if g, err = p.Launch(ctx, s); err != nil {
			return executors.Outcome{}, err
		}
		out, err = run(g)
	}
	return out, err
}

// Take returns a guest for one run: a waiting guest that fits, or a new one. kept is false for a new guest.
func (p *Pool[S, G]) Take(ctx context.Context, s S) (g G, kept bool, err error) {
	if g, kept = p.Pick(s, func(G) bool { return true }); kept {
		return g, true, nil
	}
	g, err = p.Launch(ctx, s)
	return g, false, err
}

// Pick removes a waiting guest from the pool that has what the run needs and for which fits returns true.
func (p *Pool[S, G]) Pick(s S, fits func(G) bool) (g G, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.blank, func(g G) bool {
		return key[S](g) == s.base().Key && g.Satisfies(s.base().Tier) && fits(g)
	})
	if i < 0 {
		return g, false
	}
	g = p.blank[i]
	p.blank = slices.Delete(p.blank, i, i+1)
	return g, true
}

func key[S spec, G guest[S]](g G) string { return g.base().Spec.base().Key }

// Launch starts a guest, with at most Config.Waiting starts at a time.
func (p *Pool[S, G]) Launch(ctx context.Context, s S) (g G, err error) {
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	case <-ctx.Done():
		return g, fmt.Errorf("start a guest: %w", context.Cause(ctx))
	}
	return p.cfg.Launch(ctx, s)
}

// Keep adds a guest to the waiting ones. If there are enough, it ends the guest and returns false.
func (p *Pool[S, G]) Keep(g G) bool {
	p.mu.Lock()
	var old []G
	keep := !p.closed && p.countLocked(key[S](g)) < p.cfg.Blank
	if keep {
		for len(p.blank) > 0 && len(p.blank) >= p.cfg.Max {
			i := Crowded(p.holdersLocked(), holder[S](g))
			old = append(old, p.blank[i])
			p.blank = slices.Delete(p.blank, i, i+1)
		}
		p.blank = append(p.blank, g)
	} else {
		old = append(old, g)
	}
	p.mu.Unlock()
	for _, g := range old {
		g.End()
	}
	return keep
}

func holder[S spec, G guest[S]](g G) Holder { return Holder{Agent: g.base().Spec.base().Agent} }

// holdersLocked returns the owners of the waiting guests.
func (p *Pool[S, G]) holdersLocked() []Holder {
	out := make([]Holder, len(p.blank))
	for i, g := range p.blank {
		out[i] = holder[S](g)
	}
	return out
}

// countLocked is how many guests wait for a key.
func (p *Pool[S, G]) countLocked(of string) int {
	n := 0
	for _, g := range p.blank {
		if key[S](g) == of {
			n++
		}
	}
	return n
}

// startTime limits the start of a guest in the background.
const startTime = 30 * time.Second

// Warm starts a guest, keeps it ready, and starts others in the background. Its error is that of the first.
func (p *Pool[S, G]) Warm(ctx context.Context, s S) error {
	g, err := p.Launch(ctx, s)
	if err != nil {
		return err
	}
	p.Keep(g)
	p.Refill(ctx, s)
	return nil
}

// Refill starts guests until as many wait as are wanted. Their start outlives ctx, which is that of a run, but
// not Close.
func (p *Pool[S, G]) Refill(ctx context.Context, s S) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.cfg.Once {
		return
	}
	want := p.cfg.Blank - p.countLocked(s.base().Key)
	for _, k := range p.of {
		if k == s.base().Key {
			want--
		}
	}
	for range min(want, p.cfg.Max-len(p.coming)) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
		p.starts++
		n := p.starts
		p.coming[n], p.of[n] = cancel, s.base().Key
		p.work.Add(1)
		p.cfg.Go(func() {
			defer p.work.Done()
			defer cancel()
			p.add(ctx, s, n)
		})
	}
}

// soon is how long a run has the processors for itself before the guest of the next one is started.
const soon = 30 * time.Millisecond

// RefillSoon refills a little later, or when the returned function is called: a program may run for long, but
// most end at once.
func (p *Pool[S, G]) RefillSoon(ctx context.Context, s S) func() {
	late := time.AfterFunc(soon, func() { p.Refill(ctx, s) })
	return func() {
		if late.Stop() {
			p.Refill(ctx, s)
		}
	}
}

// add starts one guest. It reports no failure: a run that finds no waiting guest starts a guest itself, and gets
// the error.
func (p *Pool[S, G]) add(ctx context.Context, s S, n int) {
	g, err := p.Launch(ctx, s)
	p.mu.Lock()
	delete(p.coming, n)
	delete(p.of, n)
	p.mu.Unlock()
	if err == nil {
		p.Keep(g)
	}
}

// Drop ends the waiting guests that were started for another revision.
func (p *Pool[S, G]) Drop(revision string) {
	p.mu.Lock()
	var old []G
	p.blank = slices.DeleteFunc(p.blank, func(g G) bool {
		if g.base().Spec.base().Revision == revision {
			return false
		}
		old = append(old, g)
		return true
	})
	p.mu.Unlock()
	for _, g := range old {
		g.End()
	}
}

// Close rejects further runs, ends the waiting guests and those that are starting, and waits for all work. The
// caller ends the contexts of the runs under way.
func (p *Pool[S, G]) Close() {
	p.mu.Lock()
	p.closed = true
	kept := p.blank
	p.blank = nil
	for _, cancel := range p.coming {
		cancel()
	}
	p.mu.Unlock()
	for _, g := range kept {
		g.End()
	}
	p.work.Wait()
}
