package policy

import (
	"context"
	"errors"
	"maps"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/schema/wire"
)

// lockdowns closes the rings at the start of a lockdown, and opens them at its end.
type lockdowns struct {
	cfg       *Config
	situation *situation
	active    *activation
	closings  *closings
	pushes    *application
}

// Close makes every ring refuse everything after the lock is closed, and ends all runs. It waits for no push
// in progress and for no disk. A push that is committed meanwhile sees the lock and leaves the rings closed.
func (d *lockdowns) Close(ctx context.Context) {
	d.cfg.Stop("") // guests first
	commits, failed := d.active.prepareNothing(ctx)
	d.active.swap.Lock()
	for _, c := range commits {
		c()
	}
	d.active.swap.Unlock()
	d.situation.mu.Lock()
	turned := d.situation.turned
	d.situation.turned = make(chan struct{})
	d.situation.mu.Unlock()
	close(turned)
	if failed != nil {
		d.cfg.Logger.Error("lockdown: a ring could not be closed; its runs were ended", "error", failed)
	}
}

// keepForLift keeps a push that arrives during a lockdown until the lift. applying is held.
func (d *application) keepForLift(c candidate) error {
	p := c.Push
	d.situation.setLastPush(
		wire.Push{Digest: p.Digest, Revision: c.set.Revision, Result: wire.PushWaiting, At: d.cfg.Clock.Now(),
			Message: "it compiles, and is applied when the lockdown is lifted", Findings: view.Findings(c.findings)},
	)
	d.situation.mu.Lock()
	d.situation.waiting = &p
	d.situation.mu.Unlock()
	return nil
}

// errStillLocked: the lockdown was started again.
var errStillLocked = errors.New("the lockdown was begun again")

// Reopen brings back what a lockdown closed: the push that arrived meanwhile, or else the generation in
// force. opened opens the lock. Until the rings have their profiles again, all executors stay closed, with
// that as the reason. After an error they stay closed too, even if opened was called.
func (d *lockdowns) Reopen(ctx context.Context, opened func() bool) error {
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	d.situation.mu.Lock()
	p := d.situation.waiting
	d.situation.waiting = nil
	before := maps.Clone(d.situation.closedBy)
	opening := closing{
		Condition: wire.Condition{
			Code:    wire.ConditionExecutorClosed,
			Message: "it opens after a lockdown",
			Since:   d.cfg.Clock.Now(),
		},
	}
	d.situation.closedBy[""] = opening
	d.situation.mu.Unlock()
	if !opened() {
		d.situation.mu.Lock()
		d.situation.waiting, d.situation.closedBy = p, before
		d.situation.mu.Unlock()
		return errStillLocked
	}
	if p != nil {
		err := d.pushes.apply(ctx, *p)
		if err == nil {
			return nil
		}
		d.cfg.Logger.Warn("the push that came during the lockdown is refused", "digest", p.Digest, "error", err)
		all, closed := before[""]
		// not closed by a ring that rejected the push
		if before = d.situation.closedExecutors(); before[""] == opening {
			delete(before, "")
			if closed {
				before[""] = all
			}
		}
	}
	return d.recommit(ctx, before)
}

// recommit prepares and commits the generation in force, with the same number. Executors that were closed before
// stay closed.
func (d *lockdowns) recommit(ctx context.Context, closed map[string]closing) error {
	g := d.active.inForce.Load()
	if g == nil {
		d.situation.mu.Lock()
		d.situation.closedBy = closed
		d.situation.mu.Unlock()
		return nil // the status says why
	}
	if d.active.expired(g) != nil { // it expired during the lockdown
		d.situation.mu.Lock()
		d.situation.closedBy = closed
		d.situation.mu.Unlock()
		d.closings.closeOverdue(ctx, g)
		return nil
	}
	d.cfg.Recorder.Prepare(g.Number)
	commits, err := d.active.prepare(ctx, g.Set)
	if err != nil {
		d.situation.mu.Lock()
		why := d.situation.closedBy[""]
		why.Message = "it could not be opened after a lockdown: " + err.Error()
		d.situation.closedBy[""] = why
		d.situation.mu.Unlock()
		return err
	}
	next := *g
	d.active.commitExcept(&next, commits, closed)
	d.active.recordRestarts(ctx)
	return nil
}

// addOrder adds the last signed order to the status, with a condition if it was refused.
func (d *lockdowns) addOrder(out *wire.Status) {
	o := d.cfg.Lock.LastOrder()
	if o == nil {
		return
	}
	out.Order = o
	if o.Result == wire.OrderRefused {
		out.Conditions = append(
			out.Conditions,
			wire.Condition{Code: wire.ConditionOrderRefused, Message: o.Message, Since: o.At},
		)
	}
}
