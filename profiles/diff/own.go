package diff

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
)

// hooks lists the fields and types that are compared by code of their own.
func hooks() map[string]hook {
	return map[string]hook{
		"Set.Format":   of((*comparer).format),
		"Agent.Policy": of((*comparer).policy), "Agent.Mode": of((*comparer).mode), "Agent.Exceptions": of((*comparer).exceptions),
		"Agent.RuleOfTwo": of((*comparer).ruleOfTwo), "Agent.Layers": of((*comparer).layers), "Agent.MinTier": of((*comparer).tier),
		"Agent.Bridges": of((*comparer).bridges), "Agent.Limits": of((*comparer).together), "Agent.Audit": of((*comparer).audited),
		"Agent.Deadline": of((*comparer).deadline), "Agent.Strict": of((*comparer).strict), "Agent.Files": of((*comparer).files),

		"Imports": of((*comparer).imports), "Python.Engine": of((*comparer).engine), "Shell.Audit": of((*comparer).audited),
		"PythonEnvironment": of((*comparer).environment), "ImportRule": of((*comparer).denial), "Guardrail": of((*comparer).guardrail),

		"Shell.Binaries": of((*comparer).binaries), "Shell.DeniedPatterns": of((*comparer).patterns),
		"Binary.Path": of((*comparer).path), "Binary.Interpreted": of((*comparer).interpreted), "Binary.Allow": of((*comparer).allowed),
		"Binary.Deny": of((*comparer).patterns), "Binary.Ask": of((*comparer).asks), "Binary.Helpers": of((*comparer).helpers),
		"Binary.SafeConfig": func(c *comparer, s spot, a, b reflect.Value) { c.flag(s, !a.Bool(), !b.Bool()) },

		"Powers": of((*comparer).powers), "Approval": of((*comparer).approval), "Approval.Count": of((*comparer).count),
		"Approval.HoldMillis": of((*comparer).hold), "Approval.When": of((*comparer).condition), "Bridge.Audit": of((*comparer).audited),
		"Bridge.Arguments": of((*comparer).schema), "Bridge.Result": of((*comparer).schema),
		"Bridge.Also": of((*comparer).schemas), "Bridge.AlsoResult": of((*comparer).schemas),

		"Files.Read": of((*comparer).granted), "Files.Write": of((*comparer).granted), "Files.Deny": of((*comparer).denied),
		"PathRule": of((*comparer).folders),
		"Egress.Mode": of(func(c *comparer, s spot, a, b string) {
			c.ranked(s, cmp.Or(a, profiles.EgressOff), cmp.Or(b, profiles.EgressOff))
		}),
		"Egress.Allow":     func(c *comparer, s spot, _, _ reflect.Value) { c.hosts(s) }, // with the denials
		"Egress.Deny":      func(*comparer, spot, reflect.Value, reflect.Value) {},
		"Gateway.Upstream": of((*comparer).upstream), "Gateway.Credential": of((*comparer).credential), "Gateway.Under": of((*comparer).budgets),
		"Gateway.Expires": of(func(c *comparer, s spot, a, b *time.Time) { c.until(s, lasting{expires: a}, lasting{expires: b}) }),
	}
}

func (c *comparer) policy(s spot, a, b string) {
	if c.old.Name != c.new.Name || a != b {
		c.add(s.changed(a, b).as(Neutral, "the policy is called "+b+" now", "a name grants nothing"))
	}
}

func (c *comparer) mode(s spot, a, b string) {
	a, b = cmp.Or(a, "enforce"), cmp.Or(b, "enforce")
	ch := s.changed(a, b)
	switch {
	case a == b:
		return
	case b == "enforce":
		ch = ch.as(Narrows, "what the policy refuses is refused now", "")
	case b != profiles.ModeAudit:
		ch = ch.undecided("the mode is "+b+" now", "the mode is not known")
	default:
		ch = ch.as(Widens, "what the policy refuses is only recorded now, and happens", "audit is weaker than enforce")
	}
	c.add(ch)
}

func (c *comparer) ruleOfTwo(s spot, a, b *profiles.RuleOfTwo) {
	if b != nil {
		s.subject = cmp.Or(b.Scope, "run")
	}
	c.optional(s, reflect.ValueOf(a), reflect.ValueOf(b))
}

