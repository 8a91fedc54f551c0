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

// ApplyPush brings a verified push into force, or refuses it as a whole; see policy.State.ApplyPush.
func (d *pushes) ApplyPush(ctx context.Context, p syncer.Push) error {
	return d.policy.ApplyPush(ctx, p)
}

// RejectPush records a push that could not be verified.
func (d *pushes) RejectPush(ctx context.Context, digest string, findings schema.Diagnostics, why string) error {
	return d.policy.RejectPush(ctx, digest, findings, why)
}

// SyncLost records that the source of pushes is gone.
func (d *pushes) SyncLost(ctx context.Context, why string) error { return d.policy.SyncLost(ctx, why) }

// Sink returns the receiver of a syncer's findings. One sink serves one syncer.
func (d *pushes) Sink() syncer.Sink { return d.policy.Sink() }

// Decide decides actions of one agent under the generation in force, in order; see policy.State.Decide. It
// has one more error, ErrTooFast.
func (d *pushes) Decide(
	ctx context.Context,
	actor Actor,
	agent string,
	actions []json.RawMessage,
) ([]profiles.Decision, error) {
	if len(actions) <= policy.MaxActions { // more are refused unrecorded
		if err := d.budgets.spend(ctx, bucketKey{actor.Name, bucketDecisions}, max(len(actions), 1)); err != nil {
			return nil, err
		}
	}
	return d.policy.Decide(ctx, actor.Name, agent, actions)
}

// Profile returns what an agent may do in an executor under the generation in force. ErrNotFound means that
// there is no generation, no such agent, or no grant of that executor.
func (d *pushes) Profile(agent, executor string) (wire.Profile, error) {
	return d.policy.Profile(agent, executor)
}

// Turned waits until the revision in force is another one than from, at most the time wait, and returns it. An
// empty revision means that no policy is in force. The only error is that of ctx.
func (d *pushes) Turned(ctx context.Context, from string, wait time.Duration) (string, error) {
	return d.policy.Turned(ctx, from, wait)
}

// AcceptTime accepts the time of this host as the latest one seen; see policy.State.AcceptTime.
func (d *pushes) AcceptTime(ctx context.Context, actor, reason string) (wire.Clock, error) {
	return d.policy.AcceptTime(ctx, actor, reason)
}

// Enforced returns a decider for an agent under the policy in force. It denies if no policy is in force.
func (d *pushes) Enforced(agent string) *profiles.Decider { return d.policy.Enforced(agent) }

// Set returns the set in force, or nil. The set must not be changed.
func (d *pushes) Set() *profiles.Set { return d.policy.Set() }
