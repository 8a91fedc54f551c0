package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// Used is what programs used, according to the records.
type Used struct {
	Imports  []string         // modules of Python
	Python   int              // number of runs whose imports are known
	Calls    map[string]int64 // by bridge: the largest number of calls in one run
	Programs []string         // absolute paths of started programs
	Targets  []string         // reached targets, in the form of egress.ReadDest
}

// The proposed changes.
const (
	Remove = "remove" // no program used the entry
	narrow = "narrow" // To would have been sufficient
)

// Change is one reduction.
type Change struct {
	Do   string        `json:"do"`
	What string        `json:"what"` // bridge readDiff, host *.example.com
	To   []string      `json:"to,omitempty"`
	Rule profiles.Rule `json:"rule"` // rule of the entry
}

// Suggestion is a smaller policy that would have been sufficient.
type Suggestion struct {
	// nil: no Python, or no run with known imports
	Imports *known.ImportSuggestion `json:"imports,omitempty"`
	// in the order of imports, bridges, programs, hosts, gateways
	Changes []Change `json:"changes"`
	// Refused lists what was used but is not granted now.
	Refused []string `json:"refused,omitempty"`
}

// SuggestFor computes a smaller policy for an agent, from what its programs used. Changes only remove or
// narrow entries, so the result stays within the agent's policy and its ceilings. Files are not changed:
// guests read them without a decision, so there are no records. The command suggest calls it with the audit
// log.
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

// bridges keeps the bridges that were called, with a limit of the calls that one run made.
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
		// a shell is interpreted and never started, so there is no record
		if !slices.Contains(u.Programs, b.Path) && !b.Interpreted {
			s.change(Remove, "program "+b.Path, b.Rule)
		}
	}
	for _, p := range u.Programs {
		if !slices.ContainsFunc(has, func(b profiles.Binary) bool { return b.Path == p }) {
			s.Refused = append(s.Refused, "program "+p)
		}
	}
}

// network proposes for each entry the hosts and ports that were reached through it.
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

// host proposes for one entry the targets that were reached through it.
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

// covering returns the most specific entry that grants a target, as for a connection, or -1.
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

// within reports whether one entry's hosts are a subset of another's.
func within(inner, outer string) bool {
	a, errA := egress.ReadPattern(inner)
	b, errB := egress.ReadPattern(outer)
	return errA == nil && errB == nil && b.Covers(a)
}
