package profiles

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/paths"
)

// Workspace is the place in a policy that each host names for itself.
const Workspace = "$WORKSPACE"

// In returns the set with $WORKSPACE written out for each agent, as the host names it. An
// agent that workspace has no clean path for keeps its rules as they are: a grant that
// names the place then grants nothing. The receiver is not changed; nil stays nil, and a
// nil workspace names none.
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

// in writes $WORKSPACE out in every path of an agent.
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
	return p // and so it stands for nothing
}

func inWorkspace(p string) bool { return p == Workspace || strings.HasPrefix(p, Workspace+"/") }

// NeedsWorkspace returns the first rule of the executor's kernel profile that names
// $WORKSPACE. A host that names none starts no program of it.
func (a Agent) NeedsWorkspace(executor string) (PathRule, bool) {
	k, _ := a.Kernel(executor)
	for _, r := range slices.Concat(k.Read, k.Write, k.Deny) {
		if inWorkspace(r.Path) {
			return r, true
		}
	}
	return PathRule{}, false
}
