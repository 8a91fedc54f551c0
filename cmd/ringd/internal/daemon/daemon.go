package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// generation is one activation. It is immutable.
type generation struct {
	number    int64
	revision  string
	digest    string // of the push it came from; "" after a restart
	set       *profiles.Set
	activated time.Time
	deciders  map[string]*profiles.Decider // by agent
}

// Daemon is the running daemon. It is safe for concurrent use. Whoever calls
// New calls Close.
type Daemon struct {
	cfg     Config
	started time.Time

	// binding is held for reading while a run is bound to a generation and for
	// writing while commits swap pointers, so that no run sees a mixture.
	binding sync.RWMutex
	inForce atomic.Pointer[generation] // nil: everything is denied

	applying chan struct{} // holds one token: one push, or one closing, at a time
	newest   atomic.Int64  // the ticket of the last push that came

	mu         sync.Mutex
	live       map[string]*liveRun
	perActor   map[string]int
	draining   bool
	drainedAt  time.Time
	closedBy   map[string]wire.Condition // executor -> why it is closed; "" is all of them
	trouble    map[string]wire.Condition // push_rejected, sync_lost, held
	troubledAt time.Time                 // since when the source has not been good
	stale      *wire.Condition           // the generation was closed
	lastPush   *wire.Push
	lastNumber int64         // of the newest generation ever
	turned     chan struct{} // closed and replaced when the generation changes
	settled    chan struct{} // closed and replaced when a live run ends

	wake chan struct{} // the watch loop looks again
	quit context.CancelFunc
	over chan struct{} // the watch loop has ended
	once sync.Once
	err  error // of Close
}

// New checks cfg, ends what a crash left behind, takes the last generation up
// again when it is not too old, and starts the daemon's own goroutine, which
// ends with Close. ctx bounds New only. It refuses when the audit log or the
// store cannot be written.
func New(ctx context.Context, cfg Config) (*Daemon, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Retention == 0 {
		cfg.Retention = time.Hour
	}
	d := &Daemon{
		cfg: cfg, started: cfg.Clock.Now(), applying: make(chan struct{}, 1),
		live: map[string]*liveRun{}, perActor: map[string]int{},
		closedBy: map[string]wire.Condition{}, trouble: map[string]wire.Condition{},
		turned: make(chan struct{}), settled: make(chan struct{}),
		wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	start := audit.Record{Kind: audit.DaemonStarted, Actor: self, Detail: map[string]string{"version": cfg.Version}}
	if _, err := cfg.Recorder.Append(ctx, start, audit.Synced); err != nil {
		return nil, err
	}
	if err := d.recover(ctx); err != nil {
		return nil, err
	}
	if err := d.hold(ctx); err != nil {
		return nil, err
	}
	watching, quit := context.WithCancel(context.WithoutCancel(ctx))
	d.quit = quit
	go d.watch(watching)
	return d, nil
}

// self is the actor of what the daemon does by itself.
const self = "ringd"

// recover writes down what the store made of runs that were live at the end of
// the process before this one.
func (d *Daemon) recover(ctx context.Context) error {
	done, err := d.cfg.Generations.Recover(ctx)
	if err != nil {
		return fmt.Errorf("%w: recover runs: %w", ErrUnavailable, err)
	}
	for _, r := range done {
		rec := audit.Record{Kind: audit.StoreRecovered, Actor: self, Agent: r.Run.Agent, Run: r.Run.ID,
			Generation: r.Run.Generation, Revision: r.Run.Revision, State: string(r.Run.State),
			Detail: map[string]string{"from": string(r.From), "lost_calls": fmt.Sprint(len(r.Lost)),
				"unrun_calls": fmt.Sprint(len(r.Unrun))}}
		if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
			return err
		}
		d.cfg.Logger.Warn("run was interrupted", "run", r.Run.ID, "from", r.From, "state", r.Run.State)
	}
	return nil
}

