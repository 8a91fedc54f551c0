package profiles

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/paths"
)

// Workspace is the name in a policy for the agent's folder. Each host chooses the folder.
const Workspace = "$WORKSPACE"

// In returns the set with $WORKSPACE replaced for each agent by the folder that the function workspace
// returns. If that folder is not a clean path, the agent's rules stay as they are, and a grant with
// $WORKSPACE grants nothing. The receiver is not changed. A nil set gives nil. If workspace is nil,
// nothing is changed.
func (s *Set) In(workspace func(agent string) string) *Set {
	if s == nil || workspace == nil {
		return s
	}
	out := *s
	out.Agents = maps.Clone(s.Agents)
	for name, a := range s.Agents {
		if dir := workspace(name); paths.Clean(dir) {
			out.Agents[name] = a.in(dir)
		}
	}
	return &out
}

// in replaces $WORKSPACE in every path of an agent.
func (a Agent) in(dir string) Agent {
	for _, list := range []*[]PathRule{&a.Files.Read, &a.Files.Write, &a.Files.Deny} {
		*list = slices.Clone(*list)
		for i := range *list {
			r := &(*list)[i]
			r.Path = written(r.Path, dir)
			r.Within = slices.Clone(r.Within)
			for j, above := range r.Within {
				r.Within[j] = written(above, dir)
			}
		}
	}
	if a.Strict != nil {
		strict := a.Strict.in(dir)
		a.Strict = &strict
	}
	return a
}

func written(p, dir string) string {
	if !inWorkspace(p) {
		return p
	}
	if full, ok := paths.Expand(p, dir, ""); ok {
		return full
	}
	return p // not clean, so the place stays unbound
}

func inWorkspace(p string) bool { return p == Workspace || strings.HasPrefix(p, Workspace+"/") }

// NeedsWorkspace returns the first rule of the executor's kernel profile that has $WORKSPACE in its path.
// A host that has set no workspace cannot start the programs of that executor.
func (a Agent) NeedsWorkspace(executor string) (PathRule, bool) {
	k, _ := a.Kernel(executor)
	for _, r := range slices.Concat(k.Read, k.Write, k.Deny) {
		if inWorkspace(r.Path) {
			return r, true
		}
	}
	return PathRule{}, false
}
