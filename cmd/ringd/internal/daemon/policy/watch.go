package policy

import (
	"context"
	"time"
)

// watcher closes generations when their time is over, and stores that the source is good.
type watcher struct {
	cfg       *Config
	situation *situation
	active    *activation
	closings  *closings
	expiries  *expiries
	pushes    *application
}

// freshenEvery is the time between two updates of the store while the source is good. After a restart the last
// update gives the age of the generation.
const freshenEvery = time.Minute

// Watch closes a generation whose source was not good for too long, and updates in the store when the source
// was last good. It ends with ctx.
func (d *watcher) Watch(ctx context.Context) {
	tick := d.cfg.Clock.After(freshenEvery)
	// The timer of the push in force is started once, so that a clock that is set back does not extend it.
	var timed *Generation
	var expires <-chan time.Time
	for {
		if g := d.active.inForce.Load(); d.active.expired(g) != nil {
			d.closings.closeExpired(ctx, g)
		}
		if g := d.active.inForce.Load(); g == nil || timed == nil || g.Number != timed.Number {
			timed, expires = g, nil
			if at, ok := d.active.pushExpiry(g); ok {
				expires = d.cfg.Clock.After(at.Sub(d.cfg.Clock.Now()))
			}
		}
		var deadline <-chan time.Time
		if at, ok := d.closings.Deadline(); ok {
			deadline = d.cfg.Clock.After(at.Sub(d.cfg.Clock.Now()))
		}
		var ends <-chan time.Time
		if at, ok := d.active.nextEnd(); ok {
			ends = d.cfg.Clock.After(
				min(at.Sub(d.cfg.Clock.Now()), freshenEvery),
			) // a clock that is set forward is noticed within this time
		}
		select {
		case <-ctx.Done():
			return
		case <-d.situation.wake:
		case <-deadline:
			d.lookAtStale(ctx)
		case <-expires:
			expires = nil
			d.closings.closeExpired(ctx, timed)
		case <-ends:
			if err := d.expiries.expire(ctx); err != nil && ctx.Err() == nil {
				d.cfg.Logger.Error("exceptions have ended", "error", err)
			}
		case <-tick:
			d.freshen(ctx)
			d.lookAtClock(ctx)
			tick = d.cfg.Clock.After(freshenEvery)
		}
	}
}

func (d *watcher) freshen(ctx context.Context) {
	g := d.active.inForce.Load()
	d.situation.mu.Lock()
	good := len(d.situation.sourceConditions) == 0
	d.situation.mu.Unlock()
	if g == nil || !good {
		return
	}
	if err := d.cfg.Generations.Freshen(ctx, g.Number, d.cfg.Clock.Now()); err != nil {
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("freshen generation", "error", err)
	}
}

func (d *watcher) lookAtStale(ctx context.Context) {
	if d.situation.acquire(ctx) != nil {
		return
	}
	defer d.situation.release()
	if err := d.closings.closeIfStale(ctx); err != nil {
		d.cfg.Logger.Error("generation closed, but not recorded", "error", err)
	}
}
