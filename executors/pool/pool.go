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
)

// guest is a waiting guest. Spec is the one for which it was started.
type guest[S any] interface{ Spec() S }

// Config is what a Pool needs. If the sizes are zero, no guest is kept ready.
type Config[S Spec, G guest[S]] struct {
	Go     func(func())                              // starts goroutines; Close waits for them
	Launch func(ctx context.Context, s S) (G, error) // starts a guest and waits until it is ready
	End    func(G)                                   // ends a guest that is not used any more

	Blank   int // guests kept ready for each key that was asked for
	Max     int // guests kept ready in total; if 0, four times Blank
	Waiting int // guests starting at once; if 0, 2
}

// Spec is the guest that a run needs.
type Spec interface {
	// Key identifies the runs that a guest may serve: those with the same Key.
	Key() string
	// Agent owns the guest, or is empty. Guests of one agent do not displace those of another.
	Agent() string
	Revision() string
}

// Pool holds the waiting guests of one executor. It is safe for concurrent use.
type Pool[S Spec, G guest[S]] struct {
	cfg     Config[S, G]
	waiting chan struct{} // limits starts under way

	mu     sync.Mutex
	work   sync.WaitGroup // counts refills
	closed bool
	blank  []G                        // the longest waiting first
	coming map[int]context.CancelFunc // starts in the background
	of     map[int]string             // their keys
	starts int
}

// New checks cfg. It starts nothing.
func New[S Spec, G guest[S]](cfg Config[S, G]) (*Pool[S, G], error) {
	switch {
	case cfg.Go == nil, cfg.Launch == nil, cfg.End == nil:
		return nil, errors.New("pool of guests: Go, Launch and End must be set")
	case cfg.Blank < 0, cfg.Max < 0, cfg.Waiting < 0:
		return nil, errors.New("pool of guests: a size is negative")
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

// Take returns a guest for one run: a waiting one that fits, or a new one. kept is false for a new one.
func (p *Pool[S, G]) Take(ctx context.Context, s S, fits func(G) bool) (g G, kept bool, err error) {
	p.mu.Lock()
	i := slices.IndexFunc(p.blank, func(g G) bool { return g.Spec().Key() == s.Key() && fits(g) })
	if i >= 0 {
		g = p.blank[i]
		p.blank = slices.Delete(p.blank, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		return g, true, nil
	}
	g, err = p.Launch(ctx, s)
	return g, false, err
}

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
	keep := !p.closed && p.countLocked(g.Spec().Key()) < p.cfg.Blank
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
		p.cfg.End(g)
	}
	return keep
}

func holder[S Spec, G guest[S]](g G) Holder { return Holder{Agent: g.Spec().Agent()} }

// holdersLocked returns the owners of the waiting guests.
func (p *Pool[S, G]) holdersLocked() []Holder {
	out := make([]Holder, len(p.blank))
	for i, g := range p.blank {
		out[i] = holder[S](g)
	}
	return out
}

// countLocked is how many guests wait for a key.
func (p *Pool[S, G]) countLocked(key string) int {
	n := 0
	for _, g := range p.blank {
		if g.Spec().Key() == key {
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
	if p.closed {
		return
	}
	want := p.cfg.Blank - p.countLocked(s.Key())
	for _, k := range p.of {
		if k == s.Key() {
			want--
		}
	}
	for range min(want, p.cfg.Max-len(p.coming)) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
		p.starts++
		n := p.starts
		p.coming[n], p.of[n] = cancel, s.Key()
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

// add starts one guest. A failure shows on the run that needs one: it starts its
// own and gets the error.
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
		if g.Spec().Revision() == revision {
			return false
		}
		old = append(old, g)
		return true
	})
	p.mu.Unlock()
	for _, g := range old {
		p.cfg.End(g)
	}
}

// Close ends the waiting guests and those that are starting, and waits for them.
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
		p.cfg.End(g)
	}
	p.work.Wait()
}
