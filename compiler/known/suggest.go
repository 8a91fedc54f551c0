package known

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
)

// ImportSuggestion is a narrower import list for an agent, from the modules that its programs used.
type ImportSuggestion struct {
	Allow []string `json:"allow"` // sorted
	// Deny lists modules that Allow covers but the agent does not have: submodules that reach outside.
	Deny []string `json:"deny,omitempty"`
	// Unused lists allow entries that no program used.
	Unused []profiles.ImportRule `json:"unused,omitempty"`
	// Refused lists used modules that the agent may not import now.
	Refused []string `json:"refused,omitempty"`
}

// SuggestImports computes the narrowest list that lets an agent's program import the used modules, with the
// author's own entries where possible. Together with the agent's lists it never allows a denied module.
// Invalid names are skipped, since a guest reports the used names. It returns false if the agent has no
// Python.
func SuggestImports(a profiles.Agent, used []string) (ImportSuggestion, bool) {
	if a.Python == nil {
		return ImportSuggestion{}, false
	}
	im := &a.Python.Imports
	d := profiles.NewDecider(a, "", profiles.Environment{})
	listed := namesOf(im.Allow)
	s := ImportSuggestion{Allow: []string{}}
	taken := map[string]bool{}
	for _, module := range sorted(used) {
		if !modules.Valid(false, module) || modules.Own(module) {
			continue
		}
		if d.Import(profiles.ExecutorPython, module).Verdict != profiles.Allow {
			s.Refused = append(s.Refused, module)
			continue
		}
		entry := entryFor(d, listed, module)
		taken[entry] = true
		s.Allow = append(s.Allow, entry)
	}
	s.Allow = modules.Within(nil, s.Allow)
	for _, name := range modules.OutsideNames() {
		if modules.Covered(name, s.Allow) && !modules.Never(name) && d.Import(profiles.ExecutorPython,
			name).Verdict != profiles.Allow &&
			!modules.Covered(name, namesOf(im.Deny)) && !modules.Covered(name, namesOf(im.Process)) {
			s.Deny = append(s.Deny, name)
		}
	}
	for _, r := range im.Allow {
		if !taken[r.Name] {
			s.Unused = append(s.Unused, r)
		}
	}
	return s, true
}

// entryFor returns the list entry that allows a module: the author's entry, or else the top-level package if
// the agent may import it.
func entryFor(d *profiles.Decider, listed []string, module string) string {
	best := ""
	for _, name := range listed {
		if modules.Covered(module, []string{name}) && len(name) > len(best) {
			best = name
		}
	}
	if best != "" {
		return best
	}
	if top, _, _ := strings.Cut(module, "."); d.Import(profiles.ExecutorPython, top).Verdict == profiles.Allow {
		return top
	}
	return module
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}
