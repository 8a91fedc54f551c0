// Package layers owns the merge of policies: which document is the parent of which, how each field of a
// lower document is combined with the documents above it, and the rule that no layer allows more than the
// layer above it. Ceilings (OrgPolicy, TeamPolicy) set bounds, and agents get grants. The result is one
// effective policy for each agent, which the compiler compiles like a single document.
//
// It rejects values that allow more than the layer above, and broken chains. A rejected value is not in the
// effective policy, so that one mistake gives one finding. The input policies are not changed. Package
// compiler and `ringd explain` call it.
package layers

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// Config is the input of [Merge]. The zero Config merges nothing.
type Config struct {
	// Policies are the decoded documents of one folder, in any order.
	Policies []schema.Policy
	// Now decides which exceptions have ended. At the zero time all exceptions have ended.
	Now time.Time
}

// Merged is the result of [Merge].
type Merged struct {
	// Effective holds a policy for each agent with a complete chain, in the order of the documents. A value
	// that comes from a ceiling has the ceiling's position, with Origin.Layer set. A document without layers
	// is unchanged.
	Effective []schema.Policy
	// Alone holds the documents without an effective policy: the ceilings, and agents with a broken chain.
	// Their own content can still be checked.
	Alone []schema.Policy
	Found schema.Diagnostics
}

// Merge merges every agent with its layers. Only the order of the results depends on the order of the
// documents.
func Merge(cfg Config) Merged {
	return merge(cfg, fields.Table())
}

// merge merges by a table of fields.
func merge(cfg Config, table []fields.Field) Merged {
	m := &merger{policies: cfg.Policies, now: cfg.Now, chains: chainsOf(cfg.Policies), folded: map[int]*ceiling{},
		rules: newRules(table)}
	m.out.Found = m.chains.Found
	for i := range m.policies {
		p := &m.policies[i]
		switch {
		case IsCeiling(p):
			m.ceiling(i)
			m.out.Alone = append(m.out.Alone, *p)
		case m.chains.Broken[i]:
			m.out.Alone = append(m.out.Alone, *p)
		case m.chains.Parents[i] < 0:
			m.out.Effective = append(m.out.Effective, m.excepted(i, *p))
		default:
			m.out.Effective = append(m.out.Effective, m.effective(i))
		}
	}
	return m.out
}

// merger is the state of one [Merge].
type merger struct {
	policies []schema.Policy
	chains   Chains
	now      time.Time
	folded   map[int]*ceiling
	rules    *rules
	out      Merged
}

// ceiling is a layer merged with all layers above it.
type ceiling struct {
	policy  schema.Policy // its origins name the layers
	network *reach        // computed from the policy at first use
}

// ceiling merges a layer with all layers above it. It returns nil if the chain of layers is broken.
func (m *merger) ceiling(i int) *ceiling {
	if c, done := m.folded[i]; done {
		return c
	}
	m.folded[i] = nil
	if m.chains.Broken[i] {
		return nil
	}
	own := labelled(m.policies[i])
	if up := m.chains.Parents[i]; up >= 0 {
		own = m.narrow(m.under(i, m.ceiling(up)), own, false)
	} else {
		own.Layers = []schema.Layer{layerOf(&own)}
	}
	m.out.Found = append(m.out.Found, checkExceptionGateways(m.written(i))...)
	if p := m.policies[i]; len(p.Spec.Exceptions) > 0 {
		m.out.Found = append(m.out.Found, checkExceptions(m.written(i), m.now)...)
		p = labelled(p)
		own = widenCeiling(own, &p)
	}
	m.folded[i] = &ceiling{policy: own}
	return m.folded[i]
}

// effective merges an agent with its layers.
func (m *merger) effective(i int) schema.Policy {
	own := m.policies[i]
	own.Origins = maps.Clone(own.Origins)
	return m.excepted(i, m.narrow(m.under(i, m.ceiling(m.chains.Parents[i])), own, true))
}

// written returns a document and its layers as their authors wrote them.
func (m *merger) written(i int) (c Chain) {
	for at := i; at >= 0; at = m.chains.Parents[at] {
		c = append(c, &m.policies[at])
	}
	slices.Reverse(c)
	return c
}

// under returns the ceiling for document i: the merged layers above it, widened by the document's own
// exceptions.
func (m *merger) under(i int, up *ceiling) *ceiling {
	p := m.policies[i]
	if len(p.Spec.Exceptions) == 0 {
		return up
	}
	if IsCeiling(&p) {
		p = labelled(p)
	}
	return &ceiling{policy: widenCeiling(up.policy, &p)}
}

// excepted adds the grants of exceptions to an agent.
func (m *merger) excepted(i int, effective schema.Policy) schema.Policy {
	c := m.written(i)
	m.out.Found = slices.Concat(m.out.Found, checkExceptions(c, m.now), checkExceptionGateways(c))
	return grantExceptions(effective, c)
}

// labelled returns a document whose origins name its layer.
func labelled(p schema.Policy) schema.Policy {
	name := LayerName(p.Kind, p.Metadata.Name)
	origins := make(map[string]schema.Origin, len(p.Origins))
	for path, o := range p.Origins {
		o.Layer = name
		origins[path] = o
	}
	p.Origins = origins
	return p
}

func layerOf(p *schema.Policy) schema.Layer {
	return schema.Layer{File: p.File, Kind: p.Kind, Metadata: p.Metadata}
}

// narrow merges a document with a ceiling. It modifies the document's origins, which must not be shared.
func (m *merger) narrow(up *ceiling, own schema.Policy, grants bool) schema.Policy {
	s := &step{up: up, parent: &up.policy, child: &own, grants: grants, rules: m.rules}
	own.Layers = append(slices.Clone(up.policy.Layers), layerOf(&own))
	s.mergeStruct(&own.Spec, &up.policy.Spec, site{"spec", "spec"})
	m.out.Found = append(m.out.Found, s.found...)
	return own
}

// shown returns a position with its layer: "org.yaml:3:5 (OrgPolicy acme)".
func shown(o schema.Origin) string {
	if o.Layer == "" {
		return o.Pos.String()
	}
	return fmt.Sprintf("%s (%s)", o.Pos, o.Layer)
}
