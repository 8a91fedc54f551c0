package diff

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

// number compares a limit: a higher one widens.
func (c *comparer) number(s spot, a, b reflect.Value) {
	old, had := amount(a)
	now, has := amount(b)
	if s.row.order == orNone {
		old, now = max(old, 0), max(now, 0)
	}
	what, was, is := s.says(0), s.row.unit.text(old), s.row.unit.text(now)
	switch {
	case c.fresh, had == has && old == now:
	case !had:
		ch := s.changed("", is).undecided(what+" is "+is+" now", "what it was before is not in the set")
		ch.Kind = Added
		c.add(ch)
	case !has:
		ch := s.changed(was, "").undecided(what+" is not in the set any more", "what it is now is not in the set")
		ch.Kind = Removed
		c.add(ch)
	case s.row.order == orNone && old == 0:
		ch := s.changed("", is).as(Narrows, what+" is limited to "+is, "")
		ch.Kind = Added
		c.add(ch)
	case s.row.order == orNone && now == 0:
		ch := s.changed(was, "").as(Widens, what+" has no limit any more; it was "+was, "")
		ch.Kind = Removed
		c.add(ch)
	case now > old:
		c.add(s.changed(was, is).as(Widens, what+" is raised from "+was+" to "+is, ""))
	default:
		c.add(s.changed(was, is).as(Narrows, what+" is lowered from "+was+" to "+is, ""))
	}
}

// amount reads a number that may be absent.
func amount(v reflect.Value) (int64, bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, false
		}
		v = v.Elem()
	}
	return v.Int(), true
}

// given compares a switch, or a list of texts of which an empty one gives nothing.
func (c *comparer) given(s spot, a, b reflect.Value) {
	if a.Kind() == reflect.Slice {
		c.further(s, a.Interface().([]string), b.Interface().([]string))
		return
	}
	old, now := a.Bool(), b.Bool()
	switch {
	case old == now:
	case s.row.order == restrains && now:
		c.add(s.changed(onOff(old), onOff(now)).as(Narrows, s.says(0), ""))
	case s.row.order == restrains:
		c.add(s.changed(onOff(old), onOff(now)).as(Widens, s.says(1), ""))
	default:
		c.flag(s, old, now)
	}
}

// flag compares a switch that gives something when it is on.
func (c *comparer) flag(s spot, old, now bool) {
	ch := s.changed(onOff(old), onOff(now))
	switch {
	case now && !old:
		ch.Kind = Added
		c.add(ch.as(Widens, s.says(0)+" is now granted", ""))
	case old && !now:
		ch.Kind = Removed
		c.add(ch.as(Narrows, s.says(0)+" is no longer granted", ""))
	}
}

// further compares a list of texts that each give something more.
func (c *comparer) further(s spot, a, b []string) {
	more, fewer := missing(b, a), missing(a, b)
	if len(more)+len(fewer) == 0 {
		return
	}
	all := strings.Split(s.row.says, "|")
	class := Widens
	if len(more) == 0 {
		class = Narrows
	}
	c.add(s.changed(listed(a, all[2]), listed(b, all[2])).as(class, s.says(0, listed(b, all[1])), ""))
}

