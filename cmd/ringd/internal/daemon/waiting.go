package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// ListApprovals shows a page of the calls that wait for a person: those of every run for
// an actor that sees all, else those of its own. Errors: *waiting.InvalidError, faults.
func (d *Daemon) ListApprovals(ctx context.Context, actor Actor, p waiting.Page) (wire.Approvals, error) {
	if p.Actor = ""; !actor.All {
		if p.Actor = actor.Name; p.Actor == "" { // nobody has no runs
			return wire.Approvals{Approvals: []wire.WaitingCall{}}, nil
		}
	}
	return d.cfg.Desk.List(ctx, p)
}

// GetCall shows one call that waits for a person, whole. Errors: ErrNotFound, those of
// waiting.Desk.Show.
func (d *Daemon) GetCall(ctx context.Context, actor Actor, run, call string) (wire.WaitingCall, error) {
	if _, err := d.row(ctx, actor, run); err != nil {
		return wire.WaitingCall{}, err
	}
	out, err := d.cfg.Desk.Show(ctx, run, call)
	return out, waiting.Damaged(run, err)
}

// Approve takes an approver's word on a call of a run, live or waiting, and
// returns the run as it stands after it. Errors: those of waiting.Desk.Decide,
// ErrTooFast, ErrUnavailable.
func (d *Daemon) Approve(ctx context.Context, who waiting.Approver, run, call string, a wire.ApprovalAnswer) (wire.Run, error) {
	if err := d.taken("approval"); err != nil {
		return wire.Run{}, err
	}
	refused := func(ctx context.Context) error { return d.spend(ctx, purse{who.Name, ofApprovals}, 1) }
	out, err := d.cfg.Desk.Decide(ctx, who, run, call, a, refused)
	if err != nil {
		return wire.Run{}, waiting.Damaged(run, err)
	}
	// What was said is on disk: whatever happens to the request, it takes effect.
	ctx = context.WithoutCancel(ctx)
	everyone := Actor{Name: who.Name, All: true}
	if out.Run == store.Answered {
		row, err := d.row(ctx, everyone, run)
		if err != nil {
			return wire.Run{}, err
		}
		d.goOn(run, row.Actor, who.Name)
	}
	if _, handle := d.liveRun(everyone, run); handle != nil && out.Verdict != "" {
		err := handle.Approved(ctx, contract.Settlement{Call: call, Approved: out.Verdict == store.Allow,
			Denied: out.Verdict == store.Deny, Reason: a.Reason, By: who.Name})
		// A run that has paused meanwhile finds it in the store; one that has ended
		// needs it no more.
		if err != nil && !errors.Is(err, contract.ErrPaused) && !errors.Is(err, contract.ErrEnded) {
			d.cfg.Logger.Warn("live run not told of an approval", "run", run, "call", call, "error", err)
		}
	}
	return d.GetRun(ctx, everyone, run, 0)
}

// RevokeGrants takes grants from a run for good, live or waiting: what it asks
// for under them afterwards is refused. Errors: ErrNotFound, ErrEnded,
// *InvalidError, ErrTooFast, ErrUnavailable, faults.
func (d *Daemon) RevokeGrants(ctx context.Context, actor Actor, id string, grants []string) (wire.Run, error) {
	if err := waiting.CheckGrants(grants); err != nil {
		return wire.Run{}, invalid("grants", err.Error())
	}
	if err := d.Writable(); err != nil {
		return wire.Run{}, err
	}
	r, row, err := d.reach(ctx, actor, id)
	switch {
	case err != nil:
		return wire.Run{}, err
	case r != nil:
		if err := r.gate.Pass(ctx); err != nil { // the store must know the run
			return wire.Run{}, err
		}
		row.Agent = r.handle.View().Agent
	default: // one whose record cannot be opened loses what is asked
		if p, _, err := d.cfg.Records.Pause(ctx, id); err == nil {
			if record, err := d.cfg.Keeper.Open(p, row); err == nil {
				if err := waiting.Revocable(record, grants); err != nil {
					return wire.Run{}, invalid("grants", err.Error())
				}
			}
		}
	}
	if err := d.spend(ctx, purse{actor.Name, ofRevokes}, 1); err != nil {
		return wire.Run{}, err
	}
	rec := d.record(audit.GrantRevoked)
	rec.Actor, rec.Agent, rec.Run = actor.Name, row.Agent, id
	rec.Detail = map[string]string{"grants": waiting.Clip(strings.Join(grants, " "))}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return wire.Run{}, err
	}
	// The store first: it comes with every pause that is opened from now on.
	err = d.cfg.Calls.Revoke(ctx, id, actor.Name, grants)
	switch {
	case errors.Is(err, store.ErrState):
		return wire.Run{}, fmt.Errorf("run %s: %w", id, ErrEnded)
	case err != nil:
		return wire.Run{}, err
	}
	ctx = context.WithoutCancel(ctx)
	for { // one that goes on in this moment opened its pause before
		r, _, err := d.reach(ctx, actor, id)
		if err != nil && !errors.Is(err, ErrEnded) {
			d.cfg.Logger.Warn("live run not told of what was taken from it", "run", id, "error", err)
			break
		}
		if r == nil {
			if held := d.cfg.Interpreter.Held(id); held != nil { // its subagents live
				_ = held.Revoke(ctx, grants) // it waits: ErrPaused, and the store has it
			}
			break
		}
		err = r.handle.Revoke(ctx, grants)
		switch {
		case errors.Is(err, contract.ErrPaused):
			<-r.done
			continue
		case errors.Is(err, binding.ErrGrant):
			return wire.Run{}, invalid("grants", err.Error())
		case err != nil && !errors.Is(err, contract.ErrEnded):
			return wire.Run{}, err
		}
		break
	}
	return d.GetRun(ctx, actor, id, 0)
}

