package policytest

import (
	"cmp"
	"slices"

	"github.com/ringd/ringd/profiles"
)

// Line is one rule of a set that can decide an action.
type Line struct {
	Rule    profiles.Rule `json:"rule"`
	Denies  bool          `json:"denies"`
	Covered bool          `json:"covered"`
}

// Coverage records which rules of some agents decided a case. A rule of a layer that several agents have is
// counted once.
type Coverage struct {
	lines map[profiles.Rule]*Line
}

// NewCoverage collects the rules of agents: grants and denials in every list whose entries can decide an
// action. Globals, builtins and limits are not included, because no action asks for them.
func NewCoverage(agents ...profiles.Agent) *Coverage {
	c := &Coverage{lines: map[profiles.Rule]*Line{}}
	for i := range agents {
		a := enforced(agents[i])
		c.agent(&a)
	}
	return c
}

func (c *Coverage) add(r profiles.Rule, denies bool) {
	if r == (profiles.Rule{}) {
		return
	}
	r = positionOnly(r)
	if _, ok := c.lines[r]; ok {
		return
	}
	c.lines[r] = &Line{Rule: r, Denies: denies}
}

// positionOnly returns a rule with only its position.
func positionOnly(r profiles.Rule) profiles.Rule {
	r.Layer = ""
	return r
}

func (c *Coverage) agent(a *profiles.Agent) {
	if a.JS != nil {
		c.imports(&a.JS.Imports)
	}
	if a.Python != nil {
		c.imports(&a.Python.Imports)
	}
	if a.Shell != nil {
		c.shell(a.Shell)
	}
	for _, b := range a.Bridges {
		c.bridge(&b)
	}
	for _, f := range a.Files.Read {
		c.add(f.Rule, false)
	}
	for _, f := range a.Files.Write {
		c.add(f.Rule, false)
	}
	for _, f := range a.Files.Deny {
		c.add(f.Rule, true)
	}
	if a.Egress.Mode == profiles.EgressAllowlist {
		for _, e := range a.Egress.Allow {
			c.add(e.Rule, false)
		}
		for _, e := range a.Egress.Deny {
			c.add(e.Rule, true)
		}
	}
	if a.Egress.Mode == profiles.EgressAllowlist || a.Egress.Mode == profiles.EgressGatewayOnly {
		for _, g := range a.Egress.Gateways {
			c.add(g.Rule, false)
		}
	}
}

func (c *Coverage) imports(im *profiles.Imports) {
	for _, r := range im.Allow {
		c.add(r.Rule, false)
	}
	if im.Any != nil {
		c.add(*im.Any, false)
	}
	for _, r := range im.Deny {
		c.add(r.Rule, true)
	}
	for _, r := range im.Process {
		c.add(r.Rule, true)
	}
}

func (c *Coverage) shell(s *profiles.Shell) {
	for _, b := range s.Binaries {
		c.add(b.Rule, false)
		for _, p := range b.Allow {
			c.add(p.Rule, false)
		}
		for _, p := range b.Deny {
			c.add(p.Rule, true)
		}
		for _, a := range b.Ask {
			c.add(a.Approval.Rule, false)
		}
	}
	for _, p := range s.DeniedPatterns {
		c.add(p.Rule, true)
	}
}

// bridge adds two rules for a bridge with an approval. A call that needs the approval covers the rule of the
// approval, and any other call covers the rule of the bridge.
func (c *Coverage) bridge(b *profiles.Bridge) {
	if b.Approval == nil || b.Approval.When != "" {
		c.add(b.Rule, false)
	}
	if b.Approval != nil {
		c.add(b.Approval.Rule, false)
	}
}

// Mark records that a decision named a rule. A denial covers a denying rule. A grant or an approval covers a
// granting rule. A call above the limit covers nothing. In mode audit, the rule that would have denied is
// covered.
func (c *Coverage) Mark(got profiles.Decision) {
	verdict, rule := got.Verdict, got.Rule
	if got.Would != nil {
		verdict, rule = got.Would.Verdict, got.Would.Rule
	}
	if rule == nil {
		return
	}
	if l, ok := c.lines[positionOnly(*rule)]; ok && l.Denies == (verdict == profiles.Deny) {
		l.Covered = true
	}
}

// Use records grants that an action used, in addition to the one that its decision names.
func (c *Coverage) Use(rules []profiles.Rule) {
	for _, r := range rules {
		if l, ok := c.lines[positionOnly(r)]; ok && !l.Denies {
			l.Covered = true
		}
	}
}

// Lines returns all rules by file and line.
func (c *Coverage) Lines() []Line {
	out := make([]Line, 0, len(c.lines))
	for _, l := range c.lines {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Rule.File, b.Rule.File), cmp.Compare(a.Rule.Line, b.Rule.Line),
			cmp.Compare(a.Rule.Column, b.Rule.Column), cmp.Compare(a.Rule.Path, b.Rule.Path))
	})
	return out
}

// Share is the number of covered lines among some lines.
type Share struct {
	Covered int `json:"covered"`
	All     int `json:"all"`
}

// Percent returns the share rounded down, so that 100 means all. Without lines it is 100.
func (s Share) Percent() int {
	if s.All == 0 {
		return 100
	}
	return s.Covered * 100 / s.All
}

// Count adds one line, covered or not.
func (s *Share) Count(covered bool) {
	s.All++
	if covered {
		s.Covered++
	}
}
