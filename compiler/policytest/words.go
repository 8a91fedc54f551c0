package policytest

import (
	"slices"

	"github.com/ringd/ringd/profiles"
)

// Programs returns the rules of granted programs and sub-commands that an action used. A decision names one
// program, but a script may start several, so they are found by deciding without them. A program was used if
// the action is denied when none of its uses is granted. A sub-command was used if the action is denied
// without its line, or granted when it is the only line left. granted decides the action for an agent with
// other sub-commands.
func Programs(a profiles.Agent, granted func(profiles.Agent) bool) []profiles.Rule {
	a = enforced(a)
	if a.Shell == nil || !granted(a) {
		return nil
	}
	var out []profiles.Rule
	for at, b := range a.Shell.Binaries {
		if granted(withSubcommands(a, at, []profiles.Pattern{})) {
			continue // the action does not depend on the program
		}
		out = append(out, b.Rule)
		for i, p := range b.Allow {
			others := slices.Delete(slices.Clone(b.Allow), i, i+1)
			if !granted(withSubcommands(a, at, others)) || granted(withSubcommands(a, at, []profiles.Pattern{p})) {
				out = append(out, p.Rule)
			}
		}
	}
	return out
}

// withSubcommands returns the agent with other sub-commands for one program. An empty list denies every use.
func withSubcommands(a profiles.Agent, at int, allow []profiles.Pattern) profiles.Agent {
	sh := *a.Shell
	sh.Binaries = slices.Clone(sh.Binaries)
	sh.Binaries[at].Allow = allow
	a.Shell = &sh
	return a
}

// enforced returns the agent in mode enforce. Mode audit removes rules, and the rules are under test.
func enforced(a profiles.Agent) profiles.Agent {
	if a.Strict != nil {
		return *a.Strict
	}
	return a
}
