package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// ended reports whether a push holds exceptions that have ended. It then is not taken
// anew: only where it is what is in force already, without them, it goes on.
func ended(findings schema.Diagnostics) bool {
	return slices.ContainsFunc(findings, func(f schema.Diagnostic) bool { return f.Code == layers.CodeExpired })
}

// endedPush decides on a push with ended exceptions: the one in force is confirmed,
// another one is refused. applying is held.
func (d *Holder) endedPush(ctx context.Context, p syncer.Push, set *profiles.Set, findings schema.Diagnostics) error {
	left, err := profiles.Unexpired(set, d.cfg.Clock.Now())
	if g := d.inForce.Load(); err == nil && g != nil && g.Revision == left.Revision && len(d.closedExecutors()) == 0 {
		return d.confirm(ctx, g, p.Digest, findings)
	}
	refused := slices.Clone(findings)
	for i := range refused {
		if refused[i].Code == layers.CodeExpired {
			refused[i].Severity = schema.Error
		}
	}
	return d.reject(ctx, p.Digest, "an exception of the policy has ended", refused)
}

// expires is when something more of the set in force ends.
func (d *Holder) expires() (time.Time, bool) {
	g := d.inForce.Load()
	if g == nil {
		return time.Time{}, false
	}
	return profiles.NextExpiry(g.Set, time.Time{}) // what is over is due
}

// expire takes what has ended out of the set in force, as a generation of its own. It
// is the safe direction: it happens even where it cannot be recorded or kept, and where
// what is left cannot be brought in force everything is closed.
func (d *Holder) expire(ctx context.Context) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	g := d.inForce.Load()
	if g == nil {
		return nil
	}
	now := d.cfg.Clock.Now()
	left, err := profiles.Unexpired(g.Set, now)
	if err == nil && left == g.Set {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // half of it would be worse than late
	var commits []func()
	d.mu.Lock()
	number := d.lastNumber + 1
	d.mu.Unlock()
	if err == nil {
		d.cfg.Recorder.Prepare(number)
		commits, err = d.prepare(ctx, left)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("take ended exceptions out: %w", err), d.close(ctx, wire.Condition{Code: wire.ConditionStale, Since: now,
			Message: "an exception has ended, and what is left of the policy cannot be brought in force: " + err.Error()}))
	}
	err = errors.Join(d.recordEnded(ctx, number, g.Set, left), d.keepLeft(ctx, number, g, left, now))
	next := d.generation(number, now, g.digest, left, g.Signed)
	next.source = g.source
	d.commit(next, commits)
	d.restarts(ctx)
	d.cfg.Logger.Info("ended exceptions taken out", "generation", number, "revision", left.Revision)
	return err
}

// recordEnded puts on record what has ended.
func (d *Holder) recordEnded(ctx context.Context, number int64, before, after *profiles.Set) error {
	gone := profiles.EndedExceptions(before, after)
	var errs []error
	for _, agent := range slices.Sorted(maps.Keys(gone)) {
		for _, e := range gone[agent] {
			rec := audit.Record{Kind: audit.ExceptionEnded, Actor: self, Agent: agent, Generation: number, Revision: after.Revision, Capability: "exception:" + e.ID,
				Detail: map[string]string{"owner": e.Owner, "expires": e.Expires.UTC().Format(time.RFC3339), "before": before.Revision}}
			_, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// keptRevision is the revision that the store has for a set that something ended of: of
// a signed push the store keeps what was signed.
func keptRevision(signed *trust.Push, whole, left *profiles.Set) string {
	if signed != nil {
		return whole.Revision
	}
	return left.Revision
}

// keepLeft keeps the set that is left of g. What was signed is kept as it was signed: a
// restart verifies that, and takes out again what has ended.
func (d *Holder) keepLeft(ctx context.Context, number int64, g *Generation, left *profiles.Set, now time.Time) error {
	kept := store.Generation{Number: number, Revision: left.Revision, Activated: now, Fresh: now}
	if g.Signed != nil {
		last, err := d.cfg.Generations.LastGeneration(ctx)
		if err != nil {
			return fmt.Errorf("%w: read last generation: %w", records.ErrUnavailable, err)
		}
		kept.Revision, kept.Set = last.Revision, last.Set
	}
	return d.keep(ctx, kept, left)
}

// keep keeps a generation; without a text it is that of the set.
func (d *Holder) keep(ctx context.Context, g store.Generation, set *profiles.Set) (err error) {
	if g.Set == nil {
		g.Set, err = set.Encode()
	}
	if err == nil {
		err = d.cfg.Generations.PutGeneration(ctx, g)
	}
	if err != nil {
		d.cfg.Metrics.Fault("store")
		return fmt.Errorf("%w: keep generation %d: %w", records.ErrUnavailable, g.Number, err)
	}
	return nil
}

// heldWithout is the generation that a restart takes up, without what has ended
// meanwhile: that is a generation of its own, as it would have been.
func (d *Holder) heldWithout(ctx context.Context, g store.Generation, set *profiles.Set, signed *trust.Push, now time.Time) (store.Generation, *profiles.Set, error) {
	left, err := profiles.Unexpired(set, now)
	if err != nil || left == set {
		return g, left, err
	}
	g.Number++
	d.cfg.Recorder.Prepare(g.Number)
	if err := d.recordEnded(ctx, g.Number, set, left); err != nil {
		return g, nil, err
	}
	g.Activated = now
	if signed == nil {
		g.Set = nil
	}
	g.Revision = keptRevision(signed, set, left)
	if err := d.keep(ctx, g, left); err != nil {
		return g, nil, err
	}
	g.Revision = left.Revision
	return g, left, nil
}
