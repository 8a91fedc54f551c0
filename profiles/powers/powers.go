// Package powers computes which of three powers an agent has, and which grants bring them. Untrusted: the
// agent reads text that outsiders may have written. Sensitive: the agent sees data that must not leave.
// External: others see what the agent does. If an agent has all three powers, a text from outside can tell it
// to send away what it knows. The rule of two keeps the powers apart.
//
// The compiler calls the package for each agent, the interpreter ring for each call, and `ringd explain` to
// show the powers to people.
package powers

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Power is one of the three powers.
type Power string

// The powers, in the order of reports.
const (
	Untrusted Power = "untrusted"
	Sensitive Power = "sensitive"
	External  Power = "external"
)

// All lists the powers.
func All() []Power { return []Power{Untrusted, Sensitive, External} }

// Words describes a power for people.
func (p Power) Words() string {
	switch p {
	case Untrusted:
		return "untrusted input"
	case Sensitive:
		return "sensitive data"
	case External:
		return "an external effect"
	default:
		return string(p)
	}
}

// Has reports whether p is in the set of powers.
func Has(of profiles.Powers, p Power) bool {
	switch p {
	case Untrusted:
		return of.Untrusted
	case Sensitive:
		return of.Sensitive
	case External:
		return of.External
	default:
		return false
	}
}

// List returns the powers of a set, in the order of [All].
func List(of profiles.Powers) (out []Power) {
	for _, p := range All() {
		if Has(of, p) {
			out = append(out, p)
		}
	}
	return out
}

// Text joins the names of a set of powers.
func Text(of profiles.Powers) string {
	var out []string
	for _, p := range List(of) {
		out = append(out, string(p))
	}
	return strings.Join(out, " ")
}

// Join returns the union of both sets.
func Join(a, b profiles.Powers) profiles.Powers {
	return profiles.Powers{Sensitive: a.Sensitive || b.Sensitive, Untrusted: a.Untrusted || b.Untrusted,
		External: a.External || b.External}
}

// Three reports whether all three powers are present.
func Three(of profiles.Powers) bool { return of.Sensitive && of.Untrusted && of.External }

// Source is one grant that brings powers.
type Source struct {
	Agent string `json:"agent"`
	// e.g. bridge:readDiff, egress:api.example.com, gateway:pay, files:read, files:write, inputs
	What   string          `json:"what"`
	Powers profiles.Powers `json:"powers"`
	// Asks is true if every use needs approval.
	Asks bool          `json:"asks,omitempty"`
	Rule profiles.Rule `json:"rule"`
}

// Account lists the powers that an agent can get from its own grants, and from the grants of the agents that
// it may start.
type Account struct {
	Agent   string          `json:"agent"`
	Powers  profiles.Powers `json:"powers"`
	Starts  []string        `json:"starts,omitempty"` // other agents that it may start, sorted
	Sources []Source        `json:"sources"`          // those of the agent itself first
}

// Of returns the account of an agent of a set. An unknown agent has no powers.
func Of(agents map[string]profiles.Agent, name string) Account {
	a, ok := agents[name]
	out := Account{Agent: name}
	if !ok {
		return out
	}
	out.Sources = Sources(a)
	if spawns(a) {
		for _, other := range slices.Sorted(maps.Keys(agents)) {
			if other != name {
				out.Starts = append(out.Starts, other)
				out.Sources = append(out.Sources, Sources(agents[other])...)
			}
		}
	}
	for _, s := range out.Sources {
		out.Powers = Join(out.Powers, s.Powers)
	}
	return out
}

// spawns reports whether an agent may start other agents. The harness chooses which agent is started. It may
// choose any agent of the set.
func spawns(a profiles.Agent) bool {
	for _, b := range a.Bridges {
		if l := b.Limits; l.SpawnPerCall != 0 || l.Depth != 0 || l.TotalSpawn != 0 {
			return true
		}
	}
	return false
}

// Brings returns the sources of one power.
func (c Account) Brings(p Power) (out []Source) {
	for _, s := range c.Sources {
		if Has(s.Powers, p) {
			out = append(out, s)
		}
	}
	return out
}

// Unapproved returns the sources of external effects that need no approval.
func (c Account) Unapproved() (out []Source) {
	for _, s := range c.Brings(External) {
		if !s.Asks {
			out = append(out, s)
		}
	}
	return out
}

