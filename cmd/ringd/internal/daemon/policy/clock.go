package policy

import (
	"context"
	"errors"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema/wire"
)

// AcceptTime accepts the time of this host's clock as the latest one seen, on request of an actor: the clock
// was ahead before and is right now. It is recorded first. A push that was refused because of the time is
// tried again at the next check of the folder. Errors: *InvalidError, records.ErrUnavailable.
func (d *application) AcceptTime(ctx context.Context, actor, reason string) (wire.Clock, error) {
	if d.cfg.Trust == nil {
		return wire.Clock{}, &InvalidError{"", "this host has no trust roots, so it remembers no time"}
	}
	if err := d.situation.acquire(ctx); err != nil {
		return wire.Clock{}, err
	}
	defer d.situation.release()
	out, err := AcceptTime(
		ctx,
		d.cfg.Recorder,
		d.cfg.Trust,
		d.active.Record(audit.ClockAccepted),
		wire.Clock{Now: d.cfg.Clock.Now()},
		actor,
		reason,
	)
	if err != nil {
		return out, err
	}
	d.situation.mu.Lock()
	if d.situation.lastPush != nil && d.situation.lastPush.Result == wire.PushRejected {
		d.situation.lastPush = nil
	}
	d.situation.mu.Unlock()
	d.situation.wakeWatch()
	return out, nil
}

// lookAtClock stores the time. It treats a clock that went back like a bad push: the generation in force
// stays until the staleness limit.
func (d *watcher) lookAtClock(ctx context.Context) {
	if d.cfg.Trust == nil {
		return
	}
	err := d.cfg.Trust.Seen(d.cfg.Clock.Now())
	var r *trust.Refusal
	switch {
	case err == nil:
	case errors.As(err, &r):
		if d.situation.acquire(ctx) != nil {
			return
		}
		defer d.situation.release()
		// The log and the status have it.
		_ = d.pushes.reject(ctx, "", &rejection{why: r.Error(), code: r.Code, retry: errLater, outside: true})
	default:
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("note the time", "error", err)
	}
}
