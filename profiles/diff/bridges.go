package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/ringd/ringd/profiles"
)

// bridges compares the grants of bridges by name. A grant whose key in the map is not its
// name grants nothing.
func bridges(c *comparer, s spot, a, b map[string]profiles.Bridge) {
	for _, name := range both(a, b) {
		x, was := a[name]
		y, is := b[name]
		was, is = was && x.Name == name, is && y.Name == name
		at := s.entry(name, reflect.ValueOf(x), reflect.ValueOf(y))
		switch {
		case was && is:
			at.field, at.subject = s.field+"."+name, name
			c.walk(at, reflect.ValueOf(x), reflect.ValueOf(y))
		case is:
			c.add(at.added(bridge(&y)).as(Widens, "may now call the bridge "+name+asked(y.Approval), ""))
		case was:
			c.add(at.removed(bridge(&x)).as(Narrows, "may no longer call the bridge "+name, ""))
		}
	}
}

func bridge(b *profiles.Bridge) string {
	return "powers " + powersText(b.Powers) + "; approval " + approvalText(b.Approval)
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

// schema compares the schema, if any, that a value must match.
func schema(c *comparer, s spot, a, b json.RawMessage) {
	one := func(schema json.RawMessage) []json.RawMessage {
		if schema == nil {
			return nil
		}
		return []json.RawMessage{schema}
	}
	schemas(c, s, one(a), one(b))
}

// schemas compares the schemas that a value must match.
func schemas(c *comparer, s spot, a, b []json.RawMessage) {
	fewer, more := without(a, b), without(b, a)
	ch := s.changed(shortenApart(joined(fewer), joined(more)))
	switch {
	case len(fewer)+len(more) == 0:
		return
	case len(fewer) == 0:
		ch.Kind = Added
		ch = ch.as(Narrows, s.subject+": "+s.row.Says+" must fit one more schema", "")
	case len(more) == 0:
		ch.Kind = Removed
		ch = ch.as(Widens, s.subject+": "+s.row.Says+" must fit one schema less", "")
	default:
		ch = ch.undecided(s.subject+": "+s.row.Says+" have another schema",
			"ringd does not decide whether one schema accepts less than another")
	}
	c.add(ch)
}

func without(a, b []json.RawMessage) (out [][]byte) {
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y json.RawMessage) bool { return bytes.Equal(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

func joined(list [][]byte) string { return string(bytes.Join(list, []byte(" and "))) }

// approval compares the approvers, and when an approval is required.
func approval(c *comparer, s spot, a, b *profiles.Approval) {
	if a == nil && b == nil {
		return
	}
	s.old, s.now = ruleOf(reflect.ValueOf(a), "Rule", s.old), ruleOf(reflect.ValueOf(b), "Rule", s.now)
	ch := s.changed(approvalText(a), approvalText(b))
	switch {
	case a == nil:
		ch.Kind, ch.Old = Added, ""
		c.add(ch.as(Narrows, s.subject+": now needs an approval", ""))
	case b == nil:
		ch.Kind, ch.New = Removed, ""
		c.add(ch.as(Widens, s.subject+": no longer needs an approval", ""))
	default:
		c.fields(s, reflect.ValueOf(*a), reflect.ValueOf(*b))
	}
}

func condition(c *comparer, s spot, a, b string) {
	was, is := shortenApart(a, b)
	ch := s.changed(cmp.Or(was, "always"), cmp.Or(is, "always"))
	switch {
	case a == b:
		return
	case b == "":
		ch = ch.as(Narrows, s.subject+": always needs an approval now", "")
	case a == "":
		ch = ch.as(Widens, s.subject+": needs an approval only where a condition holds now", "")
	default:
		ch = ch.undecided(s.subject+": needs an approval under another condition",
			"ringd does not decide whether one condition holds whenever another one does")
	}
	c.add(ch)
}
