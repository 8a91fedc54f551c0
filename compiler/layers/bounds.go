package layers

import (
	"slices"

	"github.com/ringd/ringd/schema"
)

// entryLimit is one field of a schema.EgressLimits.
type entryLimit struct {
	name string
	kind func() measure
	text func(*schema.EgressLimits) *string
	of   func(*schema.Entry) *int64
}

func entryLimits() [4]entryLimit { // no slice: it is asked for with each entry
	return [4]entryLimit{
		{"up", size, func(l *schema.EgressLimits) *string { return &l.Up }, func(e *schema.Entry) *int64 { return &e.Up }},
		{"down", size, func(l *schema.EgressLimits) *string { return &l.Down }, func(e *schema.Entry) *int64 { return &e.Down }},
		{"rate", rate, func(l *schema.EgressLimits) *string { return &l.Rate }, func(e *schema.Entry) *int64 { return &e.PerMinute }},
		{"connections", number, nil, func(e *schema.Entry) *int64 { return &e.Connections }},
	}
}

// get reads a limit; false: there is none, or it cannot be read.
func (f entryLimit) get(l *schema.EgressLimits) (int64, bool) {
	switch {
	case l == nil:
		return 0, false
	case f.text != nil:
		return f.kind().read(*f.text(l))
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

// entryLimits puts the limits of an entry under the least of those that bound it.
func (s *step) entryLimits(path string, own *schema.EgressLimits, above *entries, bounds []int) *schema.EgressLimits {
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
		s.entryLimit(f, path, index(above.Path, at)+".limits", own, above.List[at].Limits)
	}
	if was == nil && *own == (schema.EgressLimits{}) {
		return nil
	}
	return own
}

// entryLimit takes one limit; absent, it is that of the entry above.
func (s *step) entryLimit(f entryLimit, path, up string, own, above *schema.EgressLimits) {
	here, there := path+"."+f.name, up+"."+f.name
	most, bound := f.get(above)
	n, ok := f.get(own)
	switch {
	case !bound || f.written(own) && (!ok || n <= most):
		return
	case f.written(own):
		s.tooMuch(here, there, f.kind().show(n), f.kind().show(most))
	}
	f.set(own, above)
	schema.MoveOrigins(s.child.Origins, here, s.parent.Origins, there, "")
	s.place(path, up)
}

// closer looks at the entries above that lie inside of one of the child's: a decision
// takes the closest, so where the layer above limits such a part by itself, the child
// has to as well. It gives for each line the parts that it holds.
func (s *step) closer(lines []Entry, refused map[int]bool, above *entries) map[int][]int {
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
				s.looser(i, e, j, q)
				e.Under = s.shared(e.Under, above, j)
			}
		}
	}
	return inner
}

// looser reports an entry that holds a part for which the layer above has a lower limit,
// and takes that limit for all of it.
func (s *step) looser(i int, e *Entry, j int, q *Entry) {
	reported := false
	for _, f := range entryLimits() {
		most, bound := f.get(q.Limits)
		if n, ok := f.get(e.Limits); !bound || ok && n <= most {
			continue
		}
		path, up := index(atEgress, i), index(atEgress, j)+".limits."+f.name
		if !reported {
			s.refuse(CodeWidens, path+".host", up, "write an entry for "+q.Host+" as well: the closest entry counts",
				"%s holds %s, for which %s limits %s to %s", clip(e.Host), q.Host, shown(s.above(up)), f.name, f.kind().show(most))
		}
		reported = true
		e.Limits = copied(e.Limits)
		f.set(e.Limits, q.Limits)
		schema.MoveOrigins(s.child.Origins, path+".limits."+f.name, s.parent.Origins, up, "")
	}
}

// entryPowers: what any of the entries above says that a target brings stands.
func (s *step) entryPowers(path string, own *schema.Touches, above *entries, of []int) *schema.Touches {
	for _, f := range []struct {
		name string
		get  func(*schema.Touches) **bool
	}{
		{"sensitive", func(t *schema.Touches) **bool { return &t.Sensitive }},
		{"untrusted", func(t *schema.Touches) **bool { return &t.Untrusted }},
		{"external", func(t *schema.Touches) **bool { return &t.External }},
	} {
		from := -1
		for k, i := range of {
			t := above.List[i].Powers
			if t == nil || *f.get(t) == nil || !**f.get(t) && k > 0 {
				continue
			}
			if from = i; **f.get(t) {
				break
			}
		}
		if from < 0 {
			continue
		}
		up := index(above.Path, from) + ".powers"
		one := &schema.Touches{}
		*f.get(one) = *f.get(above.List[from].Powers)
		own = s.touches(path, up, own, one)
	}
	return own
}
