package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/schema/wire"
)

// Daemon is the running daemon. It is safe for concurrent use. Whoever calls
// New calls Close.
type Daemon struct {
	cfg    Config
	policy *policy.Holder

	mu        sync.Mutex
	live      map[string]*liveRun
	perActor  map[string]int
	draining  bool
	drainedAt time.Time
	low       *low // why the disk has too little room for new runs; nil: it has enough

	unarchived *low          // since when, and why, the audit log is not archived; nil: it is
	healing    bool          // audit log and store are being taken up again: nothing starts
	damaged    error         // they cannot be: one of them does not hold; nil: nobody found that
	settled    chan struct{} // closed and replaced when a live run ends
	line       []pausedRun   // answered runs that are to go on, in order
	resuming   int           // of them, being claimed and opened

	paces     paces
	turns     Turns
	resumable chan struct{} // the loop of resumes looks again
	quit      context.CancelFunc
	over      chan struct{} // the daemon's own loops have ended
	once      sync.Once
	err       error // of Close
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
	if cfg.Point == nil {
		cfg.Point = func(string) {}
	}
	d := &Daemon{
		cfg: cfg, live: map[string]*liveRun{}, perActor: map[string]int{}, settled: make(chan struct{}),
		resumable: make(chan struct{}, 1), over: make(chan struct{}),
	}
	var err error
	if d.paces, err = newPaces(cfg.Clock, cfg.RequestRecords); err != nil {
		return nil, err
	}
	d.policy = policy.New(policy.Config{
		Rings: cfg.Rings, Compiler: cfg.Compiler, Generations: cfg.Generations, Recorder: cfg.Recorder, Clock: cfg.Clock,
		Logger: cfg.Logger, Metrics: cfg.Metrics, Environment: cfg.Environment, Workspace: cfg.Workspace, Staleness: cfg.Staleness,
		Stop: d.stopAll, Turn: d.look, Lock: cfg.Lock, Trust: cfg.Trust,
	})
	lasting := context.WithoutCancel(ctx)
	cfg.Lock.Attach(lockdown.Parts{Close: func() { d.policy.Close(lasting) }, Idle: d.idle, Open: d.policy.Reopen})
	if !cfg.Still { // a daemon for one command has the records of that
		start := audit.Record{Kind: audit.DaemonStarted, Actor: self, Detail: map[string]string{"version": cfg.Version}}
		if _, err := cfg.Recorder.Append(ctx, start, audit.Synced); err != nil {
			return nil, err
		}
	}
	if err := d.recover(ctx); err != nil {
		return nil, err
	}
	if err := d.policy.Hold(ctx); err != nil {
		return nil, err
	}
	cfg.Keeper.Grants(d.SessionLimits)
	cfg.Metrics.Stands(wire.Conditions(), func() metrics.Standing { return d.standing(lasting) })
	watching, quit := context.WithCancel(lasting)
	d.quit = quit
	own := []func(context.Context){d.policy.Watch, d.watch, d.resumes}
	if cfg.Reopen != nil {
		own = append(own, d.heal)
	}
	if cfg.Room != nil {
		own = append(own, d.guard)
	}
	if cfg.Archive.Bytes > 0 || cfg.Archive.Age > 0 {
		own = append(own, d.archives)
	}
	go func() {
		defer close(d.over)
		var loops sync.WaitGroup
		for _, loop := range own {
			loops.Go(func() { loop(watching) })
		}
		loops.Wait()
	}()
	if cfg.Outbox != nil {
		cfg.Group.Go(func() { cfg.Outbox.Run(watching) })
	}
	return d, nil
}

// self is the actor of what the daemon does by itself.
const self = "ringd"

// recover writes down what the store made of runs that were live at the end of
// the process before this one.
func (d *Daemon) recover(ctx context.Context) error {
	done, err := d.cfg.Generations.Recover(ctx)
	if err != nil {
		return fmt.Errorf("%w: recover runs: %w", records.ErrUnavailable, err)
	}
	for _, r := range done {
		rec := audit.Record{Kind: audit.StoreRecovered, Actor: self, Agent: r.Run.Agent, Run: r.Run.ID,
			Generation: r.Run.Generation, Revision: r.Run.Revision, State: string(r.Run.State),
			Detail: map[string]string{"from": string(r.From), "lost_calls": fmt.Sprint(len(r.Lost)),
				"unrun_calls": fmt.Sprint(len(r.Unrun)), "again_calls": fmt.Sprint(len(r.Again))}}
		if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
			return err
		}
		if !r.Run.State.Final() {
			d.cfg.Logger.Info("run goes on from its last pause", "run", r.Run.ID, "from", r.From)
			continue
		}
		d.cfg.Logger.Warn("run was interrupted", "run", r.Run.ID, "from", r.From, "state", r.Run.State)
	}
	return nil
}

// Drain refuses new runs and waits for the live ones. When ctx ends before they
// do they are cancelled, and their ends are recorded before Drain returns. The
// error is that of ctx when runs had to be cancelled.
func (d *Daemon) Drain(ctx context.Context) error {
	d.refuse()
	if d.idle(ctx) == 0 {
		return nil
	}
	d.cancelAll()
	return ctx.Err()
}

// idle waits until no run lives, or ctx ends, and returns how many do.
func (d *Daemon) idle(ctx context.Context) int {
	for {
		d.mu.Lock()
		left, settled := len(d.live), d.settled
		d.mu.Unlock()
		if left == 0 {
			return 0
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return left
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

// stopAll ends the live runs of an executor; "" is all of them.
func (d *Daemon) stopAll(executor string) {
	for _, r := range d.liveRuns() {
		d.mu.Lock()
		of := r.executor
		d.mu.Unlock()
		if executor == "" || of == executor {
			d.halt(r)
		}
	}
}

// record starts a record of what the daemon does under the generation in force.
func (d *Daemon) record(k audit.Kind) audit.Record { return d.policy.Record(k) }

// cancelAll ends every live run and waits until their ends are recorded.
func (d *Daemon) cancelAll() {
	runs := d.liveRuns()
	for _, r := range runs {
		d.halt(r)
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
	d.policy.Shut()
	return errors.Join(errs...)
}
