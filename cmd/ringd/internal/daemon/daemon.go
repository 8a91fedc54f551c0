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
	"github.com/ringd/ringd/schema/wire"
)

// Daemon is the running daemon. Each embedded part has one job, and the exported methods of the parts are the
// daemon's. It is safe for concurrent use. The caller of New calls Close.
type Daemon struct {
	cfg    *Config
	policy *policy.State

	*runTable
	*recordHealth
	*archiver
	*diskGuard
	*runViews
	*runStarts
	*runEnds
	*runResumes
	*runAnswers
	*sessionList
	*pushes

	quit context.CancelFunc
	over chan struct{} // closed when the daemon's own loops have ended
	once sync.Once
	err  error // result of Close
}

// New checks the configuration and ends the runs that a crash left behind. It restores the last generation if
// that is not too old. Then it starts the daemon's own goroutines, which end with Close. ctx limits New only.
// New returns an error if the audit log or the store cannot be written.
func New(ctx context.Context, given Config) (*Daemon, error) {
	if err := given.check(); err != nil {
		return nil, err
	}
	if given.Limits.Retention == 0 {
		given.Limits.Retention = time.Hour
	}
	if given.Point == nil {
		given.Point = func(string) {}
	}
	cfg := &given
	d, err := newParts(cfg)
	if err != nil {
		return nil, err
	}
	lasting := context.WithoutCancel(ctx)
	cfg.Lock.Attach(lockdown.Parts{Close: func() { d.policy.Close(lasting) }, Idle: d.waitIdle, Open: d.policy.Reopen})
	if !cfg.Still { // a daemon for one command writes the records of that command only
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
	cfg.Waiting.Keeper.Grants(d.SessionLimits)
	cfg.Metrics.Stands(wire.Conditions(), func() metrics.Standing { return d.standingMetrics(lasting) })
	watching, quit := context.WithCancel(lasting)
	d.quit = quit
	own := []func(context.Context){d.policy.Watch, d.watch, d.runResumes.loop}
	if cfg.Disk.Reopen != nil {
		own = append(own, d.heal)
	}
	if cfg.Disk.Room != nil {
		own = append(own, d.watchDisk)
	}
	if cfg.Disk.Archive.Bytes > 0 || cfg.Disk.Archive.Age > 0 {
		own = append(own, d.archiver.loop)
	}
	go func() {
		defer close(d.over)
		var loops sync.WaitGroup
		for _, loop := range own {
			loops.Go(func() { loop(watching) })
		}
		loops.Wait()
	}()
	if cfg.Waiting.Outbox != nil {
		cfg.Group.Go(func() { cfg.Waiting.Outbox.Run(watching) })
	}
	return d, nil
}

// newParts constructs the parts of a daemon. Each part comes after the parts that it uses.
func newParts(cfg *Config) (*Daemon, error) {
	w := &waiters{}
	table := newRunTable(cfg, w)
	holder := policy.New(policy.Config{
		Rings: cfg.Policy.Rings, Compiler: cfg.Policy.Compiler, Generations: cfg.Store, Recorder: cfg.Recorder,
		Clock: cfg.Clock, Logger: cfg.Logger, Metrics: cfg.Metrics, Environment: cfg.Policy.Environment,
		Workspace: cfg.Policy.Workspace, Staleness: cfg.Policy.Staleness, Stop: table.stopAll, Turn: table.wakeResumes,
		Lock: cfg.Lock, Trust: cfg.Policy.Trust,
	})
	table.policy = holder
	budgets, err := newRequestBudgets(cfg, holder)
	if err != nil {
		return nil, err
	}
	health := &recordHealth{cfg: cfg, table: table}
	views := &runViews{cfg: cfg, table: table, waiters: w}
	parents := &parentHolds{cfg: cfg, table: table, health: health, views: views}
	ends := &runEnds{cfg: cfg, policy: holder, table: table, waiters: w, views: views}
	starts := &runStarts{cfg: cfg, policy: holder, table: table, health: health, budgets: budgets, views: views,
		parents: parents}
	return &Daemon{
		cfg: cfg, policy: holder, over: make(chan struct{}),
		runTable: table, recordHealth: health, runViews: views, runStarts: starts, runEnds: ends,
		archiver:  &archiver{cfg: cfg},
		diskGuard: &diskGuard{cfg: cfg, policy: holder, table: table},
		runResumes: &runResumes{cfg: cfg, policy: holder, table: table, waiters: w, health: health, budgets: budgets,
			views: views, parents: parents, starts: starts, ends: ends},
		runAnswers: &runAnswers{cfg: cfg, policy: holder, table: table, health: health, budgets: budgets,
			views: views},
		sessionList: &sessionList{cfg: cfg, policy: holder, health: health, budgets: budgets},
		pushes:      &pushes{policy: holder, budgets: budgets},
	}, nil
}

// self is the actor of what the daemon does without a request.
const self = "ringd"

// Drain refuses new runs and waits for the live ones. If ctx ends first, it cancels them and waits until
// their ends are recorded. It returns the error of ctx if it had to cancel runs.
func (d *Daemon) Drain(ctx context.Context) error {
	d.runTable.refuseNew()
	if d.runTable.waitIdle(ctx) == 0 {
		return nil
	}
	d.runTable.cancelAll()
	return ctx.Err()
}

// Close cancels live runs, closes the rings in reverse order and waits for every goroutine of the Group. The
// audit log and the store stay open, and their owner closes them next. A second Close returns the same error.
func (d *Daemon) Close() error {
	d.once.Do(func() { d.err = d.close() })
	return d.err
}

func (d *Daemon) close() error {
	d.runTable.refuseNew()
	d.quit()
	<-d.over
	d.runTable.cancelAll()
	var errs []error
	for _, r := range slices.Backward(d.cfg.Policy.Rings) {
		if err := r.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close ring %s: %w", r.Name(), err))
		}
	}
	d.cfg.Group.Wait()
	d.policy.Shut()
	return errors.Join(errs...)
}
