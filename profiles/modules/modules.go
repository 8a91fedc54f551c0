// Package modules owns the meaning of module names: their syntax, which names cover others, Python's standard
// library and its default set, and which entry of an import list decides a name. Package profiles calls it.
package modules

import (
	"slices"
	"strings"
)

// Valid reports whether a name can be imported in JavaScript, or in Python if javascript is false.
func Valid(javascript bool, name string) bool {
	if javascript {
		return specifier(name)
	}
	return len(name) <= 255 && Dotted(name)
}

// specifier reports whether name is a JavaScript module name that every loader reads the same way. A loader
// may clean a path, so unclean ones are rejected.
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

// Dotted reports whether name is ASCII identifiers joined by dots. Python normalizes other identifiers, so
// two of them can be the same name: they are rejected.
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

// Within returns the module names that both lists cover, sorted. A name covers its submodules, and names that
// another one covers are left out. A nil list covers everything. The result is never nil.
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
		if !Covered(n, more[:i]) { // a covering name is shorter and sorts before n
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
