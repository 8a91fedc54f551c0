package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// SessionLimits is what the policy in force grants an agent, and its revision.
// Zero is no session.
func (d *Daemon) SessionLimits(agent string) (waiting.SessionLimits, string) {
	g := d.policy.InForce()
	if g == nil {
		return waiting.SessionLimits{}, ""
	}
	s := g.Set.Agents[agent].Sessions
	if s == nil {
		return waiting.SessionLimits{}, g.Revision
	}
	return waiting.SessionLimits{Age: time.Duration(s.AgeMillis) * time.Millisecond, Bytes: s.Bytes}, g.Revision
}

// enterSession commits that a run has the session, and returns what it goes on
// from; nil: the session is new. Nobody else has the session until the run ends.
func (d *Daemon) enterSession(ctx context.Context, r *liveRun, row store.Run) (*contract.SessionState, error) {
	err := d.cfg.Runs.Start(ctx, row)
	if errors.Is(err, store.ErrBusy) {
		return nil, fmt.Errorf("session %s: %w", row.Session, ErrSessionBusy)
	}
	if err != nil {
		return nil, d.unkept("start", row.ID, err)
	}
	r.kept = true
	state, err := d.cfg.Keeper.OpenSession(ctx, row.Actor, row.Session, row.Agent, row.Executor)
	switch {
	case errors.Is(err, waiting.ErrSession):
		err = invalid("session", err.Error())
	case err != nil:
		d.cfg.Logger.Error("open a session", "run", row.ID, "session", row.Session, "error", err)
		err = waiting.Stuck(row.ID, err)
	}
	if err != nil {
		d.leaveSession(ctx, r, err)
	}
	return state, err
}

// leaveSession ends a run that was kept and did not start.
func (d *Daemon) leaveSession(ctx context.Context, r *liveRun, cause error) {
	state := executors.StateFailed
	var denial *profiles.Denial
	if errors.As(cause, &denial) {
		state = executors.StateDenied
	}
	out := wire.Run{ID: r.id, State: string(state), Executor: r.executor, Created: &r.created, Console: []wire.ConsoleEntry{},
		Denials: []profiles.Decision{}, Error: &wire.RunError{Name: "NotStarted", Message: "the run did not start"}}
	if err := d.keep(context.WithoutCancel(ctx), &out); err != nil {
		d.cfg.Logger.Error("end a run that did not start", "run", r.id, "error", d.unkept("end", r.id, err))
	}
}

// maxSessions is how many sessions a list shows: those used last.
const maxSessions = 1000

// ListSessions lists the sessions of actor, or all for one that sees all.
func (d *Daemon) ListSessions(ctx context.Context, actor Actor) (wire.SessionList, error) {
	of := actor.Name
	if actor.All {
		of = ""
	} else if of == "" {
		return wire.SessionList{}, invalid("", "the request has no actor")
	}
	rows, err := d.cfg.Sessions.Sessions(ctx, of, maxSessions)
	if err != nil {
		return wire.SessionList{}, err
	}
	out := wire.SessionList{Sessions: make([]wire.Session, 0, len(rows))}
	for _, s := range rows {
		out.Sessions = append(out.Sessions, wire.Session{Name: s.Name, Agent: s.Agent, Actor: s.Actor, Bytes: s.Size,
			Updated: s.Updated, Expires: s.Expires, Run: s.Busy})
	}
	return out, nil
}

// DropSession forgets a session of owner, "" for actor's own. Errors:
// ErrNotFound, ErrSessionBusy, ErrUnavailable, faults.
func (d *Daemon) DropSession(ctx context.Context, actor Actor, owner, name string) error {
	if owner == "" {
		owner = actor.Name
	}
	if !actor.sees(owner) || len(name) > MaxNames {
		return fmt.Errorf("session: %w", policy.ErrNotFound)
	}
	if err := d.Writable(); err != nil {
		return err
	}
	if err := d.spend(ctx, purse{actor.Name, ofRequests}, 1); err != nil {
		return err
	}
	rec := d.record(audit.SessionDropped)
	rec.Actor, rec.Detail = actor.Name, map[string]string{"session": name, "of": owner}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
		return err
	}
	state, openErr := d.cfg.Keeper.StateOf(ctx, owner, name)
	err := d.cfg.Sessions.DropSession(ctx, owner, name)
	if err == nil && openErr == nil && d.cfg.Forget != nil { // what cannot be opened stands for nothing that could be found
		d.cfg.Forget(state.Executor, state.Snapshot)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("session: %w", policy.ErrNotFound)
	case errors.Is(err, store.ErrBusy):
		return fmt.Errorf("session: %w", ErrSessionBusy)
	}
	return err
}

// expireSessions forgets sessions that nobody used for too long.
func (d *Daemon) expireSessions(ctx context.Context) {
	gone, err := d.cfg.Sessions.ExpireSessions(ctx, pruneAtOnce)
	if err != nil {
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("expire sessions", "error", err)
	}
	for _, s := range gone {
		rec := d.record(audit.SessionDropped)
		rec.Agent, rec.Detail = s.Agent, map[string]string{"session": s.Name, "of": s.Actor, "reason": "expired"}
		if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
			d.cfg.Logger.Error("record an expired session", "error", err)
			return
		}
	}
}
