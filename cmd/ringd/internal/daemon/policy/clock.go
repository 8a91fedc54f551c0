package policy

import (
	"context"
	"errors"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema/wire"
)

// AcceptTime makes the time of this host's clock the latest that it has seen, on the word
// of an actor: the clock was ahead before and is right now. It is on record first. What
// was refused for the time is looked at again with the next look at the folder. Errors:
// *InvalidError, records.ErrUnavailable.
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
	d.situation.poke()
	return out, nil
}

// lookAtClock notes the time, and takes a clock that went back for a bad push: the
// generation in force stays until the staleness limit.
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
		_ = d.pushes.refuse(ctx, "", err) // it is on record, and in status
	default:
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("note the time", "error", err)
	}
}
