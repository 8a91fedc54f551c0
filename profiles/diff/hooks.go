package diff

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

// hooks lists the fields and types that are compared by their own code.
func hooks() map[string]hook {
	return map[string]hook{
		"Set.Format":   of(format),
		"Agent.Policy": of(policy), "Agent.Exceptions": of(exceptions), "Agent.Layers": of(layers),
		"Agent.Bridges": of(bridges), "Agent.Files": of(files), "Agent.Limits": of(together),
		"Agent.Audit":    of(audited),
		"Agent.Deadline": of(deadline), "Agent.Strict": of(strict), "Powers": of(comparePowers),
		"Guardrail": of(guardrail),
		"Imports":   of(imports), "ImportRule": of(denial),
		"PythonEnvironment.Digest": of(func(c *comparer, s spot, a, b string) {
			s.field = strings.TrimSuffix(s.field, ".digest")
			c.leaf(s, reflect.ValueOf(a), reflect.ValueOf(b))
		}),
		"Shell.Audit": of(audited), "Shell.Binaries": of(binaries), "Shell.DeniedPatterns": of(patterns),
		"Binary.Allow": of(allowed), "Binary.Deny": of(patterns), "Binary.Ask": of(asks), "Binary.Helpers": of(helpers),
		"Binary.SafeConfig": of(func(c *comparer, s spot, a, b bool) {
			c.leaf(s, reflect.ValueOf(!a), reflect.ValueOf(!b)) // the row describes the configuration that is denied
		}),
		"Bridge.Audit": of(audited), "Bridge.Arguments": of(schema), "Bridge.Result": of(schema),
		"Bridge.Also": of(schemas), "Bridge.AlsoResult": of(schemas),
		"Approval": of(approval), "Approval.When": of(condition),
		"Approval.Count": of(func(c *comparer, s spot, a, b int64) {
			c.leaf(s, reflect.ValueOf(max(a, 1)), reflect.ValueOf(max(b, 1)))
		}),
		"Approval.HoldMillis": of(func(c *comparer, s spot, a, b int64) {
			const usual = profiles.DefaultHoldMillis
			c.leaf(s, reflect.ValueOf(cmp.Or(a, usual)), reflect.ValueOf(cmp.Or(b, usual)))
		}),
		"Files.Read": of(granted), "Files.Write": of(granted), "Files.Deny": of(denied), "PathRule": of(folders),
		"Egress.Allow":  of(hosts), // together with the denials
		"Gateway.Under": of(shared),
		"Gateway.Expires": of(func(c *comparer, s spot, a, b *time.Time) {
			until(c, s, lasting{expires: a}, lasting{expires: b})
		}),
	}
}

func format(c *comparer, s spot, a, b string) {
	if a != "" && b != "" {
		c.leaf(s, reflect.ValueOf(a), reflect.ValueOf(b))
	}
}

func policy(c *comparer, s spot, a, b string) {
	if c.old.Name != c.new.Name || a != b {
		c.add(s.changed(a, b).as(Neutral, s.changes(a, b), s.row.Why))
	}
}

// comparePowers compares the powers of a grant. Powers restrict the agent through the rule of two: a grant
// with fewer powers can be combined with more other grants.
func comparePowers(c *comparer, s spot, a, b profiles.Powers) {
	was, is := powersText(a), powersText(b)
	ch := s.changed(was, is).as(Narrows, cmp.Or(s.row.Says, s.subject)+": powers "+nowWas(is, was),
		"the rule of two counts more of them")
	switch {
	case a == b:
		return
	case a.Sensitive && !b.Sensitive || a.Untrusted && !b.Untrusted || a.External && !b.External:
		ch.Class, ch.Why = Widens, "the rule of two counts fewer of them, so more may meet"
	}
	c.add(ch)
}

// layers compares the documents from which an agent was merged. The documents themselves grant nothing: the
// other fields of the set contain the result.
func layers(c *comparer, s spot, a, b []profiles.Layer) {
	if c.fresh {
		return
	}
	for name, p := range pairs(a, b, func(l *profiles.Layer) string { return l.Kind + " " + l.Name }) {
		var ch Change
		switch at := p.spot(s, name); {
		case p.old == nil:
			ch = at.added(layer(p.now))
			ch.Says = name + " is a layer above the agent now"
		case p.now == nil:
			ch = at.removed(layer(p.old))
			ch.Says = name + " is no longer a layer above the agent"
		case layer(p.old) == layer(p.now):
			continue
		default:
			ch = at.changed(layer(p.old), layer(p.now))
			ch.Says = name + ": " + nowWas(ch.New, ch.Old)
		}
		ch.Class, ch.Layer, ch.Why = Neutral, name, "the other changes say what the document decides"
		c.add(ch)
	}
}

