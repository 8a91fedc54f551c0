package policytest

import (
	"slices"

	"github.com/ringd/ringd/profiles"
)

// Programs are the rules of the programs, and of their sub-commands, that an action used
// which an agent was granted. A decision names one program and a script may start
// several, so they are found by what the policy would say without them: a program was
// used where the action is refused when none of its uses is granted; a sub-command where
// it is refused without its line, or granted when that is the only line left. granted
// decides the action for an agent that has other sub-commands.
func Programs(a profiles.Agent, granted func(profiles.Agent) bool) []profiles.Rule {
	a = enforced(a)
	if a.Shell == nil || !granted(a) {
		return nil
	}
	var out []profiles.Rule
	for at, b := range a.Shell.Binaries {
		if granted(withSubcommands(a, at, []profiles.Pattern{})) {
			continue // the action has nothing to do with the program
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

// withSubcommands is an agent whose program at a place has other sub-commands; none of
// them refuses every use.
func withSubcommands(a profiles.Agent, at int, allow []profiles.Pattern) profiles.Agent {
	sh := *a.Shell
	sh.Binaries = slices.Clone(sh.Binaries)
	sh.Binaries[at].Allow = allow
	a.Shell = &sh
	return a
}

// enforced is an agent as it would be in mode enforce: mode audit takes rules away, and
// they are what is tested.
func enforced(a profiles.Agent) profiles.Agent {
	if a.Strict != nil {
		return *a.Strict
	}
	return a
}
