package diff

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ringd/ringd/profiles"
)

// bridges compares the grants of bridges by name. One under another name is none.
func (c *comparer) bridges(a, b *profiles.Agent) {
	for _, name := range both(a.Bridges, b.Bridges) {
		x, was := a.Bridges[name]
		y, is := b.Bridges[name]
		was, is = was && x.Name == name, is && y.Name == name
		switch {
		case was && is:
			c.bridge(&x, &y)
		case is:
			c.add(Change{Kind: Added, Capability: "bridge:" + name, Field: "bridges", New: bridge(&y), NewRule: &y.Rule, Says: "may now call the bridge " + name + asked(y.Approval)})
		case was:
			c.add(Change{Kind: Removed, Class: Narrows, Capability: "bridge:" + name, Field: "bridges", Old: bridge(&x), OldRule: &x.Rule, Says: "may no longer call the bridge " + name})
		}
	}
}

func asked(p *profiles.Approval) string {
	switch {
	case p == nil:
		return ""
	case p.When != "":
		return ", with an approval where a condition holds"
	default:
		return ", each call with an approval"
	}
}

func bridge(b *profiles.Bridge) string {
	return "powers " + comparePowers(b.Powers) + "; approval " + approval(b.Approval)
}

func (c *comparer) bridge(x, y *profiles.Bridge) {
	field, capability, of := "bridges."+x.Name, "bridge:"+x.Name, " of "+x.Name
	old, now := &x.Rule, &y.Rule
	c.powers(field+".powers", capability, "the bridge "+x.Name, x.Powers, y.Powers, old, now)
	c.only(list{field: field + ".executors", capability: capability, gives: "may call " + x.Name + " from", all: "every executor"}, x.Executors, y.Executors, old, now)
	c.schema(field+".arguments", capability, "the arguments"+of, one(x.Arguments), one(y.Arguments), old, now)
	c.schema(field+".also", capability, "the arguments"+of, x.Also, y.Also, old, now)
	c.schema(field+".result", capability, "the result"+of, one(x.Result), one(y.Result), old, now)
	c.schema(field+".alsoResult", capability, "the result"+of, x.AlsoResult, y.AlsoResult, old, now)
	c.audited(field+".audit", capability, "calls of "+x.Name, x.Audit, y.Audit, old, now)
	c.approval(field+".approval", capability, "calls of "+x.Name, x.Approval, y.Approval, old, now)
	for _, l := range []struct {
		name, what string
		unit       unit
		a, b       int64
	}{
		{"concurrent", "number of calls at once", plain, x.Limits.Concurrent, y.Limits.Concurrent},
		{"callsPerRun", "number of calls in a run", plain, x.Limits.CallsPerRun, y.Limits.CallsPerRun},
		{"spawnPerCall", "number of subagents of a call", plain, x.Limits.SpawnPerCall, y.Limits.SpawnPerCall},
		{"depth", "depth of subagents", plain, x.Limits.Depth, y.Limits.Depth},
		{"totalSpawn", "number of subagents in all", plain, x.Limits.TotalSpawn, y.Limits.TotalSpawn},
		{"argumentBytes", "size of arguments", octets, x.Limits.ArgumentBytes, y.Limits.ArgumentBytes},
		{"resultBytes", "size of results", octets, x.Limits.ResultBytes, y.Limits.ResultBytes},
		{"timeoutMillis", "time of a call", millis, x.Limits.TimeoutMillis, y.Limits.TimeoutMillis},
	} {
		c.number(field+".limits."+l.name, capability, l.what+of, l.unit, l.a, l.b, old, now)
	}
	c.residue(field+".limits", capability, &x.Limits, &y.Limits)
	c.residue(field, capability, x, y)
}

func one(schema json.RawMessage) []json.RawMessage {
	if schema == nil {
		return nil
	}
	return []json.RawMessage{schema}
}

