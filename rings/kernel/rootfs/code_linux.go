package rootfs

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// Limits of a search for objects among an executor's code: an environment of packages is larger than a folder
// of libraries.
const (
	maxCodeEntries = 100_000 // in all folders
	maxCodeDepth   = 32
)

// kept reports whether an executor may let its guest read, or load as code, the file of g. No guest may be able
// to change it, since others run by it. Code may only be changeable by trusted users.
func (r *resolver) kept(g grant) bool {
	const elsewhere = "keep it in a folder that no guest may write"
	what := "belongs to the executor"
	if r.loads.Has(g.real) {
		what = "is loaded as code"
	}
	if r.written.Cover(g.real) {
		r.refuse(g.rule, elsewhere, "%s and a guest may change it", what)
		return false
	}
	for _, w := range slices.Sorted(maps.Keys(r.written)) {
		if paths.Of(g.real).Cover(w) {
			r.refuse(g.rule, elsewhere, "%s and a guest may change %s in it", what, w)
			return false
		}
	}
	return !r.loads.Has(g.real) || r.trusted(g.rule, g.place, "")
}

// code makes nodes of the libraries that the objects among the executor's code need and that are not part of
// that code.
func (r *resolver) code() {
	s := objects{resolver: r, left: maxCodeEntries}
	for _, real := range slices.Sorted(maps.Keys(r.loads)) {
		n := r.nodes[real]
		if n == nil {
			continue // rejected
		}
		s.rule = n.rule
		switch {
		case n.info.dir():
			s.folder(real, maxCodeDepth)
		case n.info.regular():
			s.take(place{real: real, info: n.info})
		}
		if s.left < 0 {
			r.refuse(
				n.rule, "grant fewer packages", "holds more than %d entries, or folders deeper than %d", maxCodeEntries,
				maxCodeDepth,
			)
			return
		}
	}
}

// shown makes nodes of the folders in which a guest may list its entries.
func (r *resolver) shown() {
	for _, rule := range r.at.List {
		p, ok := r.find(rule)
		switch {
		case !ok, !r.grantable(rule, p), !r.steady(rule, p):
		case !p.info.dir():
			r.refuse(rule, "name a folder", "is no folder")
		case r.nodes[p.real] == nil:
			r.follow(p)
			r.nodes[p.real] = &node{info: p.info, list: true, rule: rule}
		}
	}
}

// objects looks for shared objects in folders of code.
type objects struct {
	*resolver
	rule profiles.PathRule
	left int // entries that may still be examined
}

// folder examines a folder and all below it. Denied files are hidden. Links are not followed: their targets are
// part of the code, or not available.
func (s *objects) folder(dir string, depth int) {
	names := s.list(dir)
	if s.left -= len(names); depth == 0 {
		s.left = -1
	}
	for _, name := range names {
		if s.left < 0 {
			return
		}
		at := path.Join(dir, name)
		i, err := s.stat(at)
		switch {
		case err != nil, s.denied.Has(at):
		case i.dir():
			s.folder(at, depth-1)
		case i.regular() && strings.Contains(name, ".so"):
			s.take(place{real: at, info: i})
		}
	}
}

// take makes nodes of the files that an object needs. If one is missing, the object could not be loaded on the
// host either, and no node is made.
func (s *objects) take(p place) {
	o, err := s.object(p)
	if err != nil || !o.shared {
		return
	}
	need, err := s.lib.closure(p, p.real, o, s.musl)
	if err != nil {
		return
	}
	for _, l := range need {
		if s.loads.Cover(l.real) {
			continue
		}
		if !s.part(s.rule, l.place) {
			return
		}
		s.file(s.rule, l.place, false, true)
	}
}
