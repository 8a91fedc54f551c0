package headroom

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// word compares words that are ordered from loose to strict. A ceiling without the field bounds nothing. The
// exception is the OrgPolicy if the default of the field is the strictest word.
func (c *comparer) word(f fields.Field, a, b reflect.Value, was, is string) {
	order := f.Words
	first := func(word, kind string) string {
		if word == "" && f.Strictest && kind == layers.KindOrg {
			return order[len(order)-1]
		}
		return word
	}
	old, now := first(a.String(), c.old.Kind), first(b.String(), c.now.Kind)
	rank := func(word string) int {
		if word == "" {
			return 0
		}
		return 1 + slices.Index(order, word)
	}
	says := fmt.Sprintf("%s: %s (was %s)", is, orNone(now), orNone(old))
	switch {
	case old == now:
	case order == nil || now != "" && rank(now) == 0 || old != "" && rank(old) == 0:
		c.undecided(was, is, old, now, "one of the two values is not known")
	case rank(now) < rank(old):
		c.raise(diff.Changed, was, is, old, now, says)
	default:
		c.lower(diff.Changed, was, is, old, now, says)
	}
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

// number compares two limits. The higher limit is the looser one. If the field has the order AtLeast, the lower
// limit is the looser one. An absent limit is the loosest.
func (c *comparer) number(f fields.Field, a, b reflect.Value, was, is string) {
	atLeast := f.Order == fields.AtLeast
	old, had, okOld := measure(f.Unit, a)
	now, has, okNow := measure(f.Unit, b)
	more, from, to := old < now, show(a), show(b)
	if atLeast {
		more = !more
	}
	switch {
	case !had && !has:
	case !okOld || !okNow:
		c.undecided(was, is, from, to, "one of the two values cannot be read")
	case !had:
		c.lower(diff.Added, was, is, from, to, is+" is "+to+" now; there was no bound")
	case !has:
		c.raise(diff.Removed, was, is, from, to, was+" is gone, which was "+from)
	case old == now:
	case more:
		c.raise(diff.Changed, was, is, from, to, fmt.Sprintf("%s: %s (was %s)", is, to, from))
	default:
		c.lower(diff.Changed, was, is, from, to, fmt.Sprintf("%s: %s (was %s)", is, to, from))
	}
}

// measure parses a value of a unit. It returns the number, whether the value is set, and whether the value is
// valid.
func measure(unit fields.Unit, v reflect.Value) (n int64, written, ok bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, false, true
		}
		v = v.Elem()
	}
	if v.CanInt() {
		return v.Int(), true, unit == fields.Count
	}
	text := v.String()
	if text == "" {
		return 0, false, true
	}
	switch unit {
	case fields.Size:
		n, ok = schema.Size(text)
	case fields.Duration:
		n, ok = schema.Duration(text)
	case fields.Rate:
		n, ok = schema.Rate(text)
	case fields.Date:
		n, ok = date(text)
	case fields.Count:
	}
	return n, true, ok
}

// date converts a date to a number, so that later dates have higher numbers. A date without a time means the
// first moment of the day.
func date(text string) (n int64, ok bool) {
	if len(text) == len("2026-12-31") {
		text += "T00:00:00Z"
	}
	if len(text) != len("2026-12-31T00:00:00Z") {
		return 0, false
	}
	for i, r := range text {
		switch {
		case '0' <= r && r <= '9':
			n = n*10 + int64(r-'0')
		case i < len("2006-01-02T15:04:05Z") && "0000-00-00T00:00:00Z"[i] == byte(r):
		default:
			return 0, false
		}
	}
	return n, true
}

// flag compares switches. A switch that opens something bounds the documents below only if it is false. A
// switch that restrains something bounds them only if it is true. An absent switch bounds nothing, unless its
// row says that it is then false.
func (c *comparer) flag(f fields.Field, a, b reflect.Value, was, is string) {
	if f.None {
		a, b = orFalse(a), orFalse(b)
	}
	bounds := func(v reflect.Value) bool {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return false
			}
			v = v.Elem()
		}
		return v.Bool() != (f.Order == fields.Opens)
	}
	old, now := bounds(a), bounds(b)
	says := fmt.Sprintf("%s: %s (was %s)", is, orNone(show(b)), orNone(show(a)))
	switch {
	case old && !now:
		c.raise(diff.Changed, was, is, show(a), show(b), says)
	case now && !old:
		c.lower(diff.Changed, was, is, show(a), show(b), says)
	}
}

