package interpreter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// preparer is an Executor that has to see a set before it is in force, and may reject it.
// Prepare must change nothing that a program could notice.
type preparer interface {
	Prepare(ctx context.Context, set *profiles.Set) error
}

// Ring runs programs on executors and answers for what they do. It is safe for concurrent
// use.
type Ring struct {
	cfg    Config
	enders []contract.Ender
	host   run.Host
	gen    atomic.Pointer[binding.Generation] // never nil; replaced with mu held

	mu     sync.Mutex
	live   map[string]*run.Run
	shut   bool
	counts int64         // generations numbered so far, when Config gives no number
	empty  chan struct{} // closed when the ring is shut and no run is left
}

// New checks cfg and returns a ring that refuses everything until the first
// commit. Its owner calls Close.
func New(cfg Config) (*Ring, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Executors = maps.Clone(cfg.Executors)
	cfg.Providers = maps.Clone(cfg.Providers)
	if cfg.CheckValue == nil {
		cfg.CheckValue = refuseMarked
	}
	r := &Ring{cfg: cfg, enders: enders(cfg), live: map[string]*run.Run{}, empty: make(chan struct{})}
	r.host = run.Host{
		Audit: cfg.Audit, Journal: cfg.Journal, Pacer: cfg.Pacer, Keeper: cfg.Keeper, Conditions: cfg.Conditions,
		Turns: budget.NewTurns(cmp.Or(cfg.Pausing, 4)), Provider: r.provider, InForce: r.gen.Load,
		Gone: r.removeLive, Rested: r.holdPaused, Narrowed: cfg.Narrowed, Forget: r.Forget,
		Now: cfg.Now, Go: cfg.Go, CheckValue: cfg.CheckValue, Point: cfg.Point,
	}
	r.gen.Store(&binding.Generation{})
	return r, nil
}

// enders returns the providers that have a callback for the end of a run. A provider of
// several bridges is listed several times.
func enders(cfg Config) (out []contract.Ender) {
	for _, p := range cfg.Providers {
		if e, ok := p.(contract.Ender); ok {
			out = append(out, e)
		}
	}
	if e, ok := cfg.Default.(contract.Ender); ok {
		out = append(out, e)
	}
	return out
}

// Name returns "interpreter".
func (r *Ring) Name() string { return "interpreter" }

// Prepare builds the next generation from set. Nothing visible changes, with one exception:
// if an executor rejects its profile, that executor is closed at once and the error is an
// *ExecutorError. A nil set makes the closed generation, which denies everything. commit
// puts the generation in force, cannot fail, and stops open calls that it no longer grants.
func (r *Ring) Prepare(ctx context.Context, set *profiles.Set) (commit func(), err error) {
	r.mu.Lock()
	shut := r.shut
	number := r.counts + 1
	r.mu.Unlock()
	if shut {
		return nil, ErrClosed
	}
	if r.cfg.Generation != nil {
		number = r.cfg.Generation()
	}
	at := r.cfg.Places
	at.Now = r.cfg.Now()
	next, err := binding.New(ctx, set, number, r.gen.Load(), at)
	if err != nil {
		return nil, err
	}
	if set != nil {
		for _, name := range slices.Sorted(maps.Keys(r.cfg.Executors)) {
			p, ok := r.cfg.Executors[name].(preparer)
			if !ok {
				continue
			}
			if err := p.Prepare(ctx, set); err != nil {
				if ctx.Err() != nil {
					return nil, fmt.Errorf("prepare executor %s: %w", name, err)
				}
				r.CloseExecutor(name, "it rejects its profile")
				return nil, &ExecutorError{Name: name, Err: err}
			}
		}
	}
	return func() { r.commit(next) }, nil
}

// commit swaps the generation and stops the calls that it no longer grants.
func (r *Ring) commit(next *binding.Generation) {
	r.mu.Lock()
	if r.shut {
		r.mu.Unlock()
		return
	}
	r.counts = next.Number
	r.gen.Store(next)
	runs := slices.Collect(maps.Values(r.live))
	r.mu.Unlock()
	for _, run := range runs {
		run.StopUngranted(next)
	}
}

// CloseExecutor makes one executor refuse new runs and every call of its live runs, until
// the next commit.
func (r *Ring) CloseExecutor(name, reason string) {
	r.mu.Lock()
	if r.shut {
		r.mu.Unlock()
		return
	}
	next := r.gen.Load().WithClosed(name, reason)
	r.gen.Store(next)
	runs := slices.Collect(maps.Values(r.live))
	r.mu.Unlock()
	for _, run := range runs {
		run.StopUngranted(next)
	}
	if r.cfg.Narrowed != nil {
		r.cfg.Narrowed()
	}
}

