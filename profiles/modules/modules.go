// Package modules owns what names of modules mean: which are names at all, which
// cover others, which are Python's standard library and its default set, and which
// entry of an import list decides a name. It is pure; package profiles asks it.
package modules

import (
	"slices"
	"strings"
)

// Valid reports whether a name is one that JavaScript, or Python, imports.
func Valid(javascript bool, name string) bool {
	if javascript {
		return specifier(name)
	}
	return len(name) <= 255 && Dotted(name)
}

// specifier reports whether name is a JavaScript module that no loader reads as
// another one: a loader may clean a path.
func specifier(name string) bool {
	if name == "" || len(name) > 255 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '\\' || c == '%' || c == '?' || c == '#' {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// Dotted reports whether name is ASCII identifiers joined by dots. Python folds
// other identifiers together, so they are no names here.
func Dotted(name string) bool {
	start := true
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			start = false
		case '0' <= c && c <= '9' && !start:
		case c == '.' && !start:
			start = true
		default:
			return false
		}
	}
	return !start
}

// Within gives the module names that both lists cover, a name covering its
// submodules: a set without a name that another covers, sorted. A nil list
// covers everything; the result is never nil.
func Within(only, names []string) []string {
	more := make([]string, 0, len(names))
	for _, n := range names {
		if n = strings.TrimSuffix(n, ".*"); only == nil || Covered(n, only) {
			more = append(more, n)
		}
	}
	for _, o := range only {
		if Covered(o, names) {
			more = append(more, o)
		}
	}
	slices.Sort(more)
	more = slices.Compact(more)
	least := make([]string, 0, len(more))
	for i, n := range more {
		if !Covered(n, more[:i]) { // what covers n is shorter, and sorts before it
			least = append(least, n)
		}
	}
	return least
}

// Covered reports whether name is one of the names or a submodule of one.
func Covered(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		n = strings.TrimSuffix(n, ".*")
		return name == n || strings.HasPrefix(name, n) && name[len(n)] == '.'
	})
}
