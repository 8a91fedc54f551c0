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
	Executor bool          // the host has it
	Tier     profiles.Tier // of the runs on it
	// Why the tier is not stronger, and what would help. Empty if it is not known.
	Lacks, Remedy string
}

// Start decides whether a run of the agent may start, or go on, on the executor. The result
// is nil if it may.
func (g *Generation) Start(name string, h Host) *profiles.Decision {
	a, executor := g.Agent(name), h.Name
	if a == nil {
		d := g.Refusal(name)
		if d.Code == profiles.CodeUnknownAgent { // a harness reads it, so it may name the other agents
			d.Reason += ": it has " + strings.Join(spelling.Instead(name, slices.Sorted(maps.Keys(g.agents))), ", ")
		}
		return &d
	}
	deny := func(code profiles.Code, format string, args ...any) *profiles.Decision {
		rule := a.Profile.Rule
		return &profiles.Decision{Code: code, Reason: fmt.Sprintf(format, args...), Rule: &rule, Revision: g.Revision}
	}
	if !granted(&a.Profile, executor) {
		return deny(profiles.CodeExecutorNotGranted, "the policy does not grant the executor %s to agent %s",
			jsonvalue.Clip(executor, 40), name)
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

// tier returns the decision that a host lacks the isolation that a asks for, or nil.
func (a *Agent) tier(h Host) *profiles.Decision {
	wanted := a.Profile.MinTier
	if h.Tier == profiles.TierProcess && h.Name == profiles.ExecutorPython && a.Profile.Python != nil &&
		a.Profile.Python.Engine == profiles.PythonWasm {
		h.Tier = profiles.TierWasm // like the guests of JavaScript without the kernel ring
	}
	if wanted == "" || tierRank(h.Tier).satisfies(tierRank(wanted)) {
		return nil
	}
	d := &profiles.Decision{Code: profiles.CodeTierUnavailable, Rule: &a.Profile.MinTierRule, Revision: a.Revision,
		Reason: fmt.Sprintf("the policy requires tier %s, but the executor %s has %s on this host",
			wanted, h.Name, cmp.Or(string(h.Tier), "none")),
		Instead: []string{seeDoctor}}
	if h.Lacks != "" {
		d.Reason += ": " + h.Lacks
	}
	if h.Remedy != "" {
		d.Instead = []string{h.Remedy, seeDoctor}
	}
	return d
}

// seeDoctor is the remedy if a host lacks something.
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

// rank orders the tiers from weak to strong; 0 is an unknown tier.
type rank int

// satisfies reports whether r is at least as strong as wanted. An unknown tier satisfies
// nothing, and nothing satisfies an unknown tier.
func (r rank) satisfies(wanted rank) bool { return wanted > 0 && r >= wanted }

func tierRank(t profiles.Tier) rank {
	order := [...]profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS,
		profiles.TierContainer, profiles.TierMicroVM, profiles.TierRemote}
	return rank(slices.Index(order[:], t) + 1)
}
