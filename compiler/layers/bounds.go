package layers

import (
	"reflect"
	"slices"

	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// entryLimit is one field of a schema.EgressLimits.
type entryLimit struct {
	name string
	unit fields.Unit
	text func(*schema.EgressLimits) *string // nil for connections, which is a number
	of   func(*schema.Entry) *int64
}

func entryLimits() [4]entryLimit { // an array, because it is called for each entry
	return [4]entryLimit{
		{"up", fields.Size, func(l *schema.EgressLimits) *string { return &l.Up },
			func(e *schema.Entry) *int64 { return &e.Up }},
		{"down", fields.Size, func(l *schema.EgressLimits) *string { return &l.Down },
			func(e *schema.Entry) *int64 { return &e.Down }},
		{"rate", fields.Rate, func(l *schema.EgressLimits) *string { return &l.Rate },
			func(e *schema.Entry) *int64 { return &e.PerMinute }},
		{"connections", fields.Count, nil, func(e *schema.Entry) *int64 { return &e.Connections }},
	}
}

// get reads a limit. It returns false if the limit is absent or invalid.
func (f entryLimit) get(l *schema.EgressLimits) (int64, bool) {
	switch {
	case l == nil:
		return 0, false
	case f.text != nil:
		return readUnit(f.unit, *f.text(l))
	case l.Connections == nil:
		return 0, false
	default:
		return *l.Connections, true
	}
}

func (f entryLimit) written(l *schema.EgressLimits) bool {
	return l != nil && (f.text != nil && *f.text(l) != "" || f.text == nil && l.Connections != nil)
}

func (f entryLimit) set(l, from *schema.EgressLimits) {
	if f.text != nil {
		*f.text(l) = *f.text(from)
	} else {
		l.Connections = from.Connections
	}
}

// entryLimitsOf lowers the limits of an entry to the lowest limits of the entries of the layer above that
// bound the entry.
func entryLimitsOf(s *step, path string, own *schema.EgressLimits, above *entries, bounds []int) *schema.EgressLimits {
	was := own
	own = copied(own)
	for _, f := range entryLimits() {
		least, at := int64(0), -1
		for _, i := range bounds {
			if n, ok := f.get(above.List[i].Limits); ok && (at < 0 || n < least) {
				least, at = n, i
			}
		}
		if at < 0 {
			continue
		}
		mergeEntryLimit(s, f, site{path, index(above.Path, at) + ".limits"}, own, above.List[at].Limits)
	}
	if was == nil && *own == (schema.EgressLimits{}) {
		return nil
	}
	return own
}

// mergeEntryLimit merges one limit. If the child does not set the limit, it gets the limit of the entry of
// the layer above.
func mergeEntryLimit(s *step, f entryLimit, w site, own, above *schema.EgressLimits) {
	here := w.field(f.name)
	most, bound := f.get(above)
	n, ok := f.get(own)
	switch {
	case !bound || f.written(own) && (!ok || n <= most):
		return
	case f.written(own):
		s.tooMuch(here, showUnit(f.unit, n), showUnit(f.unit, most))
	}
	f.set(own, above)
	schema.MoveOrigins(s.child.Origins, here.own, s.parent.Origins, here.above, "")
	s.inheritOrigin(w)
}

// closer finds entries of the layer above that are more specific than an entry of the child. A decision uses
// the most specific entry. So if the layer above limits such an entry, the child must limit it too, and
// closer reports a child that does not. The result maps the index of a child entry to the indexes of the
// limited entries whose hosts the child entry covers.
func closer(s *step, lines []Entry, refused map[int]bool, above *entries) map[int][]int {
	if !slices.ContainsFunc(above.List, func(q Entry) bool { return q.Limits != nil || q.Powers != nil }) {
		return nil
	}
	kept := make([]Entry, len(lines))
	for i, e := range lines {
		if kept[i] = e; refused[i] {
			kept[i].Readable = false
		}
	}
	own := indexEntries(atEgress, kept)
	inner := map[int][]int{}
	for j := range above.List {
		q := &above.List[j]
		if !q.Readable || q.Limits == nil && q.Powers == nil {
			continue
		}
		var meets []int
		for _, i := range own.Covering(q) {
			if own.List[i].Meets(q) {
				meets = append(meets, i)
				inner[i] = append(inner[i], j)
			}
		}
		for _, i := range own.First(q, meets) {
			if e := &own.List[i]; !q.Pattern.Covers(e.Pattern) && !above.Passes(q, e) {
				looser(s, i, e, j, q)
				e.Under = shared(s, e.Under, above, j)
			}
		}
	}
	return inner
}

// looser reports an entry e of the child if the layer above has a lower limit for q, an entry whose host e
// covers. Then the lower limit applies to all of e.
func looser(s *step, i int, e *Entry, j int, q *Entry) {
	reported := false
	for _, f := range entryLimits() {
		most, bound := f.get(q.Limits)
		if n, ok := f.get(e.Limits); !bound || ok && n <= most {
			continue
		}
		path, up := index(atEgress, i), index(atEgress, j)+".limits."+f.name
		if !reported {
			s.refuse(CodeWidens, site{path + ".host", up},
				"write an entry for "+q.Host+" as well: the most specific entry decides",
				"%s holds %s, for which %s limits %s to %s", clip(e.Host), q.Host, s.shown(up), f.name,
				showUnit(f.unit, most))
		}
		reported = true
		e.Limits = copied(e.Limits)
		f.set(e.Limits, q.Limits)
		schema.MoveOrigins(s.child.Origins, path+".limits."+f.name, s.parent.Origins, up, "")
	}
}

// mergeEntryPowers merges powers. A power stays if any of the entries of the layer above declares it for the
// same target.
func mergeEntryPowers(s *step, at string, own **schema.Touches, above *entries, of []int) {
	if !slices.ContainsFunc(of, func(i int) bool { return above.List[i].Powers != nil }) {
		return
	}
	for _, f := range s.rules.of(reflect.TypeFor[schema.Touches]()) {
		from := -1
		for k, i := range of {
			t := above.List[i].Powers
			if t == nil {
				continue
			}
			stated := reflect.ValueOf(t).Elem().Field(f.index)
			if stated.IsNil() || !stated.Elem().Bool() && k > 0 {
				continue
			}
			if from = i; stated.Elem().Bool() {
				break
			}
		}
		if from < 0 {
			continue
		}
		w := site{at + ".powers", index(above.Path, from) + ".powers"}
		s.inheritOrigin(w)
		*own = copied(*own)
		s.mergeField(f, reflect.ValueOf(*own).Elem().Field(f.index),
			reflect.ValueOf(above.List[from].Powers).Elem().Field(f.index), w.field(f.name))
	}
}
