// Package layers owns how policies lie over each other: which document is above which,
// what each field of the language becomes when a lower document says it, and that no
// step gives more than the one above. Ceilings (OrgPolicy, TeamPolicy) bound, agents
// are granted, and what comes out is one effective policy for each agent, which the
// compiler compiles as it compiles one that stands alone.
//
// It refuses what is wider than the layer above, and a chain that is not whole. What
// was refused is not in the effective policy, so that one mistake is one finding. It is
// pure: values in, values out; the policies that come in are not changed.
package layers

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// Config is the input of Merge. The zero Config merges nothing.
type Config struct {
	// Policies are the decoded documents of one folder, in any order.
	Policies []schema.Policy
	// Now is when: by it exceptions end. At the zero time, which is none, they have.
	Now time.Time
}

// Merged is what became of the documents.
type Merged struct {
	// Effective holds a policy for each agent whose chain is whole, in the order of the
	// documents. A value that comes from a ceiling has the place of that ceiling, with
	// Origin.Layer set. A document without layers stands here as it was.
	Effective []schema.Policy
	// Alone holds what has no effective policy: the ceilings, and agents whose chain is
	// broken. Their own content can still be checked.
	Alone []schema.Policy
	Found schema.Diagnostics
}

// Merge puts every agent under its layers. The order of the documents does not matter
// for what comes out, but for the order of it.
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

// merger is the state of one Merge.
type merger struct {
	policies []schema.Policy
	chains   Chains
	now      time.Time
	folded   map[int]*ceiling
	rules    *rules
	out      Merged
}

// ceiling is a layer under everything above it.
type ceiling struct {
	policy  schema.Policy // its origins name the layers
	network *reach        // read from it when it is first needed
}

// ceiling folds a layer under those above it; nil where the chain is broken.
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

// effective puts an agent under its layers.
func (m *merger) effective(i int) schema.Policy {
	own := m.policies[i]
	own.Origins = maps.Clone(own.Origins)
	return m.excepted(i, m.narrow(m.under(i, m.ceiling(m.chains.Parents[i])), own, true))
}

// written is a document under its layers, as their authors wrote them.
func (m *merger) written(i int) (c Chain) {
	for at := i; at >= 0; at = m.chains.Parents[at] {
		c = append(c, &m.policies[at])
	}
	slices.Reverse(c)
	return c
}

// under is the ceiling that a document is measured by: that above it, with what the
// document's own exceptions lift.
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

// excepted gives an agent what it has by exceptions.
func (m *merger) excepted(i int, effective schema.Policy) schema.Policy {
	c := m.written(i)
	m.out.Found = slices.Concat(m.out.Found, checkExceptions(c, m.now), checkExceptionGateways(c))
	return grantExceptions(effective, c)
}

// labelled is a document whose origins say which layer they are.
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

// narrow puts a document under a ceiling. It owns the document's origins.
func (m *merger) narrow(up *ceiling, own schema.Policy, grants bool) schema.Policy {
	s := &step{up: up, parent: &up.policy, child: &own, grants: grants, rules: m.rules}
	own.Layers = append(slices.Clone(up.policy.Layers), layerOf(&own))
	s.mergeStruct(&own.Spec, &up.policy.Spec, site{"spec", "spec"})
	m.out.Found = append(m.out.Found, s.found...)
	return own
}

// shown is a place with its layer: "org.yaml:3:5 (OrgPolicy acme)".
func shown(o schema.Origin) string {
	if o.Layer == "" {
		return o.Pos.String()
	}
	return fmt.Sprintf("%s (%s)", o.Pos, o.Layer)
}
