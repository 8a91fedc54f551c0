package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// runEnds cancels live runs and ends waiting ones.
type runEnds struct {
	cfg     *Config
	policy  *policy.State
	table   *runTable
	waiters *waiters
	views   *runViews
}

// CancelRun ends a live or waiting run and returns how it ended. After CancelRun was called, no effect of the
// run begins. Errors: ErrNotFound, ErrEnded, that of ctx, faults.
func (d *runEnds) CancelRun(ctx context.Context, actor Actor, id string) (wire.Run, error) {
	for {
		r, row, err := d.views.reach(ctx, actor, id)
		switch {
		case err != nil:
			return wire.Run{}, err
		case r == nil:
			run, err := d.endStored(ctx, row, actor.Name, executors.StateCancelled,
				wire.RunError{Name: profiles.ErrorCancelled, Message: "cancelled through the API"})
			if errors.Is(err, store.ErrState) {
				continue // the run was claimed, or ended, meanwhile: look again
			}
			return run, err
		}
		r.handle.Cancel(ctx, actor.Name, "cancelled through the API")
		select {
		case <-r.done:
		case <-ctx.Done():
			return wire.Run{}, ctx.Err()
		}
		if r.err != nil || r.final.State != string(executors.StatePaused) {
			return r.final, r.err
		}
	}
}

// endStored ends a run that waits in the store and records it. If the run no longer waits, nothing happens and
// the error wraps store.ErrState.
func (d *runEnds) endStored(
	ctx context.Context,
	row store.Run,
	by string,
	state executors.State,
	why wire.RunError,
) (wire.Run, error) {
	r := d.table.occupy(row.ID, row.Actor) // it cannot be resumed meanwhile
	if r == nil {
		return wire.Run{}, store.ErrState
	}
	defer d.table.vacate(r)
	row, err := d.cfg.Store.Run(ctx, row.ID)
	if err != nil {
		return wire.Run{}, err
	}
	if row.State != store.Answered && row.State != store.Paused {
		return wire.Run{}, store.ErrState
	}
	out, err := view.Row(row)
	if err != nil { // a run whose record cannot be read can still be ended
		d.cfg.Logger.Error("a run ends without its console output", "run", row.ID, "error", err)
		row.Outcome = nil
		if out, err = view.Row(row); err != nil {
			return wire.Run{}, err
		}
	}
	out.State, out.Error, out.Pending, out.Queued = string(state), &why, nil, 0
	out.LastEvent++ // the end is an event too
	raw, err := json.Marshal(out)
	if err != nil {
		return wire.Run{}, fmt.Errorf("encode the outcome of run %s: %w", row.ID, err)
	}
	kind, step := audit.RunCancelled, "cancelled"
	if state != executors.StateCancelled {
		kind, step = audit.RunExpired, "expired"
	}
	rec := d.policy.Record(kind)
	rec.Actor, rec.Agent, rec.Run, rec.State = by, row.Agent, row.ID, string(state)
	rec.Detail = map[string]string{"error": why.Name, "sequence": fmt.Sprint(row.Seq)}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return wire.Run{}, err
	}
	d.cfg.Point("end_recorded")
	if _, err := d.cfg.Store.Advance(ctx, row.ID, store.State(state), store.Change{Outcome: raw}); err != nil {
		return wire.Run{}, err
	}
	d.cfg.Point("end_kept")
	if held := d.cfg.Interpreter.Held(row.ID); held != nil { // its subagents end with it
		held.Cancel(ctx, by, why.Message)
	}
	rec = d.policy.Record(audit.RunEnded)
	rec.Actor, rec.Agent, rec.Run, rec.State = row.Actor, row.Agent, row.ID, string(state)
	rec.Detail = map[string]string{"error": why.Name}
	_, err = d.cfg.Recorder.Append(ctx, rec, audit.Written)
	d.cfg.Metrics.Paused(step)
	d.waiters.Wake(row.ID)
	return out, err
}

// expire ends the runs whose pause has expired, or one of whose approvals has.
func (d *runEnds) expire(ctx context.Context) {
	now := d.cfg.Clock.Now()
	if _, all, err := d.cfg.Waiting.Keeper.Count(ctx, ""); err == nil {
		d.cfg.Metrics.PausedNow(all)
	}
	for range pruneRounds {
		over, err := d.cfg.Store.Expired(ctx, now, pruneAtOnce)
		if err != nil {
			d.cfg.Metrics.Fault("store")
			d.cfg.Logger.Error("list expired pauses", "error", err)
			return
		}
		left := 0
		for _, p := range over { // an error of one does not keep the others
			if err := d.expireOne(ctx, p.Run); err != nil {
				left++
				if !errors.Is(err, store.ErrState) {
					d.cfg.Logger.Error("end an expired pause", "run", p.Run, "error", err)
				}
			}
		}
		if len(over) < pruneAtOnce || left > 0 {
			return
		}
	}
}

func (d *runEnds) expireOne(ctx context.Context, run string) error {
	row, err := d.cfg.Store.Run(ctx, run)
	if err != nil {
		return err
	}
	why := wire.RunError{Name: profiles.ErrorPauseExpired, Message: "the run waited too long"}
	calls, err := d.cfg.Store.Calls(ctx, run)
	if err != nil {
		return err
	}
	now := d.cfg.Clock.Now()
	for _, c := range calls {
		if c.State == store.CallPending && c.For == store.ByApprover && c.Verdict == "" && !c.Expires.IsZero() &&
			!now.Before(c.Expires) {
			why = wire.RunError{
				Name:    profiles.ErrorApprovalExpired,
				Message: "call " + c.ID + " was not approved in time",
			}
			break
		}
	}
	_, err = d.endStored(ctx, row, self, executors.StateDenied, why)
	return err
}
