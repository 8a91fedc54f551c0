package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// healEvery is the first interval between attempts to reopen the audit log and the store. The interval
// doubles up to healMax while they fail.
const (
	healEvery = time.Second
	healMax   = 30 * time.Second
)

// errHealing: records can be written again, and the runs that the fault left behind are being settled.
var errHealing = fmt.Errorf("%w: they are being reopened", records.ErrUnavailable)

// isDamage reports whether free disk space cannot help: the files are damaged, and an operator must act.
func isDamage(cause error) bool {
	return errors.Is(cause, audit.ErrTampered) || errors.Is(cause, store.ErrCorrupt)
}

// recover records what the store did with the runs that were live when the previous process ended.
func (d *recordHealth) recover(ctx context.Context) error {
	done, err := d.cfg.Store.Recover(ctx)
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
			d.cfg.Logger.Info("run continues from its last pause", "run", r.Run.ID, "from", r.From)
			continue
		}
		d.cfg.Logger.Warn("run was interrupted", "run", r.Run.ID, "from", r.From, "state", r.Run.State)
	}
	return nil
}

// recordHealth knows whether the audit log and the store can be written, and reopens them after a fault.
type recordHealth struct {
	cfg   *Config
	table *runTable

	mu      sync.Mutex
	damaged error // audit log or store is damaged and cannot be reopened; nil if not
}

// heal reopens the audit log and the store after a failed write, as a restart would, until ctx ends.
func (d *recordHealth) heal(ctx context.Context) {
	pause, last := healEvery, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.cfg.Clock.After(pause):
		}
		cause := d.Writable()
		if cause == nil {
			pause, last = healEvery, ""
			continue
		}
		err := d.reopen(ctx, cause)
		if err == nil || errors.Is(err, audit.ErrDiskFull) {
			pause = healEvery // a check for free space is cheap
		} else {
			pause = min(2*pause, healMax)
		}
		if err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			d.cfg.Logger.Error("audit log and store not reopened", "error", err)
		}
	}
}

// reopen ends the live runs, reopens the store and the log, and settles in the store what the fault left
// behind. Nothing starts before all of it is on disk.
func (d *recordHealth) reopen(ctx context.Context, cause error) error {
	if isDamage(cause) {
		return cause
	}
	d.table.setHealing(true) // stopAll below also stops a run that was admitted just before
	d.table.stopAll("")
	waiting, cancel := context.WithTimeout(ctx, healEvery)
	defer cancel()
	if n := d.table.waitIdle(waiting); n > 0 {
		return fmt.Errorf("%d runs have not ended yet", n)
	}
	if err := d.cfg.Disk.Reopen(ctx); err != nil {
		if isDamage(err) { // damage stays, whatever fault closed them first
			d.mu.Lock()
			d.damaged = fmt.Errorf("%w: %w", records.ErrUnavailable, err)
			d.mu.Unlock()
		}
		return err
	}
	if err := d.recover(ctx); err != nil {
		return err
	}
	d.cfg.Lock.Record(ctx)
	d.table.setHealing(false)
	d.cfg.Logger.Info("audit log and store were reopened", "after", cause)
	d.table.wakeResumes()
	return nil
}

// unwritable returns the text of the status while records cannot be written.
func (d *recordHealth) unwritable(cause error) string {
	switch {
	case isDamage(cause):
		return cause.Error() + "; check them with ringd audit verify, then start ringd again"
	case d.cfg.Disk.Reopen == nil:
		return cause.Error()
	default:
		return cause.Error() + "; ringd retries, and continues by itself once they can be written: on a full disk, " +
			"make room"
	}
}

// Writable returns nil if the audit log and the store take writes. Otherwise its error wraps ErrUnavailable
// until they do again and what the fault left behind is settled.
func (d *recordHealth) Writable() error {
	healing := d.table.isHealing()
	d.mu.Lock()
	damaged := d.damaged
	d.mu.Unlock()
	if damaged != nil {
		return damaged
	}
	if err := d.cfg.Recorder.Err(); err != nil {
		return err
	}
	if err := d.cfg.Store.Err(); err != nil {
		return fmt.Errorf("%w: %w", records.ErrUnavailable, err)
	}
	if healing {
		return errHealing
	}
	return nil
}

// checkOpen returns nil if requests about runs are accepted: records can be written and no lockdown holds.
func (d *recordHealth) checkOpen(what string) error {
	if locked := d.cfg.Lock.Denied(what, ""); locked != nil {
		return locked
	}
	return d.Writable()
}

// storeFailed logs and counts a failure of the store, and returns it as ErrUnavailable.
func (d *recordHealth) storeFailed(what, run string, err error) error {
	d.cfg.Metrics.Fault("store")
	d.cfg.Logger.Error("a run could not be kept", "run", run, "what", what, "error", err)
	return fmt.Errorf("%w: keep the %s of run %s: %w", records.ErrUnavailable, what, run, err)
}
