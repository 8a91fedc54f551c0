package binding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Host is what a host has for an executor.
type Host struct {
	Name     string        // of the executor
	Executor bool          // it is there
	Tier     profiles.Tier // that runs on it get
	// Lacks says why it is not more, and what would help; "" is not known.
	Lacks, Remedy string
}

// Start says why a run of the agent may not start on the executor, or go on
// there, or nil.
func (g *Generation) Start(name string, h Host) *profiles.Decision {
	a, executor := g.Agent(name), h.Name
	if a == nil {
		d := g.Refusal(name)
		if d.Code == profiles.CodeUnknownAgent { // a harness reads it: say which there are
			d.Reason += ": it has " + strings.Join(spelling.Instead(name, slices.Sorted(maps.Keys(g.agents))), ", ")
		}
		return &d
	}
	deny := func(code profiles.Code, format string, args ...any) *profiles.Decision {
		rule := a.Profile.Rule
		return &profiles.Decision{Code: code, Reason: fmt.Sprintf(format, args...), Rule: &rule, Revision: g.Revision}
	}
	if !granted(&a.Profile, executor) {
		return deny(profiles.CodeExecutorNotGranted, "the policy does not grant the executor %s to agent %s", jsonvalue.Clip(executor, 40), name)
	}
	if !h.Executor {
		d := deny(profiles.CodeExecutorUnavailable, "this host has no executor %s", executor)
		d.Rule, d.Instead = &a.Profile.ExecutorsRule, []string{seeDoctor}
		return d
	}
	if reason, closed := g.closed[executor]; closed {
		return deny(profiles.CodeClosed, "the executor %s is closed: %s", executor, reason)
	}
	return a.tier(h)
}

// tier is the decision that a host has not the isolation that a asks for.
func (a *Agent) tier(h Host) *profiles.Decision {
	least := a.Profile.MinTier
	if h.Tier == profiles.TierProcess && h.Name == profiles.ExecutorPython && a.Profile.Python != nil && a.Profile.Python.Engine == profiles.PythonWasm {
		h.Tier = profiles.TierWasm // as JavaScript's guests are without the kernel ring
	}
	if least == "" || tierRank(h.Tier).satisfies(tierRank(least)) {
		return nil
	}
	d := &profiles.Decision{Code: profiles.CodeTierUnavailable, Rule: &a.Profile.MinTierRule, Revision: a.Revision,
		Reason:  fmt.Sprintf("the policy asks for tier %s, the executor %s has %s here", least, h.Name, cmp.Or(string(h.Tier), "none")),
		Instead: []string{seeDoctor}}
	if h.Lacks != "" {
		d.Reason += ": " + h.Lacks
	}
	if h.Remedy != "" {
		d.Instead = []string{h.Remedy, seeDoctor}
	}
	return d
}

// seeDoctor is the remedy for what a host lacks.
const seeDoctor = "run it on a host that has it; `ringd doctor` lists what this one enforces"

// granted reports whether the profile has the executor.
func granted(a *profiles.Agent, executor string) bool {
	switch executor {
	case profiles.ExecutorJS:
		return a.JS != nil
	case profiles.ExecutorPython:
		return a.Python != nil
	case profiles.ExecutorShell:
		return a.Shell != nil
	default:
		return false
	}
}

// rank is a tier's place from weak to strong; 0 is unknown.
type rank int

// satisfies reports whether r is at least as strong as least. An unknown tier
// satisfies nothing, and nothing satisfies an unknown tier.
func (r rank) satisfies(least rank) bool { return least > 0 && r >= least }

func tierRank(t profiles.Tier) rank {
	order := [...]profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS,
		profiles.TierContainer, profiles.TierMicroVM, profiles.TierRemote}
	return rank(slices.Index(order[:], t) + 1)
}