func (c *comparer) tier(s spot, a, b profiles.Tier) {
	before := len(c.out)
	c.ranked(s, string(a), string(b))
	for i := range c.out[before:] {
		ch := &c.out[before+i]
		switch {
		case ch.Undecided:
			ch.Why = "one of the tiers is not known"
		case ch.Class == Narrows:
			ch.Why = "a weaker guest is refused"
		default:
			ch.Why = "a weaker guest is enough"
		}
	}
}

// powers compares what is said about a grant. They bind through the rule of two: fewer
// of them let more of them meet.
func (c *comparer) powers(s spot, a, b profiles.Powers) {
	if a == b {
		return
	}
	was, is := powersText(a), powersText(b)
	ch, says := s.changed(was, is), "the powers of "+s.says(0)+" are "+is+" now, and were "+was
	if a.Sensitive && !b.Sensitive || a.Untrusted && !b.Untrusted || a.External && !b.External {
		c.add(ch.as(Widens, says, "the rule of two counts fewer of them, so more may meet"))
	} else {
		c.add(ch.as(Narrows, says, "the rule of two counts more of them"))
	}
}

// layers compares the documents that an agent was merged from. What they decide is in
// the other fields of the set: the documents themselves grant nothing.
func (c *comparer) layers(s spot, a, b []profiles.Layer) {
	if c.fresh {
		return
	}
	for name, p := range pairs(a, b, func(l *profiles.Layer) string { return l.Kind + " " + l.Name }) {
		at := p.spot(s, name)
		var ch Change
		switch {
		case p.old == nil:
			ch = at.added(layer(p.now)).as(Neutral, name+" is a layer above the agent now", "")
		case p.now == nil:
			ch = at.removed(layer(p.old)).as(Neutral, name+" is no layer above the agent any more", "")
		case layer(p.old) == layer(p.now):
			continue
		default:
			ch = at.changed(layer(p.old), layer(p.now)).as(Neutral, name+" is "+layer(p.now)+" now", "")
		}
		ch.Layer, ch.Why = name, "what the document decides is told by the other changes"
		c.add(ch)
	}
}

func layer(l *profiles.Layer) string {
	return "revision " + plain.text(int64(l.Revision)) + " of " + l.Owner
}

func (c *comparer) guardrail(s spot, x, y profiles.Guardrail) {
	if x.On != y.On || x.Rego != y.Rego {
		was, is := shortenApart(x.Rego, y.Rego)
		c.add(s.changed(x.On+": "+was, y.On+": "+is).undecided("the guardrail "+x.Name+" has another text",
			"whether it refuses all that it refused is not decided here"))
	}
}

// audited compares how much is recorded.
func (c *comparer) audited(s spot, a, b string) {
	rank := func(s string) int { return slices.Index([]string{"", "metadata", "full", "strict"}, s) }
	was, is := max(rank(a), 1), max(rank(b), 1) // "" is the default, which "metadata" is too
	ch, says := s.changed(cmp.Or(a, "default"), cmp.Or(b, "default")), "the records of "+s.says(0)+" are "+cmp.Or(b, "the default")+" now"
	switch {
	case a == b || was == is && rank(a) >= 0 && rank(b) >= 0:
		return
	case rank(a) < 0 || rank(b) < 0:
		ch = ch.undecided(says, "how much that records is not known")
	case is < was:
		ch = ch.as(Widens, says, "less is on record of what it does")
	case b == "strict":
		ch = ch.as(Narrows, says, "nothing happens before its record is safe on the disk")
	default:
		ch = ch.as(Neutral, says, "more is recorded, and nothing else changes")
	}
	c.add(ch)
}

func (c *comparer) deadline(s spot, a, b *time.Time) {
	ch := s.changed(expiry(a), expiry(b))
	switch {
	case Same(a, b):
	case outlasts(b, a):
		c.add(ch.as(Widens, "every run may go on for longer", ""))
	default:
		c.add(ch.as(Narrows, "every run ends earlier", ""))
	}
}

