package python

import (
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// addRules adds, to the denied imports that a guest reports, the rule and the allowed modules of the policy. A
// denial by the guest of a module that the policy allows stays as it was reported: a library's name that no
// allowed package declares is one.
func (e *Executor) addRules(denials []profiles.Decision, r executors.Run) []profiles.Decision {
	if !slices.ContainsFunc(denials, isImport) {
		return denials
	}
	agents := map[string]*profiles.Agent{r.Revision: r.Agent}
	if p := e.inForce.Load(); p != nil && p.revision != r.Revision {
		agents[p.revision] = p.agent(r.Agent.Name, r.Grants)
	}
	deciders := map[string]*profiles.Decider{}
	for revision, a := range agents {
		if a != nil {
			deciders[revision] = profiles.NewDecider(*a, revision, profiles.Environment{})
		}
	}
	out := slices.Clone(denials)
	for i := range out {
		d := &out[i]
		if decider := deciders[d.Revision]; decider != nil && isImport(*d) {
			for _, origin := range []string{profiles.OriginAgent, profiles.OriginLibrary} {
				if own := decider.ImportFor(profiles.ExecutorPython, d.Evidence.Argv[0], origin); own.Code == d.Code {
					d.Rule, d.Instead = own.Rule, own.Instead
					break
				}
			}
		}
	}
	return out
}

// isImport reports whether a denial is of a named module.
func isImport(d profiles.Decision) bool {
	return (d.Code == profiles.CodeImportDenied || d.Code == profiles.CodeImportNotAllowed) && d.Evidence != nil &&
		len(d.Evidence.Argv) == 1
}