// ExecutorStatus is the state of one executor.
type ExecutorStatus struct {
	Name   string
	State  string // ready, closed
	Reason string

	// Sessions that live in an executors.Living, and the memory that they have taken.
	Sessions     int
	SessionBytes int64
}

// Forget ends the live interpreter of a session whose state is dropped. If the session has no
// live interpreter, Forget does nothing.
func (r *Ring) Forget(executor string, snapshot []byte) {
	if e, ok := r.cfg.Executors[executor].(executors.Living); ok && len(snapshot) > 0 {
		e.Forget(snapshot)
	}
}

// Status lists the executors, sorted by name.
func (r *Ring) Status() []ExecutorStatus {
	g := r.gen.Load()
	out := make([]ExecutorStatus, 0, len(r.cfg.Executors))
	for name, e := range r.cfg.Executors {
		st := ExecutorStatus{Name: name, State: "ready"}
		if l, ok := e.(executors.Living); ok {
			st.Sessions, st.SessionBytes = l.Living()
		}
		if reason, closed := g.Closed(name); closed {
			st.State, st.Reason = "closed", reason
		} else if !g.Open {
			st.State, st.Reason = "closed", "no valid policy is in force"
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b ExecutorStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Run returns a live run.
func (r *Ring) Run(id string) (*Run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok := r.live[id]
	return &Run{r, run}, ok
}

// Deciders returns the deciders of what a live run may reach at this moment: each of them
// has to allow it. There are none for a run that is not live.
func (r *Ring) Deciders(run string) []*profiles.Decider {
	r.mu.Lock()
	live := r.live[run]
	r.mu.Unlock()
	if live == nil {
		return nil
	}
	return live.Deciders()
}

// Refused adds a refusal of something that a guest tried to the denials and the events of
// its run. The caller has recorded it. It does nothing for a run that is not live.
func (r *Ring) Refused(run string, d profiles.Decision) {
	r.mu.Lock()
	live := r.live[run]
	r.mu.Unlock()
	if live != nil {
		live.Refused(d)
	}
}

// Exceed ends a run that has exceeded a limit of the host, which text names. It does nothing
// for a run that is not live.
func (r *Ring) Exceed(run, text string) {
	r.mu.Lock()
	live := r.live[run]
	r.mu.Unlock()
	if live != nil {
		live.Exceed(text)
	}
}

// Close refuses everything from now on, ends every run, waits for them and closes the
// executors. It may be called twice.
func (r *Ring) Close() error {
	r.mu.Lock()
	first := !r.shut
	r.shut = true
	r.gen.Store(&binding.Generation{Number: r.gen.Load().Number})
	runs := slices.Collect(maps.Values(r.live))
	if first && len(runs) == 0 {
		close(r.empty)
	}
	r.mu.Unlock()
	for _, run := range runs {
		run.Close()
	}
	<-r.empty
	if !first {
		return nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Executors)) {
		if err := r.cfg.Executors[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("close executor %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// removeLive removes a run that is over from the live runs. If it was the last live subagent of a held run, it
// ends that hold too. Before that it calls the providers of the run. While the run is in the list, and no longer
// held, it cannot be resumed.
func (r *Ring) removeLive(started *run.Run) {
	r.mu.Lock()
	is := r.live[started.ID()] == started // and not a later life of it
	r.mu.Unlock()
	if is {
		r.endProviders(started.ID())
	}
	var parent *run.Run
	r.mu.Lock()
	if r.live[started.ID()] == started {
		delete(r.live, started.ID())
		if p := started.Family().Parent(); p != nil {
			parent = r.live[p.Run]
		}
		if r.shut && len(r.live) == 0 {
			close(r.empty)
		}
	}
	r.mu.Unlock()
	if parent != nil {
		r.release(parent)
	}
}

// endProviders calls the providers that have a callback for the end of a life of a run.
func (r *Ring) endProviders(run string) {
	for _, p := range r.enders {
		p.RunEnded(run)
	}
}

// provider returns the provider of a bridge, or nil.
func (r *Ring) provider(bridge string) contract.Provider {
	if p := r.cfg.Providers[bridge]; p != nil {
		return p
	}
	return r.cfg.Default
}
