package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// freshenEvery is how often the store learns that the source is still good, so
// that a restart knows how old the generation is.
const freshenEvery = time.Minute

// Watch closes a generation whose source was not good for too long, and keeps the
// store's idea of its age fresh. It ends with ctx.
func (d *Holder) Watch(ctx context.Context) {
	tick := d.cfg.Clock.After(freshenEvery)
	// The timer of the push that is in force is started once: it does not follow a
	// clock that is set back meanwhile.
	var timed *Generation
	var expires <-chan time.Time
	for {
		if g := d.inForce.Load(); d.expired(g) != nil {
			d.closeExpired(ctx, g)
		}
		if g := d.inForce.Load(); g == nil || timed == nil || g.Number != timed.Number {
			timed, expires = g, nil
			if at, ok := d.expiry(g); ok {
				expires = d.cfg.Clock.After(at.Sub(d.cfg.Clock.Now()))
			}
		}
		var deadline <-chan time.Time
		if at, ok := d.Deadline(); ok {
			deadline = d.cfg.Clock.After(at.Sub(d.cfg.Clock.Now()))
		}
		var ends <-chan time.Time
		if at, ok := d.expires(); ok {
			ends = d.cfg.Clock.After(min(at.Sub(d.cfg.Clock.Now()), freshenEvery)) // a clock that is put forward is seen within that
		}
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-deadline:
			d.lookAtStale(ctx)
		case <-expires:
			expires = nil
			d.closeExpired(ctx, timed)
		case <-ends:
			if err := d.expire(ctx); err != nil && ctx.Err() == nil {
				d.cfg.Logger.Error("exceptions have ended", "error", err)
			}
		case <-tick:
			d.freshen(ctx)
			d.lookAtClock(ctx)
			tick = d.cfg.Clock.After(freshenEvery)
		}
	}
}

func (d *Holder) freshen(ctx context.Context) {
	g := d.inForce.Load()
	d.mu.Lock()
	good := len(d.trouble) == 0
	d.mu.Unlock()
	if g == nil || !good {
		return
	}
	if err := d.cfg.Generations.Freshen(ctx, g.Number, d.cfg.Clock.Now()); err != nil {
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("freshen generation", "error", err)
	}
}

func (d *Holder) lookAtStale(ctx context.Context) {
	if d.acquire(ctx) != nil {
		return
	}
	defer d.release()
	if err := d.closeIfStale(ctx); err != nil {
		d.cfg.Logger.Error("generation closed, but not recorded", "error", err)
	}
}

// Deadline is when the generation in force is to be closed; false while its
// source is good, or there is none.
func (d *Holder) Deadline() (time.Time, bool) {
	if d.inForce.Load() == nil {
		return time.Time{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.trouble) == 0 {
		return time.Time{}, false
	}
	return d.troubledAt.Add(d.cfg.Staleness), true
}

// closeIfStale closes the generation when its limit has passed. applying is
// held. Closing is the safe direction: it happens even when it cannot be
// recorded; the error then says so.
func (d *Holder) closeIfStale(ctx context.Context) error {
	at, ok := d.Deadline()
	now := d.cfg.Clock.Now()
	if !ok || now.Before(at) {
		return nil
	}
	return d.close(ctx, wire.Condition{Code: wire.ConditionStale, Since: now,
		Message: "the source of the policy has not been good for longer than the staleness limit"})
}

// close takes the generation out of force, for a reason. applying is held.
func (d *Holder) close(ctx context.Context, why wire.Condition) error {
	ctx = context.WithoutCancel(ctx) // half a closing would be worse than a late one
	rec := d.Record(audit.GenerationEnded)
	rec.Detail = map[string]string{"code": why.Code, "reason": why.Message}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	commits, failed := d.prepareNothing(ctx)
	d.mu.Lock() // before the generation goes, so that nobody sees it gone without a reason
	d.stale = &why
	d.mu.Unlock()
	d.commit(nil, commits)
	if failed != nil {
		// The rings still hold the old set, so nothing may go on asking them.
		d.cfg.Stop("")
	}
	d.cfg.Logger.Warn("generation closed", "generation", rec.Generation, "revision", rec.Revision)
	return errors.Join(err, failed)
}

// prepareNothing asks every ring for a state that denies everything: a nil set,
// or one without agents for a ring that takes only sets. Rings that can do
// neither are in the error.
func (d *Holder) prepareNothing(ctx context.Context) (commits []func(), failed error) {
	for _, r := range d.cfg.Rings {
		commit, err := r.Prepare(ctx, nil)
		if err != nil {
			commit, err = r.Prepare(ctx, &profiles.Set{Format: profiles.Format})
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("close ring %s: %w", r.Name(), err))
			continue
		}
		commits = append(commits, commit)
	}
	return commits, failed
}
