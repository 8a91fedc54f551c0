// This file owns which paths of the layers above a path lies below, as all of them
// are written. It is pure and follows no link: the host does, and holds what a path leads
// to to them. Package layers calls it.

package layers

import (
	"slices"

	"github.com/ringd/ringd/profiles/paths"
)

// foldersBelow notes for each path the closest one above that covers it, with those that this one
// lies below. A link in between may lead elsewhere, which only the host sees.
func foldersBelow(own, above []string, have, up map[string][]string) map[string][]string {
	offered := make(map[string]*string, len(above))
	for i := range above {
		offered[above[i]] = &above[i]
	}
	out := map[string][]string{}
	for _, p := range own {
		all := slices.Clone(have[p])
		if closest := paths.Closest(offered, p, '/'); closest != nil {
			all = append(all, up[*closest]...)
			if *closest != p && *closest != "/" {
				all = append(all, *closest)
			}
		}
		if slices.Sort(all); len(all) > 0 {
			out[p] = slices.Compact(all)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
