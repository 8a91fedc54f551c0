package layers

import (
	"slices"

	"github.com/ringd/ringd/schema"
)

// shared returns the entries of the layers above whose limits also apply to an entry, the outermost first. It
// includes the entries with which those entries share limits. The entry's own limits are not sufficient,
// because two entries within one entry of the layer above would double that entry's limit.
func shared(s *step, have []schema.Entry, list *entries, of ...int) []schema.Entry {
	have = slices.Clone(have)
	for _, j := range of {
		o := &list.List[j]
		for _, up := range o.Under {
			have = joined(have, up)
		}
		if own, limited := budget(o); limited {
			where := s.parentOrigin(index(list.Path, j))
			own.Pos, own.Path, own.Layer = where.Pos, where.Path, where.Layer
			have = joined(have, own)
		}
	}
	return have
}

// budget returns an entry with its own limits, and without its position. It returns false if the entry has no
// limits of its own. A limit that the entry has from a layer above, and has not lowered, is not its own.
func budget(o *Entry) (schema.Entry, bool) {
	out := schema.Entry{Host: o.Name, AnyPort: o.Any, Methods: o.Methods, Paths: o.Paths}
	limited := false
	for _, f := range entryLimits() {
		n, ok := f.get(o.Limits)
		if !ok || slices.ContainsFunc(o.Under, func(up schema.Entry) bool {
			most := *f.of(&up)
			return most > 0 &&
				most <= n
		}) {
			continue
		}
		*f.of(&out), limited = n, true
	}
	if limited {
		out.Ports = slices.Clone(o.On)
		slices.Sort(out.Ports)
	}
	return out, limited
}

// joined adds an entry to a list. If the list has an equal entry, only the limits are added to that entry.
func joined(list []schema.Entry, e schema.Entry) []schema.Entry {
	same := func(o schema.Entry) bool {
		return o.Layer == e.Layer && o.Host == e.Host && o.AnyPort == e.AnyPort && slices.Equal(o.Ports, e.Ports) &&
			slices.Equal(o.Methods, e.Methods) && slices.Equal(o.Paths, e.Paths)
	}
	i := slices.IndexFunc(list, same)
	if i < 0 {
		return append(list, e)
	}
	for _, f := range entryLimits() {
		to, n := f.of(&list[i]), *f.of(&e)
		if *to == 0 || n != 0 && n < *to {
			*to = n
		}
	}
	return list
}
