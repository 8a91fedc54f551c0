package layers

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

// Covering returns a function that reports whether a list contains an item, or an item that covers it.
func Covering(items fields.Items, list []string) func(item string) bool {
	covers := func(string) bool { return false }
	switch items {
	case fields.Paths:
		outside := outsideOf(list)
		covers = func(item string) bool { return !outside(item) }
	case fields.Modules:
		covers = func(item string) bool {
			return slices.Contains(list, "*") || item != "*" && modules.Covered(plainName(item), list)
		}
	case fields.Phrases:
		covers = func(item string) bool {
			return slices.ContainsFunc(list, func(words string) bool { return strings.HasPrefix(item, words+" ") })
		}
	case fields.Addresses:
		patterns := patternsOf(list)
		covers = func(item string) bool {
			p, err := egress.ReadPattern(item)
			return err == nil && slices.ContainsFunc(patterns, func(q egress.Pattern) bool { return q.Holds(p) })
		}
	case fields.Hosts:
		covers = func(item string) bool {
			return slices.ContainsFunc(list, func(other string) bool { return hostWithin(item, other) })
		}
	}
	return func(item string) bool { return slices.Contains(list, item) || covers(item) }
}

// hostWithin reports whether a denied host, with its ports, is within another one.
func hostWithin(a, b string) bool {
	x, y := ReadEntry(&schema.Egress{Host: a}, true), ReadEntry(&schema.Egress{Host: b}, true)
	return x.Readable && y.Readable && y.Pattern.Covers(x.Pattern) && x.Within(&y)
}
