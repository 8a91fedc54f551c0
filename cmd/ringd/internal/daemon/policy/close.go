package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/schema/wire"
)

// closings closes a generation that is stale or has expired.
type closings struct {
	cfg       *Config
	situation *situation
	active    *activation
}

// closeIfStale closes the generation if its limit has passed. applying is held. Closing is the safe
// direction, so it happens even if it cannot be recorded. The error then says so.
func (d *closings) closeIfStale(ctx context.Context) error {
	at, ok := d.Deadline()
	now := d.cfg.Clock.Now()
	if !ok || now.Before(at) {
		return nil
	}
	return d.close(ctx, wire.Condition{Code: wire.ConditionStale, Since: now,
		Message: "the source of the policy has not been good for longer than the staleness limit"})
}

// close takes the generation out of force. applying is held.
func (d *closings) close(ctx context.Context, why wire.Condition) error {
	ctx = context.WithoutCancel(ctx) // half a closing would be worse than a late one
	rec := d.active.Record(audit.GenerationEnded)
	rec.Detail = map[string]string{"code": why.Code, "reason": why.Message}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	commits, failed := d.active.prepareNothing(ctx)
	d.situation.mu.Lock() // before the generation goes, so that no reader sees it gone without a reason
	d.situation.stale = &why
	d.situation.mu.Unlock()
	d.active.commit(nil, commits)
	if failed != nil {
		// The rings still hold the old set, so no run may keep using them.
		d.cfg.Stop("")
	}
	d.cfg.Logger.Warn("generation closed", "generation", rec.Generation, "revision", rec.Revision)
	return errors.Join(err, failed)
}

// Deadline returns when the generation in force will be closed. It returns false if the source is good or
// there is no generation.
func (d *closings) Deadline() (time.Time, bool) {
	if d.active.inForce.Load() == nil {
		return time.Time{}, false
	}
	d.situation.mu.Lock()
	defer d.situation.mu.Unlock()
	if len(d.situation.sourceConditions) == 0 {
		return time.Time{}, false
	}
	return d.situation.badSince.Add(d.cfg.Staleness), true
}

// closeOverdue is closeExpired with applying held.
func (d *closings) closeOverdue(ctx context.Context, g *Generation) {
	if err := errors.Join(d.close(ctx, d.active.expiredCondition(g)), d.cfg.Trust.Seen(g.Signed.Expires)); err != nil {
		d.cfg.Logger.Error("an expired generation is closed, but not all of it is recorded", "error", err)
	}
}

// closeExpired closes a generation whose push has expired, if it is still in force. The caller has seen that
// the time has passed; the clock may have gone back since.
func (d *closings) closeExpired(ctx context.Context, g *Generation) {
	if d.situation.acquire(ctx) != nil {
		return
	}
	defer d.situation.release()
	now := d.active.inForce.Load()
	if now == nil || g == nil || now.Number != g.Number {
		return
	}
	d.closeOverdue(ctx, g)
}

// reopenExecutors opens the executors that were closed by a push which is no longer in the folder. digest is
// that of the folder now, or "" if the folder cannot be read. The rings prepare the generation in force
// again, and canaries try it, as for any push. If that fails, the executors stay closed until the next good
// push. gone reports whether it opened any. applying is held.
func (d *application) reopenExecutors(ctx context.Context, digest string) (opened bool) {
	g, closed := d.active.inForce.Load(), d.situation.closedExecutors()
	var names []string
	for name, c := range closed {
		if c.Push != "" && c.Push != digest {
			names = append(names, name)
		}
	}
	if len(names) == 0 || g == nil || d.active.expired(g) != nil || d.cfg.Lock.State() != nil {
		return false
	}
	slices.Sort(names)
	d.cfg.Recorder.Prepare(g.Number)
	commits, err := d.active.prepare(ctx, g.Set)
	if later := (interface{ Later() bool })(nil); ctx.Err() != nil || errors.As(err, &later) && later.Later() {
		return false // tried again at the next refusal
	}
	rec := d.active.Record(audit.ExecutorOpened)
	rec.Digest, rec.Detail = digest, map[string]string{
		"executors": fmt.Sprint(names),
		"reason":    "the push that closed them was removed",
	}
	if err == nil {
		_, err = d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	}
	if err != nil {
		d.cfg.Logger.Warn("executors stay closed although their push was removed", "executors", names, "error", err)
		d.situation.mu.Lock()
		defer d.situation.mu.Unlock()
		for _, name := range names { // the next good push opens it
			c := d.situation.closedBy[name]
			c.Push = ""
			c.Message += "; that push was removed, and the generation in force could not be restored: " + err.Error()
			d.situation.closedBy[name] = c
		}
		return false
	}
	maps.DeleteFunc(closed, func(name string, _ closing) bool { return slices.Contains(names, name) })
	next := *g
	d.active.commitExcept(&next, commits, closed)
	d.active.recordRestarts(ctx)
	return true
}
