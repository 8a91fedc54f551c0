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

// expiries takes ended exceptions out of the set in force.
type expiries struct {
	cfg       *Config
	situation *situation
	active    *activation
	closings  *closings
}

// hasEnded reports whether a push holds exceptions that have ended. Such a push is accepted only if it is
// already in force without them.
func hasEnded(findings schema.Diagnostics) bool {
	return slices.ContainsFunc(findings, func(f schema.Diagnostic) bool { return f.Code == layers.CodeExpired })
}

// expire takes ended exceptions out of the set in force, as a new generation. It is the safe direction, so it
// happens even if it cannot be recorded or stored. If the rest of the set cannot be brought into force,
// everything is closed.
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
	err = errors.Join(d.recordEnded(ctx, number, g.Set, left), d.storeRest(ctx, number, g, left, now))
	next := d.active.generation(number, now, g.digest, left, g.Signed)
	next.source = g.source
	d.active.commit(next, commits)
	d.active.recordRestarts(ctx)
	d.cfg.Logger.Info("ended exceptions removed", "generation", number, "revision", left.Revision)
	return err
}

// recordEnded records the exceptions that have ended.
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

// storedRevision returns the revision that the store has for a set of which exceptions have ended. For a signed
// push it is the revision of the signed set.
func storedRevision(signed *trust.Push, whole, left *profiles.Set) string {
	if signed != nil {
		return whole.Revision
	}
	return left.Revision
}

// storeRest stores the rest of the set of g. The signed text is stored as it was signed. A restart verifies
// it, and takes out the ended exceptions again.
func (d *expiries) storeRest(
	ctx context.Context,
	number int64,
	g *Generation,
	left *profiles.Set,
	now time.Time,
) error {
	kept := store.Generation{Number: number, Revision: left.Revision, Activated: now, Fresh: now}
	if g.Signed != nil {
		last, err := d.cfg.Generations.LastGeneration(ctx)
		if err != nil {
			return fmt.Errorf("%w: read last generation: %w", records.ErrUnavailable, err)
		}
		kept.Revision, kept.Set = last.Revision, last.Set
	}
	return d.storeGeneration(ctx, kept, left)
}

// storeGeneration stores a generation. If g has no text, it stores that of the set.
func (d *expiries) storeGeneration(ctx context.Context, g store.Generation, set *profiles.Set) (err error) {
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
