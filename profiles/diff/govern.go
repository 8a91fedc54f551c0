package diff

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
)

func (c *comparer) mode(a, b *profiles.Agent) {
	name := func(m string) string { return fallback(m, "enforce") }
	if name(a.Mode) == name(b.Mode) {
		return
	}
	ch := Change{Kind: Changed, Capability: "mode", Field: "mode", Old: name(a.Mode), New: name(b.Mode), OldRule: orRule(&a.ModeRule, &a.Rule), NewRule: orRule(&b.ModeRule, &b.Rule),
		Says: "what the policy refuses is only recorded now, and happens", Why: "audit is weaker than enforce"}
	switch {
	case name(b.Mode) == "enforce":
		ch.Class, ch.Says, ch.Why = Narrows, "what the policy refuses is refused now", ""
	case b.Mode != profiles.ModeAudit:
		ch.Undecided, ch.Says, ch.Why = true, "the mode is "+b.Mode+" now", "the mode is not known"
	}
	c.add(ch)
}

// ranked compares words that are ordered from strict to loose.
func (c *comparer) ranked(field, capability, what string, order []string, a, b string, old, now *profiles.Rule) {
	if a == b {
		return
	}
	was, is := slices.Index(order, a), slices.Index(order, b)
	ch := Change{Kind: Changed, Capability: capability, Field: field, Old: fallback(a, "default"), New: fallback(b, "default"), OldRule: old, NewRule: now,
		Says: what + " is " + fallback(b, "the default") + " now, and was " + fallback(a, "the default")}
	switch {
	case was < 0 || is < 0:
		ch.Undecided, ch.Why = true, "one of the two is not known"
	case is < was:
		ch.Class = Narrows
	}
	c.add(ch)
}

func (c *comparer) ruleOfTwo(a, b *profiles.Agent) {
	x, y := a.RuleOfTwo, b.RuleOfTwo
	const capability, field = "ruleOfTwo", "ruleOfTwo"
	switch {
	case x == nil && y == nil, c.fresh:
		return
	case x == nil:
		c.add(Change{Kind: Added, Class: Narrows, Capability: capability, Field: field, New: rule(y), NewRule: &y.Rule,
			Says: "sensitive data, untrusted input and external effects may no longer meet in a " + fallback(y.Scope, "run")})
	case y == nil:
		c.add(Change{Kind: Removed, Capability: capability, Field: field, Old: rule(x), OldRule: &x.Rule,
			Says: "sensitive data, untrusted input and external effects may meet: the rule of two is gone"})
	default:
		c.ranked(field+".mode", capability, "the rule of two", []string{"enforce", "dynamic", "report"}, x.Mode, y.Mode, &x.Rule, &y.Rule)
		c.ranked(field+".onThree", capability, "what follows on three powers", []string{"deny", "require-approval"}, x.OnThree, y.OnThree, &x.Rule, &y.Rule)
		c.ranked(field+".scope", capability, "what the rule of two looks at", []string{"session", "run"}, x.Scope, y.Scope, &x.Rule, &y.Rule)
		c.residue(field, capability, x, y)
	}
}

func rule(r *profiles.RuleOfTwo) string {
	return strings.TrimSpace(fallback(r.Mode, "enforce") + " " + r.OnThree + " " + r.Scope)
}

// powers compares what is said about a grant. They bind through the rule of two:
// fewer of them let more of them meet.
func (c *comparer) powers(field, capability, of string, a, b profiles.Powers, old, now *profiles.Rule) {
	if a == b {
		c.residue(field, capability, &a, &b)
		return
	}
	fewer := a.Sensitive && !b.Sensitive || a.Untrusted && !b.Untrusted || a.External && !b.External
	ch := Change{Kind: Changed, Class: Narrows, Capability: capability, Field: field, Old: comparePowers(a), New: comparePowers(b), OldRule: old, NewRule: now,
		Says: "the powers of " + of + " are " + comparePowers(b) + " now, and were " + comparePowers(a), Why: "the rule of two counts more of them"}
	if fewer {
		ch.Class, ch.Why = Widens, "the rule of two counts fewer of them, so more may meet"
	}
	c.add(ch)
	c.residue(field, capability, &a, &b)
}

func (c *comparer) exceptions(a, b *profiles.Agent) {
	old, now := map[string]*profiles.Exception{}, map[string]*profiles.Exception{}
	for i := range a.Exceptions {
		old[a.Exceptions[i].ID] = &a.Exceptions[i]
	}
	for i := range b.Exceptions {
		now[b.Exceptions[i].ID] = &b.Exceptions[i]
	}
	for _, id := range both(old, now) {
		x, y := old[id], now[id]
		ch := Change{Capability: "exception:" + id, Field: "exceptions", Exception: id}
		switch {
		case x == nil:
			ch.Kind, ch.New, ch.NewRule, ch.Says, ch.Why = Added, exception(y), &y.Rule, "the exception "+id+" is granted "+expiry(&y.Expires), y.Reason
			if c.ended(&y.Expires) {
				ch.Class, ch.Why = Neutral, "it has expired"
			}
		case y == nil:
			ch.Kind, ch.Class, ch.Old, ch.OldRule, ch.Says = Removed, Narrows, exception(x), &x.Rule, "the exception "+id+" is gone"
			if c.ended(&x.Expires) {
				ch.Class, ch.Says, ch.Why = Neutral, "the exception "+id+" has expired", "its time passed at "+x.Expires.UTC().Format("2006-01-02T15:04:05Z")
			}
		default:
			c.excepted(x, y)
			continue
		}
		c.add(ch)
	}
}

