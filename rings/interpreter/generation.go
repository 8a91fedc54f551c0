package interpreter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// generation is one compiled set with all that deciding needs. It is immutable;
// the nil generation denies.
type generation struct {
	number   int64
	revision string
	open     bool // false: the closed generation
	agents   map[string]*agent
	modules  map[string]profiles.Module
	closed   map[string]string // executors that refuse everything -> why
	schemas  map[string]*shape.Schema
}

// agent is one agent of a generation.
type agent struct {
	profile profiles.Agent
	decider *profiles.Decider
	grants  map[string]*grant
}

// grant is a bridge with its validators; nil ones accept everything.
type grant struct {
	profiles.Bridge
	arguments, result *shape.Schema
}

// Preparer is an Executor that has to look at a set before it is in force, and
// may reject it. Prepare must change nothing that a program could notice.
type Preparer interface {
	Prepare(ctx context.Context, set *profiles.Set) error
}

// agentOf returns the agent, or nil when the generation knows none.
func (g *generation) agentOf(name string) *agent {
	if g == nil || !g.open {
		return nil
	}
	return g.agents[name]
}

// refusal is the decision for everything that an agent unknown to g asks.
func (g *generation) refusal() profiles.Decision {
	if g == nil || !g.open {
		d := profiles.Decision{Code: profiles.CodeNoPolicy, Reason: "no valid policy is in force"}
		return d
	}
	return profiles.Decision{Code: profiles.CodeUnknownAgent, Reason: "the policy has no such agent", Revision: g.revision}
}

// newGeneration indexes set. Validators are taken from before where the text is
// the same, so that one pointer means one schema across generations.
func newGeneration(ctx context.Context, set *profiles.Set, number int64, before *generation) (*generation, error) {
	g := &generation{number: number, closed: map[string]string{}, schemas: map[string]*shape.Schema{}}
	if set == nil {
		return g, nil
	}
	if set.Format != profiles.Format {
		return nil, fmt.Errorf("prepare set: format %q is not %s", set.Format, profiles.Format)
	}
	g.open, g.revision, g.modules = true, set.Revision, maps.Clone(set.Modules)
	g.agents = make(map[string]*agent, len(set.Agents))
	for name, profile := range set.Agents {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("prepare set: %w", context.Cause(ctx))
		}
		a := &agent{profile: profile, grants: make(map[string]*grant, len(profile.Bridges)),
			decider: set.Decider(name, profiles.Environment{})}
		for bridge := range profile.Bridges {
			b, ok := a.decider.BridgeGrant(bridge)
			if !ok {
				continue
			}
			gr := &grant{Bridge: b}
			var err error
			if gr.arguments, err = g.schema(before, append([]json.RawMessage{b.Arguments}, b.Also...)...); err != nil {
				return nil, fmt.Errorf("prepare agent %s: arguments of bridge %s: %w", name, bridge, err)
			}
			if gr.result, err = g.schema(before, b.Result); err != nil {
				return nil, fmt.Errorf("prepare agent %s: result of bridge %s: %w", name, bridge, err)
			}
			a.grants[bridge] = gr
		}
		g.agents[name] = a
	}
	return g, nil
}

// schema compiles the texts that are there, or returns the validator that it
// already has for them. Nil: there is none.
func (g *generation) schema(before *generation, texts ...json.RawMessage) (*shape.Schema, error) {
	all := make([][]byte, 0, len(texts))
	for _, text := range texts {
		if len(text) > 0 {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	key := string(bytes.Join(all, []byte{'\n'})) // canonical JSON has no line ends
	if s := g.schemas[key]; s != nil {
		return s, nil
	}
	if before != nil && before.schemas[key] != nil {
		g.schemas[key] = before.schemas[key]
		return before.schemas[key], nil
	}
	s, err := shape.Compile(all...)
	if err != nil {
		return nil, err
	}
	g.schemas[key] = s
	return s, nil
}

// withClosed returns a copy of g in which the executor is closed.
func (g *generation) withClosed(executor, reason string) *generation {
	c := *g
	c.closed = map[string]string{executor: reason} // the generation before the first commit has none
	for name, why := range g.closed {
		if name != executor {
			c.closed[name] = why
		}
	}
	return &c
}
