// This file says how much smaller a policy could be for what an agent's programs did:
// which entries nothing used, and which could be narrower. A change takes away and never
// adds, so what comes out lies inside of what the agent has, and so inside of the ceilings
// above it.
//
// It is pure. The verb suggest calls it with what the audit log says.

package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// Used is what programs did, as records have it.
type Used struct {
	Imports  []string         // modules of Python
	Python   int              // runs whose imports are known
	Calls    map[string]int64 // by bridge: the most admitted calls of one run
	Programs []string         // absolute paths of what was started
	Targets  []string         // of what was reached, as egress.ReadDest reads it
}

// The changes that are proposed.
const (
	Remove = "remove" // nothing used the entry
	narrow = "narrow" // To would have done
)

// Change is one thing to take away.
type Change struct {
	Do   string        `json:"do"`
	What string        `json:"what"` // bridge readDiff, host *.example.com
	To   []string      `json:"to,omitempty"`
	Rule profiles.Rule `json:"rule"` // of the entry
}

// Suggestion is what would have done.
type Suggestion struct {
	Imports *known.ImportSuggestion `json:"imports,omitempty"` // nil: no Python, or no run's imports are known
	// in the order of imports, bridges, programs, hosts, gateways
	Changes []Change `json:"changes"`
	// Refused is what was used and the agent does not have now.
	Refused []string `json:"refused,omitempty"`
}

// SuggestFor suggests for an agent. Files stand as the agent has them: a guest reads them without
// a question, so no record says which.
func SuggestFor(a profiles.Agent, u Used) Suggestion {
	s := &Suggestion{Changes: []Change{}}
	s.python(a, u)
	s.bridges(a, u)
	s.programs(a, u)
	s.network(a, u)
	slices.Sort(s.Refused)
	s.Refused = slices.Compact(s.Refused)
	return *s
}

func (s *Suggestion) change(do, what string, r profiles.Rule, to ...string) {
	s.Changes = append(s.Changes, Change{do, what, to, r})
}

func (s *Suggestion) python(a profiles.Agent, u Used) {
	if u.Python == 0 {
		return
	}
	got, ok := known.SuggestImports(a, u.Imports)
	if !ok {
		return
	}
	s.Imports = &got
	for _, r := range got.Unused {
		s.change(Remove, "import "+r.Name, r.Rule)
	}
	for _, name := range got.Refused {
		s.Refused = append(s.Refused, "import "+name)
	}
}

// bridges keeps those that were called, with as many calls as one run made.
func (s *Suggestion) bridges(a profiles.Agent, u Used) {
	for name := range u.Calls {
		if _, ok := a.Bridges[name]; !ok {
			s.Refused = append(s.Refused, "bridge "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Bridges)) {
		b := a.Bridges[name]
		switch most, called := u.Calls[name]; {
		case !called:
			s.change(Remove, "bridge "+name, b.Rule)
		case most < b.Limits.CallsPerRun:
			s.change(narrow, "bridge "+name, b.Rule, fmt.Sprintf("callsPerRun: %d", most))
		}
	}
}

func (s *Suggestion) programs(a profiles.Agent, u Used) {
	var has []profiles.Binary
	if a.Shell != nil {
		has = a.Shell.Binaries
	}
	for _, b := range has {
		if !slices.Contains(u.Programs, b.Path) && !b.Interpreted { // a shell is read and never started
			s.change(Remove, "program "+b.Path, b.Rule)
		}
	}
	for _, p := range u.Programs {
		if !slices.ContainsFunc(has, func(b profiles.Binary) bool { return b.Path == p }) {
			s.Refused = append(s.Refused, "program "+p)
		}
	}
}

// network proposes for each entry the hosts and ports that were reached by it.
func (s *Suggestion) network(a profiles.Agent, u Used) {
	e := a.Egress
	allow, gateways := e.Allow, e.Gateways
	switch e.Mode {
	case profiles.EgressAllowlist:
	case profiles.EgressGatewayOnly:
		allow = nil
	default:
		allow, gateways = nil, nil
	}
	reached, through := make([][]egress.Dest, len(allow)), make([]bool, len(gateways))
	for _, text := range u.Targets {
		to, ok := egress.ReadDest(text)
		if !ok || to.Port == 0 {
			continue
		}
		if label, is := egress.Label(to.Name); is {
			if at := slices.IndexFunc(gateways, func(w profiles.Gateway) bool { return w.Name == label }); at >= 0 {
				through[at] = true
				continue
			}
		} else if at := covering(allow, to); at >= 0 {
			reached[at] = append(reached[at], to)
			continue
		}
		s.Refused = append(s.Refused, "host "+text)
	}
	for i, r := range allow {
		s.host(r, reached[i])
	}
	for i, w := range gateways {
		if !through[i] {
			s.change(Remove, "gateway "+w.Name, w.Rule)
		}
	}
}

// host proposes for one entry what was reached by it.
func (s *Suggestion) host(r profiles.EgressRule, reached []egress.Dest) {
	if len(reached) == 0 {
		s.change(Remove, "host "+r.Host, r.Rule)
		return
	}
	var to []string
	names, ports := map[string]bool{}, map[int]bool{}
	for _, d := range reached {
		names[d.Host()], ports[int(d.Port)] = true, true
		to = append(to, d.String())
	}
	whole := len(names) == 1 && names[r.Host] && !r.AnyPort && len(ports) == len(r.Ports)
	if whole {
		return
	}
	slices.Sort(to)
	s.change(narrow, "host "+r.Host, r.Rule, slices.Compact(to)...)
}

// covering is the entry that grants a target, the most specific one as for a connection;
// -1: none does.
func covering(rules []profiles.EgressRule, to egress.Dest) int {
	want, err := egress.ReadPattern(to.Host())
	if err != nil {
		return -1
	}
	best := -1
	for i, r := range rules {
		p, err := egress.ReadPattern(r.Host)
		if err != nil || !p.Covers(want) || !r.AnyPort && !slices.Contains(r.Ports, int(to.Port)) {
			continue
		}
		if best < 0 || within(r.Host, rules[best].Host) {
			best = i
		}
	}
	return best
}

// within reports whether one entry's hosts are among another's.
func within(inner, outer string) bool {
	a, errA := egress.ReadPattern(inner)
	b, errB := egress.ReadPattern(outer)
	return errA == nil && errB == nil && b.Covers(a)
}
