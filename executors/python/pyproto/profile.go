package pyproto

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
)

// ProfileConfig is the input of a guest's profile.
type ProfileConfig struct {
	Agent    *profiles.Agent // as narrowed for the run
	Revision string
	// Read and Write are the folders and files of the guest that may be opened, as it sees them.
	Read, Write []string
	Library     []string // see Profile.Library
	// Now is the current time: grants of exceptions that have expired are not in the guard's profile.
	Now time.Time
}

// ProfileOf translates the import rules of an agent into the profile of a guest's guard. For every name it
// gives the same decision as profiles.Decider. It shares the slices of the config. Without an agent, or for one
// without Python, the profile allows nothing.
func ProfileOf(cfg ProfileConfig) Profile {
	p := Profile{
		Revision: cfg.Revision, Allow: []Name{}, Deny: []Name{}, Nobody: []Name{}, Standard: []string{},
		Outside: []string{},
		Library: cfg.Library, Builtins: []Name{}, Read: listed(cfg.Read), Write: listed(cfg.Write),
		Network: profiles.NetworkOff, Only: []string{}, Reach: []span{},
	}
	for _, name := range modules.NeverNames() {
		p.Nobody = append(
			p.Nobody, Name{Name: name, Why: "it bypasses the guard of the program, and no policy can allow it"},
		)
	}
	if cfg.Agent == nil || cfg.Agent.Python == nil {
		return p
	}
	py := *cfg.Agent.Python
	py.Imports.Allow = slices.DeleteFunc(
		slices.Clone(py.Imports.Allow), func(r profiles.ImportRule) bool { return !r.Live(cfg.Now) },
	)
	if k, ok := cfg.Agent.Kernel(profiles.ExecutorPython); ok {
		p.Network = k.Network
	}
	if p.Network == profiles.NetworkOwn {
		p.Reach = reach(cfg.Agent.Egress.Allow)
	}
	p.imports(&py.Imports)
	p.Builtins, p.EndOnDenied = appendNames(p.Builtins, py.DenyBuiltins, ""), py.EndOnDenied
	p.Advice, p.Rule = advice(&py.Imports), place(py.Imports.Rule)
	return p
}

// imports sorts the entries of the lists by the code that they bind: a denied third-party module is denied to
// libraries too, a denied module of the standard library only to the program.
func (p *Profile) imports(im *profiles.Imports) {
	p.Nobody = appendNames(p.Nobody, im.Process, "denied by policy, also to libraries")
	for _, r := range im.Deny {
		if modules.Standard(r.Name) {
			p.Deny = append(p.Deny, nameOf(r, ""))
		} else {
			p.Nobody = append(p.Nobody, nameOf(r, ""))
		}
	}
	p.Allow = appendNames(p.Allow, im.Allow, "")
	for _, own := range modules.OwnNames() {
		p.Allow = append(p.Allow, Name{Name: own})
	}
	if p.Only = nil; im.Only != nil {
		p.Only = slices.Concat(im.Only, modules.OwnNames())
	}
	p.Any = im.Any != nil
	if p.Default = im.Default; p.Default {
		p.Standard, p.Outside = modules.DefaultNames()
	}
}

func appendNames(list []Name, rules []profiles.ImportRule, why string) []Name {
	for _, r := range rules {
		list = append(list, nameOf(r, why))
	}
	return list
}

func nameOf(r profiles.ImportRule, why string) Name {
	return Name{Name: r.Name, Rule: place(r.Rule), Why: why}
}

// place is file:line:column, or empty if there is no rule.
func place(r profiles.Rule) string {
	if r.Line <= 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Column)
}

// maxAdvised is how many allowed names a denial lists.
const maxAdvised = 12

// advice says what a program may import instead.
func advice(im *profiles.Imports) string {
	var parts []string
	names := im.Only
	if names == nil {
		for _, r := range im.Allow {
			if !slices.ContainsFunc(
				slices.Concat(im.Deny, im.Process), func(d profiles.ImportRule) bool { return d.Name == r.Name },
			) {
				names = append(names, r.Name)
			}
		}
		if im.Any != nil {
			return "everything is allowed that is installed and not denied"
		}
		if im.Default {
			parts = append(
				parts,
				"the standard library, without what reaches outside of the process (subprocess, socket, ctypes and "+
					"the like)",
			)
		}
	}
	names = slices.Sorted(slices.Values(names))
	if more := len(names) - maxAdvised; more > 0 {
		names = append(names[:maxAdvised], fmt.Sprintf("%d more", more))
	}
	if parts = append(parts, names...); len(parts) == 0 {
		return "no module is allowed"
	}
	return "allowed: " + strings.Join(parts, ", ")
}

func listed(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
