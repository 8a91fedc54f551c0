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

// MaxActions is how many actions one Decide takes.
const MaxActions = 1000

// Decide answers actions for one agent under the generation in force, in order.
// Nothing runs, opens or resolves. A text that is no valid action is denied as
// action.malformed. Every decision is recorded before it is told. Errors:
// *InvalidError, records.ErrUnavailable.
func (d *Holder) Decide(ctx context.Context, actor, agent string, actions []json.RawMessage) ([]profiles.Decision, error) {
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
	g := d.holds()
	decider := d.decider(g, agent).At(d.cfg.Clock.Now())
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

// holds is the generation in force, unless its push has expired: closing it may have to
// wait for another push that is being applied, and nothing is granted by it meanwhile.
func (d *Holder) holds() *Generation {
	g := d.inForce.Load()
	if d.expired(g) != nil {
		return nil
	}
	return g
}

// decider returns the decider of an agent; for no generation and an unknown
// agent one that denies and says why.
func (d *Holder) decider(g *Generation, agent string) *profiles.Decider {
	if g == nil {
		var none *profiles.Set
		return none.Decider(agent, d.cfg.Environment)
	}
	if known, ok := g.deciders[agent]; ok {
		return known
	}
	return g.Set.Decider(agent, d.cfg.Environment)
}

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

// Profile returns what an agent may do in an executor under the generation in
// force. ErrNotFound: no generation, agent or grant of that executor.
func (d *Holder) Profile(agent, executor string) (wire.Profile, error) {
	if locked := d.cfg.Lock.Denied("profile", ""); locked != nil {
		return wire.Profile{}, locked
	}
	g := d.holds()
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
		if reaches(b, executor) {
			out.Bridges[name] = b
		}
	}
	return out, nil
}

func reaches(b profiles.Bridge, executor string) bool {
	for _, e := range b.Executors {
		if e == executor {
			return true
		}
	}
	return len(b.Executors) == 0
}

// Turned waits until the revision in force is not the given one, at most so
// long, and returns it; "" is none. An error is ctx's.
func (d *Holder) Turned(ctx context.Context, from string, wait time.Duration) (string, error) {
	limit := d.cfg.Clock.After(wait)
	for {
		d.mu.Lock()
		turned := d.turned
		d.mu.Unlock()
		now := ""
		if g := d.inForce.Load(); g != nil && d.cfg.Lock.State() == nil {
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

// Enforced decides for an agent as the policy in force does; it denies when there is none.
func (d *Holder) Enforced(agent string) *profiles.Decider { return d.decider(d.holds(), agent) }
