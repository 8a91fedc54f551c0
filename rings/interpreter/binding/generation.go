// Package binding decides what binds a call of a run: the grants of the policies that the
// run is bound by and of the one in force, their schemas and limits, and whether people have
// to approve it. It refuses a call that one of these policies does not grant. The
// interpreter ring asks it, counts what is used and performs the calls.
package binding

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Generation is one compiled set with all that deciding needs. It is immutable. The nil
// Generation denies.
type Generation struct {
	Number   int64
	Revision string
	Open     bool // false for the closed generation, which denies everything
	Modules  map[string]profiles.Module

	places  Places
	agents  map[string]*Agent
	closed  map[string]string // why an executor refuses everything, by its name
	schemas jsonvalue.Known
}

// Places are the folders that $WORKSPACE and ~ stand for in a policy, and the time. An empty
// folder grants nothing there. At a zero time exceptions grant nothing.
type Places struct {
	Workspace, Home string
	Now             time.Time
}

// Agent is one agent of a generation, or of a pause.
type Agent struct {
	Profile  profiles.Agent
	Revision string

	decider *profiles.Decider
	grants  map[string]*Grant
}

// Grant is a bridge with its validators, or the grant of an act.
type Grant struct {
	profiles.Bridge
	Revision  string
	Brings    profiles.Powers   // powers that a call of it brings to a run
	arguments *jsonvalue.Schema // nil accepts everything, like result
	result    *jsonvalue.Schema
	decision  profiles.Decision // of an act: allow or ask
	guards    []*profiles.Guardrail
}

// Exception returns the ID of the exception that grants an act, or an empty string.
func (gr *Grant) Exception() string { return gr.decision.Exception }

// Agent returns the agent, or nil if the generation has none of that name.
func (g *Generation) Agent(name string) *Agent {
	if g == nil || !g.Open {
		return nil
	}
	return g.agents[name]
}

// Closed returns why an executor refuses everything, if it does.
func (g *Generation) Closed(executor string) (reason string, closed bool) {
	reason, closed = g.closed[executor]
	return reason, closed
}

// Refusal returns the decision for everything that an agent asks that g does not know. A
// guest may read it, so it does not name the other agents.
func (g *Generation) Refusal(agent string) profiles.Decision {
	if g == nil || !g.Open {
		return profiles.Decision{Code: profiles.CodeNoPolicy, Reason: "no valid policy is in force"}
	}
	return profiles.Decision{Code: profiles.CodeUnknownAgent, Revision: g.Revision,
		Reason: fmt.Sprintf("the policy has no agent %q", canonjson.Clip(agent))}
}

// New indexes set. A nil set makes the closed generation. If a schema has the same text as in the generation
// before, its validator is reused, so that the same schema has the same pointer in all generations.
func New(ctx context.Context, set *profiles.Set, number int64, before *Generation, at Places) (*Generation, error) {
	g := &Generation{Number: number, closed: map[string]string{}, schemas: jsonvalue.Known{}, places: at}
	if set == nil {
		return g, nil
	}
	if set.Format != profiles.Format {
		return nil, fmt.Errorf("prepare set: format %q is not %s", set.Format, profiles.Format)
	}
	g.Open, g.Revision, g.Modules = true, set.Revision, maps.Clone(set.Modules)
	g.agents = make(map[string]*Agent, len(set.Agents))
	for name, profile := range set.Agents {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("prepare set: %w", context.Cause(ctx))
		}
		a, err := newAgent(profile, set.Revision, g.schemas, before.known(), at)
		if err != nil {
			return nil, fmt.Errorf("prepare agent %s: %w", name, err)
		}
		g.agents[name] = a
	}
	return g, nil
}

// known returns the validators that another generation may use.
func (g *Generation) known() jsonvalue.Known {
	if g == nil {
		return nil
	}
	return g.schemas
}

// newAgent indexes one profile. Validators that are in neither known nor old are compiled.
func newAgent(profile profiles.Agent, revision string, known, old jsonvalue.Known, at Places) (*Agent, error) {
	a := &Agent{Profile: profile, Revision: revision, grants: make(map[string]*Grant, len(profile.Bridges)),
		decider: profiles.NewDecider(profile, revision,
			profiles.Environment{Workspace: at.Workspace, Home: at.Home, Now: at.Now})}
	guards := guardsOf(&a.Profile)
	for bridge := range profile.Bridges {
		b, ok := a.decider.BridgeGrant(bridge)
		if !ok {
			continue
		}
		gr := &Grant{Bridge: b, Revision: revision, Brings: powers.OfBridge(profile, b), guards: guards}
		var err error
		if gr.arguments, err = known.Compile(old, append([]json.RawMessage{b.Arguments}, b.Also...)...); err != nil {
			return nil, fmt.Errorf("arguments of bridge %s: %w", bridge, err)
		}
		if gr.result, err = known.Compile(old, append([]json.RawMessage{b.Result}, b.AlsoResult...)...); err != nil {
			return nil, fmt.Errorf("result of bridge %s: %w", bridge, err)
		}
		a.grants[bridge] = gr
	}
	return a, nil
}

// WithClosed returns a copy of g in which the executor is closed.
func (g *Generation) WithClosed(executor, reason string) *Generation {
	c := *g
	c.closed = map[string]string{executor: reason} // the map of g is nil before the first commit
	for name, why := range g.closed {
		if name != executor {
			c.closed[name] = why
		}
	}
	return &c
}