// endKept ends a run that waits, with its record. The error wraps store.ErrState
// when it did not wait any more: then nothing happened.
func (d *Daemon) endKept(ctx context.Context, row store.Run, by string, state executors.State, why wire.RunError) (wire.Run, error) {
	r := d.occupy(row.ID, row.Actor) // it cannot be resumed meanwhile
	if r == nil {
		return wire.Run{}, store.ErrState
	}
	defer d.vacate(r)
	row, err := d.cfg.Runs.Run(ctx, row.ID)
	if err != nil {
		return wire.Run{}, err
	}
	if row.State != store.Answered && row.State != store.Paused {
		return wire.Run{}, store.ErrState
	}
	out, err := view.Row(row)
	if err != nil { // what cannot be read any more can still be ended
		d.cfg.Logger.Error("a run ends without what it has shown", "run", row.ID, "error", err)
		row.Outcome = nil
		if out, err = view.Row(row); err != nil {
			return wire.Run{}, err
		}
	}
	out.State, out.Error, out.Pending = string(state), &why, nil
	out.LastEvent++ // that it ended
	raw, err := json.Marshal(out)
	if err != nil {
		return wire.Run{}, fmt.Errorf("encode the outcome of run %s: %w", row.ID, err)
	}
	kind, step := audit.RunCancelled, "cancelled"
	if state != executors.StateCancelled {
		kind, step = audit.RunExpired, "expired"
	}
	rec := d.record(kind)
	rec.Actor, rec.Agent, rec.Run, rec.State = by, row.Agent, row.ID, string(state)
	rec.Detail = map[string]string{"error": why.Name, "sequence": fmt.Sprint(row.Seq)}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return wire.Run{}, err
	}
	d.cfg.Point("end_recorded")
	if _, err := d.cfg.Runs.Advance(ctx, row.ID, store.State(state), store.Change{Outcome: raw}); err != nil {
		return wire.Run{}, err
	}
	d.cfg.Point("end_kept")
	if held := d.cfg.Interpreter.Held(row.ID); held != nil { // its subagents end with it
		held.Cancel(ctx, by, why.Message)
	}
	rec = d.record(audit.RunEnded)
	rec.Actor, rec.Agent, rec.Run, rec.State = row.Actor, row.Agent, row.ID, string(state)
	rec.Detail = map[string]string{"error": why.Name}
	_, err = d.cfg.Recorder.Append(ctx, rec, audit.Written)
	d.cfg.Metrics.Paused(step)
	d.turns.Turn(row.ID)
	return out, err
}

// expire ends the runs whose pause, or an approval of which, is over.
func (d *Daemon) expire(ctx context.Context) {
	now := d.cfg.Clock.Now()
	if _, all, err := d.cfg.Keeper.Count(ctx, ""); err == nil {
		d.cfg.Metrics.PausedNow(all)
	}
	for range pruneRounds {
		over, err := d.cfg.Pauses.Expired(ctx, now, pruneAtOnce)
		if err != nil {
			d.cfg.Metrics.Fault("store")
			d.cfg.Logger.Error("list expired pauses", "error", err)
			return
		}
		left := 0
		for _, p := range over { // one that cannot end does not keep the others
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

func (d *Daemon) expireOne(ctx context.Context, run string) error {
	row, err := d.cfg.Runs.Run(ctx, run)
	if err != nil {
		return err
	}
	why := wire.RunError{Name: profiles.ErrorPauseExpired, Message: "the run waited longer than it may"}
	calls, err := d.cfg.Calls.Calls(ctx, run)
	if err != nil {
		return err
	}
	now := d.cfg.Clock.Now()
	for _, c := range calls {
		if c.State == store.CallPending && c.For == store.ByApprover && c.Verdict == "" && !c.Expires.IsZero() && !now.Before(c.Expires) {
			why = wire.RunError{Name: profiles.ErrorApprovalExpired, Message: "call " + c.ID + " was not approved in time"}
			break
		}
	}
	_, err = d.endKept(ctx, row, self, executors.StateDenied, why)
	return err
}
