// Package paths compares paths as text: /a/b covers /a/b/c but not /a/bc. Paths are clean. They are absolute
// or start with a place such as $WORKSPACE, which only itself and / cover. Links are not followed. Package
// profiles and the file view of the kernel ring use it.
package paths

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Set is a set of paths. Each covers itself and everything below it. The nil Set is empty. A Set is
// immutable.
type Set map[string]struct{}

// Of returns the set of the given paths.
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

// CoverAll reports whether the set covers all of the paths.
func (s Set) CoverAll(paths []string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return !s.Cover(p) })
}

// HasAll reports whether all of the paths are in the set.
func (s Set) HasAll(paths []string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return !s.Has(p) })
}

// Closest returns the entry for name, or the entry of its nearest ancestor. The parts of a name are separated
// by sep. "/" covers every clean absolute path.
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

// Topmost returns the paths that neither the set nor another of the paths covers, sorted and without
// duplicates. The result is never nil.
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

// Outside returns the paths that the set does not cover, sorted and without duplicates. The result is never
// nil.
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

// Ambiguous finds the base names that several of the paths outside the set share. It returns them sorted,
// each as name=path with the first of its paths.
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
