package layers

import (
	"maps"
	"slices"

	"github.com/ringd/ringd/schema"
)

func index(at string, i int) string { return schema.IndexPath(at, i) }

// keep returns the items of a child's list that were not rejected, and renumbers the positions of the
// following items.
func keep[T any](s *step, at string, list []T, refused map[int]bool) []T {
	if len(refused) == 0 {
		return list
	}
	kept := make([]T, 0, len(list))
	moved := schema.Origins{}
	for i, item := range list {
		if !refused[i] {
			schema.MoveOrigins(moved, index(at, len(kept)), s.child.Origins, index(at, i), item)
			kept = append(kept, item)
		}
	}
	for i, item := range list {
		schema.ForgetOrigins(s.child.Origins, index(at, i), item)
	}
	maps.Copy(s.child.Origins, moved)
	return kept
}

// accumulate puts the items of the layers above before the items of the child. If an item is in both lists,
// the one of the layer above is kept. A child without items gets the list of the layer above.
func accumulate[T any](s *step, w site, own, above []T, key func(T) string) []T {
	if len(above) == 0 {
		return own
	}
	known := make(map[string]bool, len(above))
	for _, item := range above {
		known[key(item)] = true
	}
	moved := schema.Origins{}
	if o, ok := s.parent.Origins[w.above]; ok && own == nil {
		moved[w.own] = o
	}
	out := make([]T, 0, len(above)+len(own))
	for i, item := range above {
		schema.MoveOrigins(moved, index(w.own, i), s.parent.Origins, index(w.above, i), item)
		out = append(out, item)
	}
	for i, item := range own {
		if !known[key(item)] {
			schema.MoveOrigins(moved, index(w.own, len(out)), s.child.Origins, index(w.own, i), item)
			out = append(out, item)
		}
	}
	for i, item := range own {
		schema.ForgetOrigins(s.child.Origins, index(w.own, i), item)
	}
	maps.Copy(s.child.Origins, moved)
	return out
}

// copied returns a pointer to a copy, or nil for nil.
func copied[T any](p *T) *T {
	out := new(T)
	if p != nil {
		*out = *p
	}
	return out
}

// same is the key function for items that are their own key.
func same(s string) string { return s }

// outside returns the index of the first item that is not in of, or -1.
func outside[T comparable](list, of []T) (first int) {
	return slices.IndexFunc(list, func(x T) bool { return !slices.Contains(of, x) })
}
