package daemon

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// pushes brings pushes into force, and answers questions about the policy in force.
type pushes struct {
	policy  *policy.State
	budgets *requestBudgets
}

// ApplyPush brings a verified push in force, or refuses it whole; see
// policy.State.ApplyPush.
func (d *pushes) ApplyPush(ctx context.Context, p syncer.Push) error {
	return d.policy.ApplyPush(ctx, p)
}

// RejectPush takes note of a push that could not be verified.
func (d *pushes) RejectPush(ctx context.Context, digest string, findings schema.Diagnostics, why string) error {
	return d.policy.RejectPush(ctx, digest, findings, why)
}

// SyncLost takes note that the place pushes come from is gone.
func (d *pushes) SyncLost(ctx context.Context, why string) error { return d.policy.SyncLost(ctx, why) }

// Sink returns what the syncer hands its findings to. One sink serves one
// syncer.
func (d *pushes) Sink() syncer.Sink { return d.policy.Sink() }

// Decide answers actions for one agent under the generation in force, in order;
// see policy.State.Decide. Beside its errors: ErrTooFast.
func (d *pushes) Decide(
	ctx context.Context,
	actor Actor,
	agent string,
	actions []json.RawMessage,
) ([]profiles.Decision, error) {
	if len(actions) <= policy.MaxActions { // more are refused unrecorded
		if err := d.budgets.spend(ctx, purse{actor.Name, ofRequests}, max(len(actions), 1)); err != nil {
			return nil, err
		}
	}
	return d.policy.Decide(ctx, actor.Name, agent, actions)
}

// Profile returns what an agent may do in an executor under the generation in
// force. ErrNotFound: no generation, agent or grant of that executor.
func (d *pushes) Profile(agent, executor string) (wire.Profile, error) {
	return d.policy.Profile(agent, executor)
}

// Turned waits until the revision in force is not the given one, at most so
// long, and returns it; "" is none. An error is ctx's.
func (d *pushes) Turned(ctx context.Context, from string, wait time.Duration) (string, error) {
	return d.policy.Turned(ctx, from, wait)
}

// AcceptTime makes the time of this host the latest that it has seen; see
// policy.State.AcceptTime.
func (d *pushes) AcceptTime(ctx context.Context, actor, reason string) (wire.Clock, error) {
	return d.policy.AcceptTime(ctx, actor, reason)
}

// Enforced decides for an agent as the policy in force does; it denies when there is none.
func (d *pushes) Enforced(agent string) *profiles.Decider { return d.policy.Enforced(agent) }

// Set is the set in force, which nobody changes; nil: none is.
func (d *pushes) Set() *profiles.Set { return d.policy.Set() }