// only compares lists of which an empty one gives everything.
func (c *comparer) only(s spot, a, b []string) {
	more, fewer := missing(b, a), missing(a, b)
	if len(a) > 0 == (len(b) > 0) && len(more)+len(fewer) == 0 {
		return
	}
	was, is, class := listed(a, s.says(1)), listed(b, s.says(1)), Widens
	if len(a) == 0 || len(b) > 0 && len(more) == 0 {
		class = Narrows
	}
	c.add(s.changed(was, is).as(class, s.says(0)+" "+is+" instead of "+was, ""))
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

// ranked compares words that are ordered from strict to loose.
func (c *comparer) ranked(s spot, a, b string) {
	if a == b {
		return
	}
	words := strings.Fields(s.row.words)
	was, is := slices.Index(words, a), slices.Index(words, b)
	ch := s.changed(cmp.Or(a, "default"), cmp.Or(b, "default"))
	says := s.says(0) + " is " + cmp.Or(b, "the default") + " now, and was " + cmp.Or(a, "the default")
	switch {
	case was < 0 || is < 0:
		c.add(ch.undecided(says, "one of the two is not known"))
	case is < was:
		c.add(ch.as(Narrows, says, ""))
	default:
		c.add(ch.as(Widens, says, ""))
	}
}

// free compares texts of which it is not known whether one gives more than another.
func (c *comparer) free(s spot, a, b []string) {
	if !slices.Equal(a, b) {
		c.add(s.changed(listed(a, "none"), listed(b, "none")).undecided(s.says(0)+" are others", "what a program makes of them is not decided here"))
	}
}

// remark compares what is said to people.
func (c *comparer) remark(s spot, a, b string) {
	if a != b {
		c.add(s.changed(a, b).as(Neutral, s.says(0), s.says(1)))
	}
}

// lasting is how long a grant lasts, and by which exception.
type lasting struct {
	exception string
	expires   *time.Time
}

func (l lasting) text() string { return strings.TrimSpace(l.exception + " " + l.until()) }

func (l lasting) until() string { return cmp.Or(expiry(l.expires), "for ever") }

// until compares how long a grant lasts.
func (c *comparer) until(s spot, was, is lasting) {
	if was.exception == is.exception && Same(was.expires, is.expires) {
		return
	}
	ch, says := s.changed(was.text(), is.text()), s.says(0)+" "+is.until()+" now"
	ch.Exception = cmp.Or(is.exception, was.exception)
	switch {
	case outlasts(is.expires, was.expires):
		ch = ch.as(Widens, says, "it lasts longer")
	case outlasts(was.expires, is.expires):
		ch = ch.as(Narrows, says, "it ends earlier")
	default:
		ch = ch.as(Neutral, says, "it lasts as long as before")
	}
	c.add(ch)
}

// optional compares a part that may be absent. One that gives something is compared with
// an empty one then.
func (c *comparer) optional(s spot, a, b reflect.Value) {
	if a.IsNil() && b.IsNil() {
		return
	}
	gives := s.row.order == opens
	empty := reflect.New(a.Type().Elem())
	s.single = a.IsNil() || b.IsNil()
	switch {
	case a.IsNil():
		s.old, s.now, a = nil, ruleOf(b.Elem(), "Rule", s.now), empty
		if gives || !c.fresh {
			c.add(s.added(show(b.Elem())).as(class(gives), s.says(0), ""))
		}
	case b.IsNil():
		s.old, s.now, b = ruleOf(a.Elem(), "Rule", s.old), nil, empty
		c.add(s.removed(show(a.Elem())).as(class(!gives), s.says(1), ""))
	default:
		s.old, s.now = ruleOf(a.Elem(), "Rule", s.old), ruleOf(b.Elem(), "Rule", s.now)
	}
	if gives || !s.single {
		c.walk(s, a.Elem(), b.Elem())
	}
}

// class is that of something that came, or of its opposite that went.
func class(gives bool) Class {
	if gives {
		return Widens
	}
	return Narrows
}

// entries compares lists whose entries have names. Those of one name are one entry, and
// the first of a name counts.
func (c *comparer) entries(s spot, a, b reflect.Value) {
	gives := s.row.order == opens
	came, went := 0, 1
	tails := [2]string{}
	if !strings.Contains(s.row.says, "|") {
		went, tails = 0, [2]string{" is now denied", " is no longer denied"}
	}
	old, now := c.named(a, gives), c.named(b, gives)
	for _, name := range both(old, now) {
		x, had := old[name]
		y, has := now[name]
		at := s.entry(name, x, y)
		switch {
		case had && has:
			at.subject = name
			c.walk(at, x, y)
		case has && (gives || !c.fresh):
			c.add(at.added(show(y)).as(class(gives), at.says(came, name, show(y))+tails[0], ""))
		case had:
			c.add(at.removed(show(x)).as(class(!gives), at.says(went, name, show(x))+tails[1], ""))
		}
	}
}

// entry is the spot of one entry of a list; one side may be absent.
func (s spot) entry(name string, x, y reflect.Value) spot {
	s.capability = strings.Replace(s.row.about, "%s", name, 1)
	s.old, s.now = ruleOf(x, "Rule", nil), ruleOf(y, "Rule", nil)
	return s
}

// pair is an entry on both sides; one is nil where only the other has it.
type pair[T any] struct{ old, now *T }

// spot is where the entry stands in a list.
func (p pair[T]) spot(list spot, name string) spot {
	return list.entry(name, reflect.ValueOf(p.old), reflect.ValueOf(p.now))
}

// pairs visits the entries of two lists by name, in the order of names. The first of a
// name counts.
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

// named indexes entries by the fields that tell them apart. Grants that have ended are
// left out.
func (c *comparer) named(list reflect.Value, gives bool) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for i := range list.Len() {
		e := list.Index(i)
		if at, is := field[*time.Time](e, "Expires"); gives && is && c.ended(at) {
			continue
		}
		var name []string
		for _, r := range c.rows[e.Type().Name()] {
			if r.order == key {
				name = append(name, e.FieldByName(r.field[len(e.Type().Name())+1:]).String())
			}
		}
		if k := strings.Join(name, " "); !out[k].IsValid() {
			out[k] = e
		}
	}
	return out
}

// field reads a field that a type may have.
func field[T any](v reflect.Value, name string) (out T, is bool) {
	if f := v.FieldByName(name); f.IsValid() {
		out, is = f.Interface().(T)
	}
	return out, is
}

// show writes a part or an entry in a line.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case profiles.JS, profiles.Python, profiles.Shell:
		return "granted"
	case profiles.Sessions:
		return Duration(x.AgeMillis) + ", " + size(x.Bytes)
	case profiles.RuleOfTwo:
		return strings.TrimSpace(cmp.Or(x.Mode, "enforce") + " " + x.OnThree + " " + x.Scope)
	case profiles.ImportRule:
		return "denied"
	case profiles.PythonEnvironment:
		return cmp.Or(x.Digest, "whatever is there")
	case profiles.Guardrail:
		return clip(x.Rego)
	case profiles.Gateway:
		out := cmp.Or(x.Upstream, "the upstream that the host names")
		if x.Credential != "" {
			out += " with the credential " + x.Credential
		}
		return out
	case profiles.Bridge:
		return "powers " + powersText(x.Powers) + "; approval " + approvalText(x.Approval)
	case profiles.Binary:
		return binaryText(&x)
	default:
		return ""
	}
}
