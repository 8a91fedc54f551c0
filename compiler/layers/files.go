package layers

import (
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

// filesystem: paths lie below those that the layer above lists.
func (s *step) filesystem(own, above *schema.Spec) {
	const at = "spec.filesystem"
	if above.Filesystem == nil {
		return
	}
	s.place(at, at)
	own.Filesystem = copied(own.Filesystem)
	up, fs := above.Filesystem, own.Filesystem
	fs.Read = s.paths(at+".read", at+".read", fs.Read, up.Read, at+".deny", up.Deny)
	fs.Write = s.paths(at+".write", at+".write", fs.Write, up.Write, at+".deny", up.Deny)
	fs.Under.Read = foldersBelow(fs.Read, up.Read, fs.Under.Read, up.Under.Read)
	fs.Under.Write = foldersBelow(fs.Write, up.Write, fs.Under.Write, up.Under.Write)
	fs.Deny = accumulate(s, at+".deny", at+".deny", fs.Deny, up.Deny, same)
	fs.Powers = s.touches(at+".powers", at+".powers", fs.Powers, up.Powers)
}

// paths takes those that a path above covers and that none denies. An agent that leaves
// them out has none.
func (s *step) paths(path, up string, own, above []string, denyAt string, deny []string) []string {
	if own == nil {
		if s.grants || above == nil {
			return nil
		}
		return inherit(s, path, up, above)
	}
	denied := make(map[string]*int, len(deny))
	for i, p := range deny {
		denied[p] = &i
	}
	offered := paths.Of(above...)
	refused := map[int]bool{}
	for i, p := range own {
		if j := paths.Closest(denied, p, '/'); j != nil {
			s.denied(index(path, i), index(denyAt, *j), p)
		} else if above != nil && !offered.Cover(p) {
			s.notAllowed(index(path, i), up, p, above)
		} else {
			continue
		}
		refused[i] = true
	}
	return keep(s, path, own, refused)
}
