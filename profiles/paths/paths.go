// Package paths compares paths as text: /a/b covers /a/b/c and not /a/bc. Paths
// are clean, and absolute or below a place such as $WORKSPACE, which nothing but
// itself and / covers. It is pure, and follows no link. Profiles and the view of
// the kernel ring use it.
package paths

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Set holds paths; each covers itself and what lies below it. The nil Set is
// empty. It is not changed after it was made.
type Set map[string]struct{}

// Of makes a set.
func Of(paths ...string) Set {
	s := make(Set, len(paths))
	for _, p := range paths {
		s[p] = struct{}{}
	}
	return s
}

// Has reports whether p itself is in the set.
func (s Set) Has(p string) bool {
	_, ok := s[p]
	return ok
}

// Cover reports whether p or a folder above it is in the set.
func (s Set) Cover(p string) bool { return s.Has(p) || s.Above(p) }

// Above reports whether a folder above p is in the set. / is above every place.
func (s Set) Above(p string) bool {
	if len(s) == 0 || p == "/" {
		return false
	}
	for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p[:i], '/') {
		if s.Has(p[:i]) {
			return true
		}
	}
	return s.Has("/")
}

// CoverAll reports whether the set covers every one of the paths.
func (s Set) CoverAll(paths []string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return !s.Cover(p) })
}

// HasAll reports whether every one of the paths is in the set.
func (s Set) HasAll(paths []string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return !s.Has(p) })
}

// Closest finds the entry for name or for the closest of those that cover it: the
// parts of a name end at sep, and a clean absolute path is covered by "/".
func Closest[T any](m map[string]*T, name string, sep byte) *T {
	for len(m) > 0 {
		if at := m[name]; at != nil {
			return at
		}
		i := strings.LastIndexByte(name, sep)
		if i == 0 && sep == '/' && len(name) > 1 {
			i = 1
		}
		if i <= 0 {
			return nil
		}
		name = name[:i]
	}
	return nil
}

// Topmost gives the paths that neither the set nor another of them covers: each
// once, sorted, never nil.
func (s Set) Topmost(paths []string) []string {
	all := Of(paths...)
	out := make([]string, 0, len(paths))
	for p := range all {
		if !s.Cover(p) && !all.Above(p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// Outside lists what the set does not cover, sorted and each once; never nil.
func (s Set) Outside(paths []string) []string {
	out := []string{}
	for _, p := range paths {
		if !s.Cover(p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Ambiguous lists the last names that several of the paths have which the set does
// not cover, sorted, each as name=path with the first of its paths.
func (s Set) Ambiguous(paths []string) (out []string) {
	first, several := map[string]string{}, map[string]bool{}
	for _, p := range paths {
		if s.Cover(p) {
			continue
		}
		name := path.Base(p)
		if first[name] == "" {
			first[name] = p
		} else if first[name] != p {
			several[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(several)) {
		out = append(out, name+"="+first[name])
	}
	return out
}
