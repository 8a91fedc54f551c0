package rootfs

import (
	"path"

	"github.com/ringd/ringd/profiles"
)

// libraries makes nodes of granted libraries and of those in granted folders, each with its closure, and
// returns the rules with real paths. Other files stay as they are: a program among them does not start.
func (r *resolver) libraries(rules []profiles.PathRule) []profiles.PathRule {
	out := make([]profiles.PathRule, 0, len(rules))
	s := search{resolver: r, left: maxLibraries}
	for _, rule := range rules {
		p, ok := r.find(rule)
		if !ok || !r.grantable(rule, p) || !r.steady(rule, p) || r.denied.Cover(p.real) {
			continue
		}
		if r.written.Cover(p.real) {
			r.refuse(rule, "keep libraries in a folder that no guest may write",
				"is granted for its libraries and a guest may change it")
			continue
		}
		out = append(out, profiles.PathRule{Path: p.real, Rule: rule.Rule})
		r.follow(p)
		s.rule, s.entries, s.full = rule, maxEntries, false
		if p.info.dir() {
			s.folder(p.real, maxDepth)
		} else if !s.take(p) {
			r.refuse(
				rule, "name a shared object, or a folder of them",
				"is no library for this machine, or lacks one that it needs",
			)
		}
	}
	return out
}

// search looks for libraries.
type search struct {
	*resolver
	rule    profiles.PathRule
	left    int // libraries that may still be found
	entries int // entries that may still be examined
	full    bool
}

// folder takes the libraries in a folder and below it. Links that lead out of the granted folders are not
// followed.
func (s *search) folder(dir string, depth int) {
	names := s.list(dir)
	if s.entries -= len(names); s.entries < 0 || depth == 0 {
		s.stop("holds more than %d entries, or folders deeper than %d", maxEntries, maxDepth)
	}
	for _, name := range names {
		if s.full {
			return
		}
		p, err := s.walk(path.Join(dir, name))
		switch {
		case err != nil, s.denied.Cover(p.real), s.written.Cover(p.real):
		case p.info.dir() && len(p.links) == 0:
			s.folder(p.real, depth-1)
		case p.info.regular() && (len(p.links) == 0 || path.Dir(p.real) == dir):
			s.take(p)
		}
	}
}

// stop rejects the rule, once, because there are too many files.
func (s *search) stop(format string, args ...any) {
	if !s.full {
		s.full = true
		s.refuse(s.rule, "grant the folders that hold the libraries, or the libraries themselves", format, args...)
	}
}

// take makes nodes of a library and of its dependencies. A library that lacks one is left out: it could not be
// loaded on the host either.
func (s *search) take(p place) bool {
	if n := s.nodes[p.real]; n != nil && n.load {
		s.follow(p)
		return true
	}
	o, err := s.object(p)
	if err != nil || !o.library() || s.granted.Has(p.real) {
		return false
	}
	need, err := s.lib.closure(p, p.real, o, s.musl)
	if err != nil {
		return false
	}
	for _, l := range need {
		if s.denied.Cover(l.real) || s.written.Cover(l.real) {
			return false
		}
	}
	if s.left--; s.left < 0 {
		s.stop("holds more than %d libraries", maxLibraries)
		return false
	}
	if !s.trusted(s.rule, p, "holds "+p.real+", which ") {
		return false
	}
	s.file(s.rule, p, false, true)
	for _, l := range need {
		if !s.part(s.rule, l.place) {
			return false
		}
		s.file(s.rule, l.place, false, true)
	}
	return true
}
