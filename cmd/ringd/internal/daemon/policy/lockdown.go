package policy

import (
	"context"
	"errors"
	"maps"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/schema/wire"
)

// Close makes every ring refuse everything, once the lock is closed, and ends all
// runs. It waits for no push under way and for no disk: a push that is
// committed meanwhile finds the lock and leaves the rings as they are.
func (d *Holder) Close(ctx context.Context) {
	d.cfg.Stop("") // the guests first
	commits, failed := d.prepareNothing(ctx)
	d.swap.Lock()
	for _, c := range commits {
		c()
	}
	d.swap.Unlock()
	d.mu.Lock()
	turned := d.turned
	d.turned = make(chan struct{})
	d.mu.Unlock()
	close(turned)
	if failed != nil {
		d.cfg.Logger.Error("lockdown: a ring could not be told; its runs were ended", "error", failed)
	}
}

// await keeps a push that came during a lockdown until that is lifted. applying is
// held.
func (d *Holder) await(c coming) error {
	p := c.Push
	d.pushed(wire.Push{Digest: p.Digest, Revision: c.set.Revision, Result: wire.PushWaiting, At: d.cfg.Clock.Now(),
		Message: "it compiles, and is applied when the lockdown is lifted", Findings: view.Findings(c.findings)})
	d.mu.Lock()
	d.waiting = &p
	d.mu.Unlock()
	return nil
}

// awaits reports whether a push of this digest waits for the end of a lockdown.
func (d *Holder) awaits(digest string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting != nil && d.waiting.Digest == digest
}

// errStillLocked: the lock was closed again.
var errStillLocked = errors.New("the lockdown was begun again")

// Reopen brings back what a lockdown closed: the push that came meanwhile, else what
// was in force. opened opens the lock; until the rings have their profiles again all
// executors stay closed, with that as the reason. An error after opened leaves them
// closed too.
func (d *Holder) Reopen(ctx context.Context, opened func() bool) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	d.mu.Lock()
	p := d.waiting
	d.waiting = nil
	before := maps.Clone(d.closedBy)
	opening := closing{Condition: wire.Condition{Code: wire.ConditionExecutorClosed, Message: "it opens after a lockdown", Since: d.cfg.Clock.Now()}}
	d.closedBy[""] = opening
	d.mu.Unlock()
	if !opened() {
		d.mu.Lock()
		d.waiting, d.closedBy = p, before
		d.mu.Unlock()
		return errStillLocked
	}
	if p != nil {
		err := d.apply(ctx, *p)
		if err == nil {
			return nil
		}
		d.cfg.Logger.Warn("the push that came during the lockdown is refused", "digest", p.Digest, "error", err)
		all, closed := before[""]
		if before = d.closedExecutors(); before[""] == opening { // and not by what the push did to a ring
			delete(before, "")
			if closed {
				before[""] = all
			}
		}
	}
	return d.again(ctx, before)
}

// again prepares and commits what is in force, with the same number. Executors that
// were closed before stay so.
func (d *Holder) again(ctx context.Context, closed map[string]closing) error {
	g := d.inForce.Load()
	if g == nil {
		d.mu.Lock()
		d.closedBy = closed
		d.mu.Unlock()
		return nil // and status says why
	}
	if d.expired(g) != nil { // the lockdown kept it, its time has passed
		d.mu.Lock()
		d.closedBy = closed
		d.mu.Unlock()
		d.closeOverdue(ctx, g)
		return nil
	}
	d.cfg.Recorder.Prepare(g.Number)
	commits, err := d.prepare(ctx, g.Set)
	if err != nil {
		d.mu.Lock()
		why := d.closedBy[""]
		why.Message = "it could not be opened after a lockdown: " + err.Error()
		d.closedBy[""] = why
		d.mu.Unlock()
		return err
	}
	next := *g
	d.commitBut(&next, commits, closed)
	d.restarts(ctx)
	return nil
}

// order tells of the signed order that was seen last, and of one that is refused.
func (d *Holder) order(out *wire.Status) {
	o := d.cfg.Lock.LastOrder()
	if o == nil {
		return
	}
	out.Order = o
	if o.Result == wire.OrderRefused {
		out.Conditions = append(out.Conditions, wire.Condition{Code: wire.ConditionOrderRefused, Message: o.Message, Since: o.At})
	}
}