// schema compares schemas that a value has to fit, all of them.
func (c *comparer) schema(field, capability, of string, a, b []json.RawMessage, old, now *profiles.Rule) {
	fewer, more := without(a, b), without(b, a)
	if len(fewer)+len(more) == 0 {
		return
	}
	was, is := shortenApart(schemas(fewer), schemas(more))
	ch := Change{Kind: Changed, Capability: capability, Field: field, Old: was, New: is, OldRule: old, NewRule: now, Says: of + " have another schema"}
	switch {
	case len(fewer) == 0:
		ch.Kind, ch.Class, ch.Says = Added, Narrows, of+" have to fit a schema more"
	case len(more) == 0:
		ch.Kind, ch.Says = Removed, of+" have to fit a schema less"
	default:
		ch.Undecided, ch.Why = true, "whether one schema lies within another is not decided here"
	}
	c.add(ch)
}

func without(a, b []json.RawMessage) (out []json.RawMessage) {
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y json.RawMessage) bool { return bytes.Equal(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

func schemas(list []json.RawMessage) string {
	if len(list) == 0 {
		return ""
	}
	return string(bytes.Join(slices.Collect(func(yield func([]byte) bool) {
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
	}), []byte(" and ")))
}

// approval compares who is asked, and when.
func (c *comparer) approval(field, capability, of string, a, b *profiles.Approval, old, now *profiles.Rule) {
	switch {
	case a == nil && b == nil:
		return
	case a == nil:
		c.add(Change{Kind: Added, Class: Narrows, Capability: capability, Field: field, New: approval(b), OldRule: old, NewRule: orRule(&b.Rule, now), Says: of + " now need an approval"})
		return
	case b == nil:
		c.add(Change{Kind: Removed, Capability: capability, Field: field, Old: approval(a), OldRule: orRule(&a.Rule, old), NewRule: now, Says: of + " no longer need an approval"})
		return
	}
	old, now = orRule(&a.Rule, old), orRule(&b.Rule, now)
	c.only(list{field: field + ".from", capability: capability, gives: "the approval of " + of + " may come from", all: "whoever the host lets approve"}, a.From, b.From, old, now)
	if x, y := max(a.Count, 1), max(b.Count, 1); x != y {
		ch := Change{Kind: Changed, Capability: capability, Field: field + ".count", Old: plain.text(x), New: plain.text(y), OldRule: old, NewRule: now,
			Says: of + " need " + plural(int(y), "approval") + " instead of " + plain.text(x)}
		if y > x {
			ch.Class = Narrows
		}
		c.add(ch)
	}
	c.number(field+".expiresMillis", capability, "time that "+of+" wait for an approval", millis, a.ExpiresMillis, b.ExpiresMillis, old, now)
	hold := func(p *profiles.Approval) int64 {
		if p.HoldMillis == 0 {
			return profiles.DefaultHoldMillis
		}
		return p.HoldMillis
	}
	c.number(field+".holdMillis", capability, "time that a program is held for "+of, millis, hold(a), hold(b), old, now)
	if a.When != b.When {
		was, is := shortenApart(a.When, b.When)
		ch := Change{Kind: Changed, Capability: capability, Field: field + ".when", Old: fallback(was, "always"), New: fallback(is, "always"),
			OldRule: old, NewRule: now, Says: "the condition under which " + of + " need an approval is another one"}
		switch {
		case b.When == "":
			ch.Class, ch.Says = Narrows, of+" always need an approval now"
		case a.When == "":
			ch.Says = of + " need an approval only where a condition holds now"
		default:
			ch.Undecided, ch.Why = true, "whether one condition holds wherever another does is not decided here"
		}
		c.add(ch)
	}
	c.residue(field, capability, a, b)
}

// list is what only compares.
type list struct{ field, capability, gives, all string }

// only compares lists of which an empty one gives everything.
func (c *comparer) only(l list, a, b []string, old, now *profiles.Rule) {
	more, fewer := missing(b, a), missing(a, b)
	if len(a) > 0 == (len(b) > 0) && len(more)+len(fewer) == 0 {
		return
	}
	ch := Change{Kind: Changed, Capability: l.capability, Field: l.field, Old: listed(a, l.all), New: listed(b, l.all), OldRule: old, NewRule: now,
		Says: l.gives + " " + listed(b, l.all) + " instead of " + listed(a, l.all)}
	if len(a) == 0 || len(b) > 0 && len(more) == 0 {
		ch.Class = Narrows
	}
	c.add(ch)
}

// missing lists what of a is not in b.
func missing(a, b []string) (out []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}