// hold takes up the last generation when its push was last seen to be good
// within the staleness limit. Its set is verified by its revision, not compiled
// again: the store is the daemon's own folder, and the push may be gone. The
// limit goes on running from when the push was last good, so that restarts do
// not prolong it.
func (d *Daemon) hold(ctx context.Context) error {
	g, err := d.cfg.Generations.LastGeneration(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case errors.Is(err, store.ErrCorrupt):
		d.cfg.Logger.Warn("last generation is damaged: nothing is in force", "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("%w: read last generation: %w", ErrUnavailable, err)
	}
	d.lastNumber = g.Number
	d.cfg.Recorder.Prepare(g.Number)
	now := d.cfg.Clock.Now()
	if !now.Before(g.Fresh.Add(d.cfg.Staleness)) {
		d.stale = &wire.Condition{Code: wire.ConditionStale, Since: now,
			Message: "the last generation is older than the staleness limit; a good push brings a new one"}
		return nil
	}
	set, err := profiles.DecodeSet(g.Set)
	if err != nil || set.Revision != g.Revision {
		d.cfg.Logger.Warn("last generation does not verify: nothing is in force", "generation", g.Number, "error", err)
		return nil
	}
	commits, err := d.prepare(ctx, set)
	if err != nil {
		d.cfg.Logger.Warn("last generation cannot be prepared: nothing is in force", "generation", g.Number, "error", err)
		return nil
	}
	rec := audit.Record{Kind: audit.GenerationHeld, Actor: self, Generation: g.Number, Revision: g.Revision}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return err
	}
	d.troubled(wire.Condition{Code: wire.ConditionHeld, Since: g.Fresh,
		Message: "taken up again after a restart; the push has not been seen since"}, g.Fresh)
	d.commit(d.generation(g.Number, g.Activated, "", set), commits)
	return nil
}

func (d *Daemon) generation(number int64, at time.Time, digest string, set *profiles.Set) *generation {
	g := &generation{number: number, revision: set.Revision, digest: digest, set: set, activated: at,
		deciders: make(map[string]*profiles.Decider, len(set.Agents))}
	for name := range set.Agents {
		g.deciders[name] = set.Decider(name, d.cfg.Environment)
	}
	return g
}

// Drain refuses new runs and waits for the live ones. When ctx ends before they
// do they are cancelled, and their ends are recorded before Drain returns. The
// error is that of ctx when runs had to be cancelled.
func (d *Daemon) Drain(ctx context.Context) error {
	d.refuse()
	for {
		d.mu.Lock()
		left, settled := len(d.live), d.settled
		d.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			d.cancelAll()
			return ctx.Err()
		}
	}
}

// refuse takes no new runs from now on.
func (d *Daemon) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.draining {
		d.draining, d.drainedAt = true, d.cfg.Clock.Now()
	}
}

// cancelAll ends every live run and waits until their ends are recorded.
func (d *Daemon) cancelAll() {
	runs := d.liveRuns()
	for _, r := range runs {
		r.stop()
	}
	for _, r := range runs {
		<-r.done
	}
}

func (d *Daemon) liveRuns() []*liveRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]*liveRun, 0, len(d.live))
	for _, r := range d.live {
		out = append(out, r)
	}
	return out
}

// Close cancels what is live, closes the rings in reverse order and waits for
// every goroutine of the Group. The audit log and the store stay open: their
// owner closes them next. Closing twice returns the same error.
func (d *Daemon) Close() error {
	d.once.Do(func() { d.err = d.close() })
	return d.err
}

func (d *Daemon) close() error {
	d.refuse()
	d.quit()
	<-d.over
	d.cancelAll()
	var errs []error
	for _, r := range slices.Backward(d.cfg.Rings) {
		if err := r.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close ring %s: %w", r.Name(), err))
		}
	}
	d.cfg.Group.Wait()
	d.inForce.Store(nil)
	return errors.Join(errs...)
}