func exception(e *profiles.Exception) string {
	return listed(lifted(e), "nothing") + " " + expiry(&e.Expires) + ", approved by " + listed(e.ApprovedBy, "nobody")
}

// lifted lists what an exception grants.
func lifted(e *profiles.Exception) []string {
	return slices.Concat(e.Grants.Imports, e.Grants.Egress, e.Grants.Binaries)
}

// excepted compares two texts of one exception. What it grants stands in the lists, too.
func (c *comparer) excepted(x, y *profiles.Exception) {
	ch := Change{Kind: Changed, Capability: "exception:" + x.ID, Field: "exceptions", Exception: x.ID, Old: exception(x), New: exception(y), OldRule: &x.Rule, NewRule: &y.Rule}
	more := len(missing(lifted(y), lifted(x)))+len(missing(y.Lifts, x.Lifts)) > 0
	fewer := len(missing(lifted(x), lifted(y)))+len(missing(x.Lifts, y.Lifts)) > 0
	described := x.Owner != y.Owner || x.Reason != y.Reason || x.Ticket != y.Ticket || len(missing(x.ApprovedBy, y.ApprovedBy))+len(missing(y.ApprovedBy, x.ApprovedBy)) > 0
	switch {
	case c.ended(&x.Expires) && c.ended(&y.Expires):
		ch.Class, ch.Says, ch.Why = Neutral, "the exception "+x.ID+" is written in another way", "it has expired, then and now"
	case y.Expires.After(x.Expires):
		ch.Says = "the exception " + x.ID + " is granted for longer, " + expiry(&y.Expires)
	case more:
		ch.Says, ch.Why = "the exception "+x.ID+" lifts more: "+listed(lifted(y), "nothing"), "of "+listed(y.Lifts, "no layer")
	case x.Expires.After(y.Expires):
		ch.Class, ch.Says = Narrows, "the exception "+x.ID+" ends earlier, "+expiry(&y.Expires)
	case fewer:
		ch.Class, ch.Says = Narrows, "the exception "+x.ID+" lifts less: "+listed(lifted(y), "nothing")
	case described:
		ch.Class, ch.Says, ch.Why = Neutral, "the exception "+x.ID+" is described in another way", "who asked for it and why grants nothing"
		ch.Old, ch.New = exception(x)+", "+x.Owner+", "+x.Reason+" "+x.Ticket, exception(y)+", "+y.Owner+", "+y.Reason+" "+y.Ticket
	default:
		c.residue("exceptions", ch.Capability, x, y)
		return
	}
	c.add(ch)
	c.residue("exceptions", ch.Capability, x, y)
}

func (c *comparer) guardrails(a, b *profiles.Agent) {
	old, now := map[string]*profiles.Guardrail{}, map[string]*profiles.Guardrail{}
	for i := range a.Guardrails {
		old[a.Guardrails[i].Name] = &a.Guardrails[i]
	}
	for i := range b.Guardrails {
		now[b.Guardrails[i].Name] = &b.Guardrails[i]
	}
	for _, name := range both(old, now) {
		x, y := old[name], now[name]
		ch := Change{Capability: "guardrail:" + name, Field: "guardrails"}
		switch {
		case x == nil && c.fresh:
			continue
		case x == nil:
			ch.Kind, ch.Class, ch.New, ch.NewRule, ch.Says = Added, Narrows, clip(y.Rego), &y.Rule, "the guardrail "+name+" is new"
		case y == nil:
			ch.Kind, ch.Old, ch.OldRule, ch.Says = Removed, clip(x.Rego), &x.Rule, "the guardrail "+name+" is gone"
		case x.On != y.On || x.Rego != y.Rego:
			was, is := shortenApart(x.Rego, y.Rego)
			ch.Kind, ch.Undecided, ch.Old, ch.New, ch.OldRule, ch.NewRule = Changed, true, x.On+": "+was, y.On+": "+is, &x.Rule, &y.Rule
			ch.Says, ch.Why = "the guardrail "+name+" has another text", "whether it refuses all that it refused is not decided here"
		default:
			c.residue("guardrails", ch.Capability, x, y)
			continue
		}
		c.add(ch)
	}
}

// layers compares the documents that an agent was merged from. What they decide is in
// the other fields of the set: the documents themselves grant nothing.
func (c *comparer) layers(a, b *profiles.Agent) {
	if c.fresh {
		return
	}
	name := func(l *profiles.Layer) string { return l.Kind + " " + l.Name }
	old, now := map[string]*profiles.Layer{}, map[string]*profiles.Layer{}
	for i := range a.Layers {
		old[name(&a.Layers[i])] = &a.Layers[i]
	}
	for i := range b.Layers {
		now[name(&b.Layers[i])] = &b.Layers[i]
	}
	for _, n := range both(old, now) {
		x, y := old[n], now[n]
		ch := Change{Class: Neutral, Capability: "layer:" + n, Field: "layers", Layer: n, Why: "what the document decides is told by the other changes"}
		switch {
		case x == nil:
			ch.Kind, ch.New, ch.Says = Added, layer(y), n+" is a layer above the agent now"
		case y == nil:
			ch.Kind, ch.Old, ch.Says = Removed, layer(x), n+" is no layer above the agent any more"
		case x.Revision != y.Revision || x.Owner != y.Owner:
			ch.Kind, ch.Old, ch.New, ch.Says = Changed, layer(x), layer(y), n+" is "+layer(y)+" now"
		default:
			c.residue("layers", ch.Capability, x, y)
			continue
		}
		c.add(ch)
	}
}

func layer(l *profiles.Layer) string {
	return "revision " + plain.text(int64(l.Revision)) + " of " + l.Owner
}
