package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// An upgrade replaces files that a policy grants, and links on the way to them. The ring then resolves the set
// in force again, as for a push: with every check, for all profiles, and it ends guests that have more than the
// set grants now. A file replaced inside a folder that guests may write into is rejected: otherwise one guest
// could plant a file that the next is granted.

// changedError says that a granted path is not the same as when the set in force was resolved.
type changedError struct {
	path string
	seen *generation
}

// Error names the path, and a remedy for the case that resolving again did not help.
func (e *changedError) Error() string {
	return fmt.Sprintf("%s was replaced in a folder that guests may write; restore it, or push a changed policy",
		e.path)
}

// changedMounts lists the paths of a profile that differ from those when g was resolved. g may be nil.
func (g *generation) changedMounts(digest string, now []initproto.Mount) (list []string) {
	if g == nil {
		return nil
	}
	there := make(map[string]bool, len(now))
	for _, m := range now {
		there[m.Path] = true
		if then, ok := g.known[m.Path]; ok &&
			(m.Device != then.Device || m.Inode != then.Inode || m.Link != then.Link) {
			list = append(list, m.Path)
		}
	}
	for _, then := range g.grants[digest] {
		if !there[then.Path] {
			list = append(list, then.Path)
		}
	}
	return list
}

// inWritableFolder reports whether one of these paths lies in a folder that guests write into.
func inWritableFolder(moved, written []string) bool {
	return slices.ContainsFunc(moved, func(path string) bool {
		return slices.ContainsFunc(written, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
	})
}

// reResolve resolves the set of the generation seen again, unless another generation is in force meanwhile.
func (r *Ring) reResolve(ctx context.Context, seen *generation) error {
	r.healing.Lock()
	defer r.healing.Unlock()
	if r.inForce.Load() != seen {
		return nil
	}
	next, err := r.resolve(ctx, seen.set, seen)
	if err != nil {
		return err
	}
	r.commit(next, seen)
	return nil
}
