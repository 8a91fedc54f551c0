package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// answers decides actions, and answers questions about the generation in force.
type answers struct {
	cfg       *Config
	situation *situation
	active    *activation
}

// Decide decides actions of one agent under the generation in force, in order. Nothing runs, opens or
// resolves. A text that is no valid action is denied as action.malformed. Every decision is recorded before
// it is returned. Errors: *InvalidError, records.ErrUnavailable.
func (d *answers) Decide(
	ctx context.Context,
	actor, agent string,
	actions []json.RawMessage,
) ([]profiles.Decision, error) {
	switch {
	case actor == "":
		return nil, &InvalidError{"", "the request has no actor"}
	case len(actions) == 0:
		return nil, &InvalidError{"", "no action to decide"}
	case len(actions) > MaxActions:
		return nil, &InvalidError{"", fmt.Sprintf("more than %d actions", MaxActions)}
	}
	if agent == "" {
		agent = "default"
	}
	g := d.active.unexpired()
	decider := d.active.decider(g, agent).At(d.cfg.Clock.Now())
	out := make([]profiles.Decision, len(actions))
	for i, raw := range actions {
		kind := "malformed"
		action, err := profiles.DecodeAction(raw)
		if err != nil {
			out[i] = profiles.Malformed(err)
		} else {
			out[i], kind = decider.Decide(action), kindOf(action)
		}
		if locked := d.cfg.Lock.Denied(kind, ""); locked != nil {
			out[i] = locked.Decision
		}
		rec := audit.Record{Kind: audit.ActionDecided, Actor: actor, Agent: agent, Capability: kind,
			Digest: audit.Digest(raw), Decision: audit.Decided(out[i])}
		if g != nil {
			rec.Generation, rec.Revision = g.Number, g.Revision
			out[i].Revision = g.Revision
		}
		if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Profile returns what an agent may do in an executor under the generation in force. ErrNotFound means that
// there is no generation, no such agent, or no grant of that executor.
func (d *answers) Profile(agent, executor string) (wire.Profile, error) {
	if locked := d.cfg.Lock.Denied("profile", ""); locked != nil {
		return wire.Profile{}, locked
	}
	g := d.active.unexpired()
	if g == nil {
		return wire.Profile{}, fmt.Errorf("agent %s: no policy is in force: %w", agent, ErrNotFound)
	}
	a, ok := g.Set.Agent(agent)
	if !ok {
		return wire.Profile{}, fmt.Errorf("agent %s: %w", agent, ErrNotFound)
	}
	out := wire.Profile{Revision: g.Revision, Agent: agent, Executor: executor, Policy: a.Policy, MinTier: a.MinTier,
		Bridges: map[string]profiles.Bridge{}, Files: a.Files, Egress: a.Egress, Limits: a.Limits, Sessions: a.Sessions}
	granted := false
	switch executor {
	case profiles.ExecutorJS:
		out.JS, granted = a.JS, a.JS != nil
	case profiles.ExecutorPython:
		out.Python, granted = a.Python, a.Python != nil
	case profiles.ExecutorShell:
		out.Shell, granted = a.Shell, a.Shell != nil
	}
	if !granted {
		return wire.Profile{}, fmt.Errorf("agent %s, executor %s: %w", agent, executor, ErrNotFound)
	}
	for name, b := range a.Bridges {
		if bridgeAllows(b, executor) {
			out.Bridges[name] = b
		}
	}
	return out, nil
}

// Turned waits until the revision in force is another one than from, at most the time wait, and returns it. An
// empty revision means that no policy is in force. The only error is that of ctx.
func (d *answers) Turned(ctx context.Context, from string, wait time.Duration) (string, error) {
	limit := d.cfg.Clock.After(wait)
	for {
		d.situation.mu.Lock()
		turned := d.situation.turned
		d.situation.mu.Unlock()
		now := ""
		if g := d.active.inForce.Load(); g != nil && d.cfg.Lock.State() == nil {
			now = g.Revision
		}
		if now != from || wait <= 0 {
			return now, nil
		}
		select {
		case <-turned:
		case <-limit:
			return now, nil
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// Enforced returns a decider for an agent under the policy in force. It denies if no policy is in force.
func (d *answers) Enforced(agent string) *profiles.Decider {
	return d.active.decider(d.active.unexpired(), agent)
}

// Open returns an error if an executor is closed: without a generation all are, and an executor that rejected
// its profile is.
func (d *answers) Open(g *Generation, executor string) error {
	over := d.active.expired(g)
	d.situation.mu.Lock()
	defer d.situation.mu.Unlock()
	deny := func(code profiles.Code, reason string) error {
		dec := profiles.Decision{Code: code, Reason: reason}
		if g != nil {
			dec.Revision = g.Revision
		}
		return &profiles.Denial{Capability: "executor:" + executor, Decision: dec}
	}
	if locked := d.cfg.Lock.Denied("executor:"+executor, ""); locked != nil {
		return locked
	}
	switch {
	case g == nil && d.situation.stale != nil:
		return deny(profiles.CodeClosed, d.situation.stale.Message)
	case g == nil:
		return deny(profiles.CodeNoPolicy, "no valid policy is in force")
	}
	if over != nil {
		return deny(profiles.CodeClosed, over.Error())
	}
	for _, name := range []string{executor, ""} {
		if c, ok := d.situation.closedBy[name]; ok {
			return deny(profiles.CodeClosed, "the executor is closed: "+c.Message)
		}
	}
	return nil
}

// MaxActions is the maximum number of actions of one Decide.
const MaxActions = 1000

func kindOf(a profiles.Action) string {
	switch {
	case a.Shell != nil:
		return "shell"
	case a.Import != nil:
		return "import"
	case a.Egress != nil:
		return "egress"
	case a.Bridge != nil:
		return "bridge"
	case a.File != nil:
		return "file"
	case a.Exec != nil:
		return "exec"
	case a.Variable != nil:
		return "variable"
	default:
		return "malformed"
	}
}

func bridgeAllows(b profiles.Bridge, executor string) bool {
	for _, e := range b.Executors {
		if e == executor {
			return true
		}
	}
	return len(b.Executors) == 0
}
