package layers

import (
	"slices"

	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

func mergeRead(s *step, own, above *schema.Filesystem, w site) {
	own.Read = mergeFiles(s, own.Read, above.Read, w.field("read"), above.Deny, w.above+".deny")
	own.Under.Read = foldersBelow(own.Read, above.Read, own.Under.Read, above.Under.Read)
}

func mergeWrite(s *step, own, above *schema.Filesystem, w site) {
	own.Write = mergeFiles(s, own.Write, above.Write, w.field("write"), above.Deny, w.above+".deny")
	own.Under.Write = foldersBelow(own.Write, above.Write, own.Under.Write, above.Under.Write)
}

// mergeFiles keeps the paths of the child that are below a path of the layer above and that the layer above
// does not deny. If an agent has no list, it gets no paths.
func mergeFiles(s *step, own, above []string, w site, deny []string, denyAt string) []string {
	if own == nil {
		if s.grants || above == nil {
			return nil
		}
		return inherit(s, w, above)
	}
	denied := make(map[string]*int, len(deny))
	for i, p := range deny {
		denied[p] = &i
	}
	offered := paths.Of(above...)
	refused := map[int]bool{}
	for i, p := range own {
		here := index(w.own, i)
		if j := paths.Closest(denied, p, '/'); j != nil {
			s.denied(site{here, index(denyAt, *j)}, p)
		} else if above != nil && !offered.Cover(p) {
			s.notAllowed(site{here, w.above}, p, above)
		} else {
			continue
		}
		refused[i] = true
	}
	return keep(s, w.own, own, refused)
}

// foldersBelow records for each path the folders that must contain it: the closest path of the layer above
// that covers it, and the folders recorded for that path. Here paths are compared as text. Only the host
// sees links in a path, and checks that the resolved path is below each of the folders.
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