func layer(l *profiles.Layer) string {
	return "revision " + number(int64(l.Revision)) + " of " + l.Owner
}

func guardrail(c *comparer, s spot, x, y profiles.Guardrail) {
	if x.On != y.On || x.Rego != y.Rego {
		was, is := shortenApart(x.Rego, y.Rego)
		c.add(s.changed(x.On+": "+was, y.On+": "+is).undecided("guardrail "+x.Name+" has another text",
			"ringd cannot decide whether it refuses everything that it refused before"))
	}
}

// audited compares how much is recorded.
func audited(c *comparer, s spot, a, b string) {
	rank := func(s string) int { return slices.Index([]string{"", "metadata", "full", "strict"}, s) }
	was, is := max(rank(a), 1), max(rank(b), 1) // an empty word means the default, metadata
	ch := s.changed(cmp.Or(a, "default"), cmp.Or(b, "default"))
	ch = ch.as(Neutral, s.changes(ch.Old, ch.New), "more is recorded, and nothing else changes")
	switch {
	case a == b || was == is && rank(a) >= 0 && rank(b) >= 0:
		return
	case rank(a) < 0 || rank(b) < 0:
		ch.Undecided, ch.Why = true, "how much that records is not known"
	case is < was:
		ch.Class, ch.Why = Widens, "less is recorded of what it does"
	case b == "strict":
		ch.Class, ch.Why = Narrows, "nothing happens before its record is on disk"
	}
	c.add(ch)
}

func deadline(c *comparer, s spot, a, b *time.Time) {
	if !Same(a, b) {
		was, is := expiry(a), expiry(b)
		c.add(s.changed(was, is).as(grants(outlasts(b, a)), s.changes(cmp.Or(was, "never"), cmp.Or(is, "never")), ""))
	}
}

// strict compares the profiles that an agent in mode audit would have in mode enforce. If only one side has
// such a profile, the change of the mode reports that.
func strict(c *comparer, s spot, a, b *profiles.Agent) {
	switch {
	case a == nil && b == nil:
	case c.inner || (a == nil) != (b == nil) && c.old.Mode == c.new.Mode:
		s.old, s.now = &c.old.ModeRule, &c.new.ModeRule
		c.add(s.changed("", "").undecided("what is recorded as refused is another thing",
			"only one of the two policies says what that is"))
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

// together compares the limits for all executors. If a limit equals the highest limit of the executors on
// both sides, it is skipped, because the changes of the executors' limits report it.
func together(c *comparer, s spot, a, b profiles.Limits) {
	x, y := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
	for i := range x.NumField() {
		if n := limit(a, i); n >= 0 && n == highest(c.old, i) && limit(b, i) == highest(c.new, i) {
			x.Field(i).SetZero()
			y.Field(i).SetZero()
		}
	}
	s.subject = s.row.Says
	c.walk(s, x, y)
}

// limit returns the value of a limit, or -1.
func limit(l profiles.Limits, i int) int64 {
	if f := reflect.ValueOf(l).Field(i); !f.IsNil() {
		return f.Elem().Int()
	}
	return -1
}

// highest returns the highest value of a limit among the executors, or -1.
func highest(a *profiles.Agent, i int) int64 {
	out := int64(-1)
	if a.JS != nil {
		out = max(out, limit(a.JS.Limits, i))
	}
	if a.Python != nil {
		out = max(out, limit(a.Python.Limits, i))
	}
	if a.Shell != nil {
		out = max(out, limit(a.Shell.Limits, i))
	}
	return out
}

// denial compares a name that both lists deny.
func denial(c *comparer, s spot, x, y profiles.ImportRule) {
	if x.Exception != y.Exception || !Same(x.Expires, y.Expires) {
		c.add(s.changed(entry(&x), entry(&y)).undecided(x.Name+" is denied in another way",
			"a denial has no exception and no end"))
	}
}
