package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// startup restores the last generation after a restart.
type startup struct {
	cfg       *Config
	situation *situation
	active    *activation
	verifier  *verifier
	expiries  *expiries
}

// Hold restores the last generation if its push was last seen as good within the staleness limit. Its set is
// verified by its revision and not compiled again: the store is in the daemon's own folder, and the push may
// be gone. The limit counts from when the push was last good, so restarts do not extend it.
func (d *startup) Hold(ctx context.Context) error {
	g, err := d.cfg.Generations.LastGeneration(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case errors.Is(err, store.ErrCorrupt):
		d.cfg.Logger.Warn("last generation is damaged: nothing is in force", "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("%w: read last generation: %w", records.ErrUnavailable, err)
	}
	d.situation.lastNumber = g.Number
	d.cfg.Recorder.Prepare(g.Number)
	now := d.cfg.Clock.Now()
	if !now.Before(g.Fresh.Add(d.cfg.Staleness)) {
		d.situation.stale = &wire.Condition{Code: wire.ConditionStale, Since: now,
			Message: "the last generation is older than the staleness limit; push a valid policy"}
		return nil
	}
	set, signed, err := d.verifier.restore(ctx, g, now)
	if err != nil || set.Revision != g.Revision {
		return d.recordNotRestored(ctx, g, err)
	}
	source, was := set.Revision, set
	if g, set, err = d.expiries.withoutEnded(ctx, g, set, signed, now); err != nil {
		return err
	}
	d.situation.lastNumber = g.Number
	if findings, err := d.verifier.checkGuardrails(ctx, set, was); err != nil || findings.Refused() {
		d.cfg.Logger.Warn(
			"last generation is refused by a guardrail: nothing is in force",
			"generation",
			g.Number,
			"error",
			err,
			"findings",
			len(findings),
		)
		return nil
	}
	commits, err := d.active.prepare(ctx, set)
	if err != nil {
		d.cfg.Logger.Warn(
			"last generation cannot be prepared: nothing is in force",
			"generation",
			g.Number,
			"error",
			err,
		)
		return nil
	}
	rec := audit.Record{Kind: audit.GenerationHeld, Actor: self, Generation: g.Number, Revision: g.Revision}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return err
	}
	since := g.Fresh
	if since.After(now) { // the clock went back, so it cannot tell for how long the push was not read
		since = now
	}
	d.situation.sourceBad(wire.Condition{Code: wire.ConditionHeld, Since: since,
		Message: "restored after a restart; the push has not been read since"}, since)
	next := d.active.generation(g.Number, g.Activated, "", set, signed)
	next.source = source
	d.active.commit(next, commits)
	return nil
}

// recordNotRestored records that the generation before the restart is not restored.
func (d *startup) recordNotRestored(ctx context.Context, g store.Generation, cause error) error {
	d.cfg.Logger.Warn("last generation does not verify: nothing is in force", "generation", g.Number, "error", cause)
	var r *trust.Refusal
	if !errors.As(cause, &r) {
		return nil
	}
	d.situation.stale = &wire.Condition{
		Code:    string(r.Code),
		Message: "the last generation is not restored: " + r.Reason,
		Since:   d.cfg.Clock.Now(),
	}
	rec := audit.Record{
		Kind:     audit.PushRejected,
		Actor:    self,
		Revision: g.Revision,
		Detail:   map[string]string{"code": string(r.Code), "reason": r.Reason},
	}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	return err
}

// withoutEnded returns the generation to restore, without the exceptions that have ended meanwhile. It is a
// new generation, as it would have been without the restart.
func (d *expiries) withoutEnded(
	ctx context.Context,
	g store.Generation,
	set *profiles.Set,
	signed *trust.Push,
	now time.Time,
) (store.Generation, *profiles.Set, error) {
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
	g.Revision = storedRevision(signed, set, left)
	if err := d.storeGeneration(ctx, g, left); err != nil {
		return g, nil, err
	}
	g.Revision = left.Revision
	return g, left, nil
}