// Sources lists the grants of one agent that bring powers: bridges by name, then hosts, gateways, files and
// inputs.
func Sources(a profiles.Agent) (out []Source) {
	add := func(s Source) {
		if s.Powers != (profiles.Powers{}) {
			s.Agent = a.Name
			out = append(out, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Bridges)) {
		b := a.Bridges[name]
		add(Source{What: "bridge:" + name, Powers: OfBridge(a, b), Asks: asks(b), Rule: b.Rule})
	}
	if reach, asked := network(a); reach {
		for _, r := range hosts(a) {
			add(Source{What: "egress:" + r.Host, Powers: OfHost(r), Asks: asked, Rule: r.Rule})
		}
		for _, g := range gateways(a) {
			add(Source{What: "gateway:" + g.Name, Powers: OfGateway(g), Asks: asked, Rule: g.Rule})
		}
	}
	read, written := OfFiles(a)
	add(Source{What: "files:read", Powers: read, Rule: filesRule(a)})
	add(Source{What: "files:write", Powers: written, Rule: filesRule(a)})
	add(Source{What: "inputs", Powers: OfInputs(a), Rule: a.InputsRule})
	return out
}

// asks reports whether every call needs approval. An approval with a condition covers only some calls.
func asks(b profiles.Bridge) bool { return b.Approval != nil && b.Approval.When == "" }

// fetch is the bridge that gives network access to a program whose guest has no network.
const fetch = "fetch"

// OfBridge returns the powers that the owner of a bridge declared. The bridge fetch also has the power
// External if one of the hosts that it reaches accepts data.
func OfBridge(a profiles.Agent, b profiles.Bridge) profiles.Powers {
	p := b.Powers
	if b.Name != fetch {
		return p
	}
	for _, r := range hosts(a) {
		p.External = p.External || OfHost(r).External
	}
	for _, g := range gateways(a) {
		p.External = p.External || OfGateway(g).External
	}
	return p
}

// OfHost returns the powers of an entry of a list of hosts: the powers that the policy declares, and External
// if a method of the entry can send data.
func OfHost(r profiles.EgressRule) profiles.Powers {
	p := r.Powers
	p.External = p.External || sends(r.Methods)
	return p
}

// OfGateway returns the powers of a gateway, computed as in [OfHost].
func OfGateway(g profiles.Gateway) profiles.Powers {
	p := g.Powers
	p.External = p.External || sends(g.Methods)
	return p
}

// sends reports whether any of the methods can send data. An empty list means all methods.
func sends(methods []string) bool {
	return len(methods) == 0 || slices.ContainsFunc(methods, func(m string) bool {
		return m != "GET" && m != "HEAD" && m != "OPTIONS"
	})
}

// OfFiles returns the powers of an agent's granted files: read is for the files that a guest reads, and
// written says whether others see the files that it writes. A guest can also read the files that it may
// write.
func OfFiles(a profiles.Agent) (read, written profiles.Powers) {
	if len(a.Files.Read)+len(a.Files.Write) > 0 {
		read = profiles.Powers{Sensitive: a.Files.Powers.Sensitive, Untrusted: a.Files.Powers.Untrusted}
	}
	if len(a.Files.Write) > 0 {
		written = profiles.Powers{External: a.Files.Powers.External}
	}
	return read, written
}

// OfInputs returns the powers that an agent has because of the inputs of its runs. The power to send data out
// is never among them.
func OfInputs(a profiles.Agent) profiles.Powers {
	return profiles.Powers{Sensitive: a.Inputs.Sensitive, Untrusted: a.Inputs.Untrusted}
}

func filesRule(a profiles.Agent) profiles.Rule {
	switch f := a.Files; {
	case f.Rule != profiles.Rule{}:
		return f.Rule
	case len(f.Read) > 0:
		return f.Read[0].Rule
	case len(f.Write) > 0:
		return f.Write[0].Rule
	}
	return a.Rule
}

// network reports whether the agent has any network access, and whether each use of the network needs
// approval. Guests of shell and Python have a network of their own, which needs no approval. A program in
// JavaScript has only fetch.
func network(a profiles.Agent) (reaches, asked bool) {
	if a.Shell != nil || a.Python != nil && a.Python.Engine != profiles.PythonWasm {
		return true, false
	}
	b, ok := a.Bridges[fetch]
	return ok, ok && asks(b)
}

// hosts returns the entries that the network mode opens.
func hosts(a profiles.Agent) []profiles.EgressRule {
	if a.Egress.Mode != profiles.EgressAllowlist {
		return nil
	}
	return a.Egress.Allow
}

func gateways(a profiles.Agent) []profiles.Gateway {
	if a.Egress.Mode != profiles.EgressAllowlist && a.Egress.Mode != profiles.EgressGatewayOnly {
		return nil
	}
	return a.Egress.Gateways
}

// Names joins the sources for a sentence, each once and at most `most` of them.
func Names(list []Source, most int, own string) string {
	var out []string
	for _, s := range list {
		name := s.What
		if s.Agent != own {
			name += " of agent " + s.Agent
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) > most {
		out = append(out[:most:most], "and more")
	}
	return strings.Join(out, ", ")
}