// owner compares values that only the outermost layer sets. A new value binds all documents below. More powers
// mean a stricter rule of two. The effect of any other change is unknown.
func (c *comparer) owner(a, b reflect.Value, was, is string) {
	isBool := a.Kind() == reflect.Bool || a.Kind() == reflect.Pointer && a.Type().Elem().Kind() == reflect.Bool
	says := fmt.Sprintf("%s: %s (was %s)", is, orNone(clip(show(b))), orNone(clip(show(a))))
	switch {
	case isBool && show(b) == "true":
		c.lower(diff.Changed, was, is, show(a), show(b), says)
	case isBool && show(a) == "true":
		c.raise(diff.Changed, was, is, show(a), show(b), says)
	case a.IsZero() && !isBool:
		c.lower(diff.Added, was, is, "", show(b), is+" is "+clip(show(b))+" now, and was left to the documents below")
	case b.IsZero() && !isBool:
		c.raise(diff.Removed, was, is, show(a), "", was+" is left to the documents below")
	default:
		c.undecided(was, is, show(a), show(b), strings.TrimPrefix(says, is+": "))
	}
}

// list compares a list outside of which nothing is allowed. An additional item is headroom. An absent list
// bounds nothing.
func (c *comparer) list(f fields.Field, a, b reflect.Value, was, is string) {
	switch {
	case a.Kind() == reflect.String: // the folder of the only environment
		c.folder(a.String(), b.String(), was, is)
		return
	case a.IsNil() && !f.None:
		c.lower(diff.Added, was, is, "", show(b), is+" lists "+orNothing(show(b))+", and nothing else any more")
		return
	case b.IsNil() && !f.None:
		c.raise(diff.Removed, was, is, show(a), "", was+" is gone, which listed "+orNothing(show(a)))
		return
	case f.Policy == "PythonImports.Allow" && (a.Len() == 0) != (b.Len() == 0):
		c.undecided(was, is, show(a), show(b),
			"one of the lists is empty and means the default set, and the other list names modules")
		return
	}
	old, now := texts(a), texts(b)
	before, after := layers.Covering(f.Items, old), layers.Covering(f.Items, now)
	for i, item := range now {
		if !before(item) {
			c.raise(diff.Added, was, at(is, i), "", item, is+" now holds "+item)
		} else if !slices.Contains(old, item) {
			c.tell(diff.Neutral, diff.Added, was, at(is, i), "", item, is+" now holds "+item,
				"the old list covers it")
		}
	}
	for i, item := range old {
		if !after(item) {
			c.lower(diff.Removed, at(was, i), is, item, "", is+" no longer holds "+item)
		}
	}
}

func (c *comparer) folder(old, now, was, is string) {
	switch "" {
	case old:
		c.lower(diff.Added, was, is, old, now, is+" is "+now+" now, and was left to the documents below")
	case now:
		c.raise(diff.Removed, was, is, old, now, was+" is left to the documents below")
	default:
		c.undecided(was, is, old, now, "it is "+now+" now, and was "+old)
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// denials compares lists of denials: a removed item is headroom.
func (c *comparer) denials(f fields.Field, a, b reflect.Value, was, is string) {
	if a.Type().Elem().Kind() != reflect.String {
		c.schemas(a, b, was, is)
		return
	}
	old, now := texts(a), texts(b)
	before, after := layers.Covering(f.Items, old), layers.Covering(f.Items, now)
	for i, item := range old {
		switch {
		case slices.Contains(now, item):
		case after(item):
			c.tell(diff.Neutral, diff.Removed, at(was, i), is, item, "", was+" no longer holds "+item,
				"what is left of the list denies it")
		default:
			c.raise(diff.Removed, at(was, i), is, item, "", was+" no longer holds "+item)
		}
	}
	for i, item := range now {
		if !before(item) {
			c.lower(diff.Added, was, at(is, i), "", item, is+" now holds "+item)
		}
	}
}

// schemas compares the schemas that a call must match.
func (c *comparer) schemas(a, b reflect.Value, was, is string) {
	switch {
	case a.Len() == 0:
		c.lower(diff.Added, was, is, "", show(b), is+" has to match now")
	case b.Len() == 0:
		c.raise(diff.Removed, was, is, show(a), "", was+" was removed")
	default:
		c.undecided(was, is, show(a), show(b), "the schema was replaced")
	}
}

func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func texts(v reflect.Value) []string {
	out := make([]string, v.Len())
	for i := range out {
		out[i] = v.Index(i).String()
	}
	return out
}
