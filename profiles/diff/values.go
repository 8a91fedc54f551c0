package diff

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles/fields"
)

// leaf compares values that have no fields of their own, by the order in their row.
func (c *comparer) leaf(s spot, a, b reflect.Value) {
	was, is := text(s.row, a), text(s.row, b)
	if was == is || a.Kind() == reflect.Slice && s.row.Order != fields.Owner && same(stringsOf(a), stringsOf(b)) {
		return
	}
	ch := s.changed(was, is).as(Widens, s.changes(was, is), s.row.Why)
	switch s.row.Order {
	case fields.AtMost, fields.AtLeast:
		c.number(s, a, b)
		return
	case fields.Opens, fields.Restrains:
		ch = given(s, ch, a, b)
	case fields.Accumulates:
		ch.Class = grants(len(missing(stringsOf(a), stringsOf(b))) > 0)
	case fields.Subset:
		if a.Len() == 0 || b.Len() > 0 && len(missing(stringsOf(b), stringsOf(a))) == 0 {
			ch.Class = Narrows
		}
	case fields.Stricter:
		ch = ranked(s, ch, was, is)
	case fields.Annotation:
		ch.Class = Neutral
	default:
		ch.Undecided = true
		for _, k := range s.row.Cases {
			if (k.Old == "*" || k.Old == was) && (k.New == "*" || k.New == is) {
				ch.Undecided, ch.Class, ch.Why = false, grants(!k.Narrows), k.Why
				break
			}
		}
	}
	c.add(ch)
}

// text formats a value for people. An absent one is empty.
func text(r fields.SetField, v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return onOff(v.Bool())
	case reflect.Slice:
		return listed(stringsOf(v), r.None)
	case reflect.String:
		return cmp.Or(v.String(), r.None)
	default:
		n, has := amount(r, v)
		if !has {
			return ""
		}
		return unitText(r.Unit, n)
	}
}

// amount reads a number that may be absent.
func amount(r fields.SetField, v reflect.Value) (int64, bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, false
		}
		v = v.Elem()
	}
	return v.Int(), r.None == "" || v.Int() > 0
}

func stringsOf(v reflect.Value) []string { return v.Interface().([]string) }

// changes returns the sentence for a value: the new value and the old one.
func (s spot) changes(was, is string) string {
	out := nowWas(fill(s.row.Says, is), was)
	if s.subject != "" && !strings.Contains(s.row.Says, ": ") {
		out = s.subject + ": " + out
	}
	return out
}

// sentence returns the sentence for something that is added or removed.
func (s spot) sentence(came bool, name string) string {
	now, no, split := strings.Cut(s.row.Says, "|")
	switch name = cmp.Or(name, s.subject); {
	case split && came:
		return fill(now, name)
	case split:
		return fill(no, name)
	case came:
		return "may now " + fill(now, name)
	default:
		return "may no longer " + fill(now, name)
	}
}

// fill inserts a value into a sentence: "%s call[s] per run" becomes "1 call per run" for one.
func fill(says, value string) string {
	for _, end := range []string{"s", "es"} {
		ending := end
		if value == "1" {
			ending = ""
		}
		says = strings.ReplaceAll(says, "["+end+"]", ending)
	}
	return strings.Replace(says, "%s", value, 1)
}

// number compares a limit. If zero means no limit, a change from zero adds a limit, and a change to zero
// removes a limit. For other limits the effect of an absent value is unknown.
func (c *comparer) number(s spot, a, b reflect.Value) {
	old, had := amount(s.row, a)
	now, has := amount(s.row, b)
	if c.fresh {
		return
	}
	was, is, none := text(s.row, a), text(s.row, b), cmp.Or(s.row.None, "not set")
	ch, says := s.changed(was, is), s.changes(cmp.Or(was, none), cmp.Or(is, none))
	switch {
	case !had && s.row.None == "":
		ch.Kind = Added
		ch = ch.undecided(says, "what it was before is not in the set")
	case !has && s.row.None == "":
		ch.Kind = Removed
		ch = ch.undecided(says, "what it is now is not in the set")
	case !had:
		ch.Kind = Added
		ch = ch.as(Narrows, says, "")
	case !has:
		ch.Kind = Removed
		ch = ch.as(Widens, says, "")
	default:
		ch = ch.as(grants((now > old) == (s.row.Order == fields.AtMost)), says, "")
	}
	c.add(ch)
}

// given compares a switch, or a list of texts that grants nothing if it is empty.
func given(s spot, ch Change, a, b reflect.Value) Change {
	switch {
	case a.Kind() == reflect.Slice:
		ch.Class = grants(len(missing(stringsOf(b), stringsOf(a))) > 0)
	case s.row.Order == fields.Restrains:
		ch.Class = grants(a.Bool())
	case b.Bool():
		ch.Kind, ch.Says = Added, s.sentence(true, "")
	default:
		ch.Kind, ch.Class, ch.Says = Removed, Narrows, s.sentence(false, "")
	}
	return ch
}

// ranked compares words that are ordered from loose to strict.
func ranked(s spot, ch Change, old, now string) Change {
	stricter, looser, _ := strings.Cut(s.row.Why, "|")
	was, is := slices.Index(s.row.Words, old), slices.Index(s.row.Words, now)
	switch {
	case was < 0 || is < 0:
		ch.Undecided, ch.Why = true, "one of the two is not known"
	case is > was:
		ch.Class, ch.Why = Narrows, stricter
	default:
		ch.Why = looser
	}
	return ch
}

// missing lists the items of a that are not in b.
func missing(a, b []string) (out []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// same reports whether two lists have the same items in any order.
func same(a, b []string) bool { return len(missing(a, b))+len(missing(b, a)) == 0 }

// lasting is the expiry of a grant, and its exception.
type lasting struct {
	exception string
	expires   *time.Time
}

func (l lasting) until() string { return cmp.Or(expiry(l.expires), "for ever") }

// until compares the expiries of a grant.
func until(c *comparer, s spot, was, is lasting) {
	if was.exception == is.exception && Same(was.expires, is.expires) {
		return
	}
	ch := s.changed(strings.TrimSpace(was.exception+" "+was.until()), strings.TrimSpace(is.exception+" "+is.until()))
	ch = ch.as(Neutral, s.changes(ch.Old, ch.New), "it lasts as long as before")
	ch.Exception = cmp.Or(is.exception, was.exception)
	switch {
	case outlasts(is.expires, was.expires):
		ch.Class, ch.Why = Widens, "it lasts longer"
	case outlasts(was.expires, is.expires):
		ch.Class, ch.Why = Narrows, "it ends earlier"
	}
	c.add(ch)
}
