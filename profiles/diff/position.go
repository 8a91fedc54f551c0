package diff

import (
	"iter"
	"reflect"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/fields"
)

// spot is a compared field, or a compared part that has fields of its own. It has the values of both sides.
type spot struct {
	row               fields.SetField
	field, capability string
	subject           string         // the name of the part in sentences
	old, now          *profiles.Rule // the positions of the part in the old and the new source
	single            bool           // only one side has the part, so a restriction in it takes nothing away
}

// enter returns the spot of one field of a part.
func (s spot) enter(r fields.SetField, a, b reflect.Value) spot {
	s.row = r
	f, _ := a.Type().FieldByName(s.name())
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	s.field = strings.TrimPrefix(s.field+"."+tag, ".")
	if r.Capability != "" && !strings.Contains(r.Capability, "%s") {
		s.capability = r.Capability
	}
	s.old, s.now = ruleOf(a, s.name()+"Rule", s.old), ruleOf(b, s.name()+"Rule", s.now)
	return s
}

// name returns the field's own name.
func (s spot) name() string { return s.row.Field[strings.IndexByte(s.row.Field, '.')+1:] }

// gives reports whether the field grants something rather than restricting it.
func (s spot) gives() bool { return s.row.Order == fields.Opens }

// entry returns the spot of one entry of a list. One side may be absent.
func (s spot) entry(name string, x, y reflect.Value) spot {
	s.capability = strings.Replace(s.row.Capability, "%s", name, 1)
	s.old, s.now = ruleOf(x, "Rule", nil), ruleOf(y, "Rule", nil)
	return s
}

// part returns the spot of a part that has a comparison of its own.
func (s spot) part(name, says string) spot {
	s.field, s.row = s.field+name, fields.SetField{Says: says}
	return s
}

// ruleOf returns the rule of the part v. If the part has none, or a rule without a position,
// it returns the rule outer of the part around v.
func ruleOf(v reflect.Value, field string, outer *profiles.Rule) *profiles.Rule {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return outer
	}
	if f := v.FieldByName(field); f.IsValid() {
		if r := f.Interface().(profiles.Rule); r != (profiles.Rule{}) {
			return &r
		}
	}
	return outer
}

// changed, added and removed return a new change with the class Widens. The method as sets
// another class.
func (s spot) changed(old, now string) Change {
	return Change{Kind: Changed, Capability: s.capability, Field: s.field, Old: old, New: now,
		OldRule: s.old, NewRule: s.now}
}

func (s spot) added(now string) Change {
	return Change{Kind: Added, Capability: s.capability, Field: s.field, New: now, NewRule: s.now}
}

func (s spot) removed(old string) Change {
	return Change{Kind: Removed, Capability: s.capability, Field: s.field, Old: old, OldRule: s.old}
}

func (ch Change) as(class Class, says, why string) Change {
	ch.Class, ch.Says, ch.Why = class, says, why
	return ch
}

func (ch Change) undecided(says, why string) Change {
	ch.Undecided = true
	return ch.as(Widens, says, why)
}

// pair is one entry on both sides. If only one side has the entry, the other pointer is nil.
type pair[T any] struct{ old, now *T }

// spot returns the spot of the entry in a list.
func (p pair[T]) spot(list spot, name string) spot {
	return list.entry(name, reflect.ValueOf(p.old), reflect.ValueOf(p.now))
}

// walk compares an entry that both sides have.
func (p pair[T]) walk(c *comparer, s spot) {
	c.walk(s, reflect.ValueOf(*p.old), reflect.ValueOf(*p.now))
}

// pairs yields the entries of two lists, paired by name and sorted by name. If a list has
// several entries with one name, the first one is used.
func pairs[T any](a, b []T, name func(*T) string) iter.Seq2[string, pair[T]] {
	index := func(list []T) map[string]*T {
		out := map[string]*T{}
		for i := range list {
			if k := name(&list[i]); out[k] == nil {
				out[k] = &list[i]
			}
		}
		return out
	}
	old, now := index(a), index(b)
	return func(yield func(string, pair[T]) bool) {
		for _, k := range both(old, now) {
			if !yield(k, pair[T]{old[k], now[k]}) {
				return
			}
		}
	}
}
