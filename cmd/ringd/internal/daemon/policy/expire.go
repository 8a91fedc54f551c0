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
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// expiries takes exceptions that have ended out of the set in force.
type expiries struct {
	cfg       *Config
	situation *situation
	active    *activation
	closings  *closings
}

// ended reports whether a push holds exceptions that have ended. It then is not taken
// anew: only where it is what is in force already, without them, it goes on.
func ended(findings schema.Diagnostics) bool {
	return slices.ContainsFunc(findings, func(f schema.Diagnostic) bool { return f.Code == layers.CodeExpired })
}

// expire takes what has ended out of the set in force, as a generation of its own. It
// is the safe direction: it happens even where it cannot be recorded or kept, and where
// what is left cannot be brought in force everything is closed.
func (d *expiries) expire(ctx context.Context) error {
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	g := d.active.inForce.Load()
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
	d.situation.mu.Lock()
	number := d.situation.lastNumber + 1
	d.situation.mu.Unlock()
	if err == nil {
		d.cfg.Recorder.Prepare(number)
		commits, err = d.active.prepare(ctx, left)
	}
	if err != nil {
		return errors.Join(
			fmt.Errorf("remove ended exceptions: %w", err),
			d.closings.close(ctx, wire.Condition{Code: wire.ConditionStale, Since: now,
				Message: "an exception has ended, and the rest of the policy cannot be put in force: " +
					err.Error()}),
		)
	}
	err = errors.Join(d.recordEnded(ctx, number, g.Set, left), d.keepLeft(ctx, number, g, left, now))
	next := d.active.generation(number, now, g.digest, left, g.Signed)
	next.source = g.source
	d.active.commit(next, commits)
	d.active.restarts(ctx)
	d.cfg.Logger.Info("ended exceptions removed", "generation", number, "revision", left.Revision)
	return err
}

// recordEnded puts on record what has ended.
func (d *expiries) recordEnded(ctx context.Context, number int64, before, after *profiles.Set) error {
	gone := profiles.EndedExceptions(before, after)
	var errs []error
	for _, agent := range slices.Sorted(maps.Keys(gone)) {
		for _, e := range gone[agent] {
			rec := audit.Record{
				Kind:       audit.ExceptionEnded,
				Actor:      self,
				Agent:      agent,
				Generation: number,
				Revision:   after.Revision,
				Capability: "exception:" + e.ID,
				Detail: map[string]string{
					"owner":   e.Owner,
					"expires": e.Expires.UTC().Format(time.RFC3339),
					"before":  before.Revision,
				},
			}
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
func (d *expiries) keepLeft(ctx context.Context, number int64, g *Generation, left *profiles.Set, now time.Time) error {
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
func (d *expiries) keep(ctx context.Context, g store.Generation, set *profiles.Set) (err error) {
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
