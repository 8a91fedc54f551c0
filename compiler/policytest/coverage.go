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

// Coverage is which rules of some agents decided a case. A rule that several agents
// have, of a layer above them, is one.
type Coverage struct {
	lines map[profiles.Rule]*Line
}

// NewCoverage takes in the rules of agents: what grants and what denies, in every list
// whose entries can decide an action. What no action asks about (globals, builtins and
// limits) is not among them.
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
	r = plain(r)
	if _, ok := c.lines[r]; ok {
		return
	}
	c.lines[r] = &Line{Rule: r, Denies: denies}
}

// plain is a rule by its place alone.
func plain(r profiles.Rule) profiles.Rule {
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

// bridge counts a call that asks as one of the approval's line, and a call that need
// not ask as one of the bridge's.
func (c *Coverage) bridge(b *profiles.Bridge) {
	if b.Approval == nil || b.Approval.When != "" {
		c.add(b.Rule, false)
	}
	if b.Approval != nil {
		c.add(b.Approval.Rule, false)
	}
}

// Mark notes that a decision named a rule. What denies is covered by what it denied, and
// what grants by what was granted, or asked of people: a call too many shows nothing of
// the grant. Of what mode audit lets through, the rule counts that would have denied it.
func (c *Coverage) Mark(got profiles.Decision) {
	verdict, rule := got.Verdict, got.Rule
	if got.Would != nil {
		verdict, rule = got.Would.Verdict, got.Would.Rule
	}
	if rule == nil {
		return
	}
	if l, ok := c.lines[plain(*rule)]; ok && l.Denies == (verdict == profiles.Deny) {
		l.Covered = true
	}
}

// Use notes grants that an action used, beside the one that its decision names.
func (c *Coverage) Use(rules []profiles.Rule) {
	for _, r := range rules {
		if l, ok := c.lines[plain(r)]; ok && !l.Denies {
			l.Covered = true
		}
	}
}

// Lines are all rules by file and line.
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

// Share is how many of some lines are covered.
type Share struct {
	Covered int `json:"covered"`
	All     int `json:"all"`
}

// Percent is the share rounded down, so that 100 means all; of nothing it is 100.
func (s Share) Percent() int {
	if s.All == 0 {
		return 100
	}
	return s.Covered * 100 / s.All
}

// Count adds one to all, and to what is covered.
func (s *Share) Count(covered bool) {
	s.All++
	if covered {
		s.Covered++
	}
}
