package commands

import (
	"slices"

	"github.com/ringd/ringd/compiler/headroom"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/schema"
)

// ceilingChanges compares the ceilings of both sides. With an agent it compares only those above the agent. A
// compiled set holds only agents: for a policy with layers it is unknown whether a ceiling was raised, and
// the unknown counts as a change.
func ceilingChanges(old, now *side, agent string) []diff.Agent {
	if old == now || !old.layered() && !now.layered() {
		return []diff.Agent{}
	}
	for _, s := range []*side{old, now} {
		if s.bare {
			ch := diff.Change{Kind: diff.Changed, Class: diff.Headroom, Undecided: true, Capability: "ceiling",
				Field: "kind",
				Says:  "it is not known whether a ceiling was raised",
				Why:   s.path + " is a compiled set, which has no ceilings: compare the sources"}
			return []diff.Agent{{Name: "ceilings", State: string(diff.Changed), Class: diff.Headroom,
				Changes: []diff.Change{ch}}}
		}
	}
	above := func(list []schema.Policy, s *side) []schema.Policy {
		if agent == "" {
			return list
		}
		layers := s.set.Agents[agent].Layers
		return slices.DeleteFunc(slices.Clone(list), func(p schema.Policy) bool {
			for _, l := range layers {
				if l.Kind == p.Kind && l.Name == p.Metadata.Name {
					return false
				}
			}
			return true
		})
	}
	return headroom.Compare(above(old.ceilings, old), above(now.ceilings, now))
}

// layered reports whether a side has layers above an agent.
func (s *side) layered() bool {
	if len(s.ceilings) > 0 {
		return true
	}
	for _, a := range s.set.Agents {
		if slices.ContainsFunc(a.Layers, func(l profiles.Layer) bool { return l.Kind != "AgentPolicy" }) {
			return true
		}
	}
	return false
}

// withoutCeilingChanges removes from the agents the changes that the ceilings show too: a lifted denial of a
// layer above.
func withoutCeilingChanges(agents, ceilings []diff.Agent) []diff.Agent {
	told := slices.ContainsFunc(ceilings, func(a diff.Agent) bool { return a.Class == diff.Headroom })
	if !told {
		return agents
	}
	out := slices.Clone(agents)
	for i := range out {
		a := &out[i]
		a.Changes = slices.DeleteFunc(slices.Clone(a.Changes),
			func(ch diff.Change) bool { return ch.Class == diff.Headroom })
		if a.Class = diff.ClassOf(a.Changes); len(a.Changes) == 0 && a.State == string(diff.Changed) {
			a.State = "same"
		}
	}
	return out
}

func all(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
