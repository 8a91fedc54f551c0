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
	"github.com/ringd/ringd/schema/wire"
)

// sessionList lists and drops sessions, and returns their limits.
type sessionList struct {
	cfg     *Config
	policy  *policy.State
	health  *recordHealth
	budgets *requestBudgets
}

// SessionLimits returns the session limits of an agent under the policy in force, and the revision of that
// policy. Zero limits mean no sessions.
func (d *sessionList) SessionLimits(agent string) (waiting.SessionLimits, string) {
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

// maxSessions is the number of sessions in a list. The list has the sessions that were used last.
const maxSessions = 1000

// ListSessions lists the sessions of actor, or all for one that sees all.
func (d *sessionList) ListSessions(ctx context.Context, actor Actor) (wire.SessionList, error) {
	of := actor.Name
	if actor.All {
		of = ""
	} else if of == "" {
		return wire.SessionList{}, invalid("", "the request has no actor")
	}
	rows, err := d.cfg.Store.Sessions(ctx, of, maxSessions)
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

// DropSession deletes a session of owner. An empty owner means actor. Errors: ErrNotFound, ErrSessionBusy,
// ErrUnavailable, faults.
func (d *sessionList) DropSession(ctx context.Context, actor Actor, owner, name string) error {
	if owner == "" {
		owner = actor.Name
	}
	if !actor.sees(owner) || len(name) > MaxNames {
		return fmt.Errorf("session: %w", policy.ErrNotFound)
	}
	if err := d.health.Writable(); err != nil {
		return err
	}
	if err := d.budgets.spend(ctx, bucketKey{actor.Name, bucketDecisions}, 1); err != nil {
		return err
	}
	rec := d.policy.Record(audit.SessionDropped)
	rec.Actor, rec.Detail = actor.Name, map[string]string{"session": name, "of": owner}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
		return err
	}
	state, openErr := d.cfg.Waiting.Keeper.StateOf(ctx, owner, name)
	err := d.cfg.Store.DropSession(ctx, owner, name)
	if err == nil && openErr == nil &&
		d.cfg.Forget != nil { // a state that cannot be opened refers to no guest
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

// expireSessions deletes sessions that were not used for too long.
func (d *sessionList) expireSessions(ctx context.Context) {
	gone, err := d.cfg.Store.ExpireSessions(ctx, pruneAtOnce)
	if err != nil {
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("expire sessions", "error", err)
	}
	for _, s := range gone {
		rec := d.policy.Record(audit.SessionDropped)
		rec.Agent, rec.Detail = s.Agent, map[string]string{"session": s.Name, "of": s.Actor, "reason": "expired"}
		if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
			d.cfg.Logger.Error("record an expired session", "error", err)
			return
		}
	}
}