// strict compares what mode audit records as refused. Where only one side has it, the
// change of the mode tells so.
func (c *comparer) strict(s spot, a, b *profiles.Agent) {
	switch {
	case a == nil && b == nil:
	case c.inner || (a == nil) != (b == nil) && c.old.Mode == c.new.Mode:
		s.old, s.now = &c.old.ModeRule, &c.new.ModeRule
		c.add(s.changed("", "").undecided("what is recorded as refused is another thing", "only one of the two says what that is"))
	case a != nil && b != nil:
		in := c.within(a, b)
		in.inner = true
		in.agent()
		for _, ch := range in.out {
			if !slices.ContainsFunc(c.out, func(o Change) bool {
				return o.Capability == ch.Capability && o.Field == ch.Field && o.Class == ch.Class
			}) {
				ch.Field, ch.Says = s.field+"."+ch.Field, "recorded as refused: "+ch.Says
				c.add(ch)
			}
		}
	}
}

// together compares the limits over all executors. One that is, on both sides, just the
// highest of the executors' says nothing more than the changes of these.
func (c *comparer) together(s spot, a, b profiles.Limits) {
	x, y := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
	for i := range x.NumField() {
		if n := set(x.Field(i)); n >= 0 && n == highest(c.old, i) && set(y.Field(i)) == highest(c.new, i) {
			x.Field(i).SetZero()
			y.Field(i).SetZero()
		}
	}
	s.subject = s.says(0)
	c.walk(s, x, y)
}

// set is the value of a limit; -1 if there is none.
func set(limit reflect.Value) int64 {
	if n, has := amount(limit); has {
		return n
	}
	return -1
}

// highest is the highest of the executors' values of a limit; -1 if none has one.
func highest(a *profiles.Agent, i int) int64 {
	out := int64(-1)
	if a.JS != nil {
		out = max(out, set(reflect.ValueOf(a.JS.Limits).Field(i)))
	}
	if a.Python != nil {
		out = max(out, set(reflect.ValueOf(a.Python.Limits).Field(i)))
	}
	if a.Shell != nil {
		out = max(out, set(reflect.ValueOf(a.Shell.Limits).Field(i)))
	}
	return out
}

func (c *comparer) engine(s spot, a, b string) {
	ch, says := s.changed(cmp.Or(a, "native"), cmp.Or(b, "native")), "Python runs on the engine "+cmp.Or(b, "native")+" now"
	switch {
	case a == b:
		return
	case a == profiles.PythonNative && b == profiles.PythonWasm:
		ch = ch.as(Narrows, says, "in WebAssembly there is the standard library alone, and no program of the host")
	case a == profiles.PythonWasm && b == profiles.PythonNative:
		ch = ch.as(Widens, says, "the host's interpreter loads native packages and uses the host's kernel")
	default:
		ch = ch.undecided(says, "one of the engines is not known")
	}
	c.add(ch)
}

func (c *comparer) environment(s spot, x, y profiles.PythonEnvironment) {
	ch, says := s.changed(show(reflect.ValueOf(x)), show(reflect.ValueOf(y))), "the packages in "+x.Path
	switch {
	case x.Digest == y.Digest:
		return
	case x.Digest == "":
		ch = ch.as(Narrows, says+" are pinned", "")
	case y.Digest == "":
		ch = ch.as(Widens, says+" are no longer pinned", "")
	default:
		ch = ch.undecided(says+" have to be others", "what the other packages do is not known")
	}
	c.add(ch)
}

// denial compares a name that both lists take away.
func (c *comparer) denial(s spot, x, y profiles.ImportRule) {
	if x.Exception != y.Exception || !Same(x.Expires, y.Expires) {
		c.add(s.changed(entry(&x), entry(&y)).undecided(s.says(0, x.Name)+" is denied in another way", "a denial has no exception and no end"))
	}
}

func (c *comparer) upstream(s spot, a, b string) {
	if a != b {
		c.add(s.changed(cmp.Or(a, "the host's"), cmp.Or(b, "the host's")).undecided(
			"the gateway "+s.subject+" goes to "+cmp.Or(b, "what the host names")+" now", "another upstream is another place to send data to"))
	}
}

func (c *comparer) credential(s spot, a, b string) {
	ch, says := s.changed(cmp.Or(a, "none"), cmp.Or(b, "none")), "the gateway "+s.subject+" uses the credential "+cmp.Or(b, "none")+" now"
	switch {
	case a == b:
	case b == "":
		c.add(ch.as(Narrows, says, "requests go out without a credential"))
	default:
		c.add(ch.undecided(says, "what the credential gives is the host's to say"))
	}
}
