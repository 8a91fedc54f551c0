package binding

import (
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// RuleOfTwo returns the strictest rule of two of all policies that bind the run and of the
// policy in g, or nil if none of them has one.
func (b *Binding) RuleOfTwo(g *Generation) *profiles.RuleOfTwo {
	all := make([]*profiles.RuleOfTwo, 0, len(b.agents)+1)
	for _, a := range b.agents {
		all = append(all, a.Profile.RuleOfTwo)
	}
	if now := g.Agent(b.agent); now != nil {
		all = append(all, now.Profile.RuleOfTwo)
	}
	return ruleoftwo.Strictest(all...)
}

// Use returns the use that the call makes of its bridge: the powers that it brings under
// any policy that it was decided under.
func (k *Request) Use(b *Binding, g *Generation) ruleoftwo.Use {
	u := ruleoftwo.Use{What: CapabilityOf(jsonvalue.Clip(k.Bridge, 200)), Rule: b.RuleOfTwo(g), Asked: k.Terms != nil}
	for _, gr := range k.Grants() {
		u.Brings = powers.Join(u.Brings, gr.Brings)
	}
	return u
}

// RuleOfTwoApproval returns the approval that the rule of two asks for.
func (b *Binding) RuleOfTwoApproval(g *Generation) *profiles.Approval {
	const day = int64(24 * time.Hour / time.Millisecond)
	a := &profiles.Approval{Count: 1, ExpiresMillis: day}
	if limit := b.Limits(g).PauseMillis; limit != nil {
		a.ExpiresMillis = min(a.ExpiresMillis, *limit)
	}
	if r := b.RuleOfTwo(g); r != nil {
		a.Rule = r.Rule
	}
	return a
}

// StartUses returns the uses that a run under the binding starts with: the files that it
// is granted, and inputs if it gets any.
func (b *Binding) StartUses(g *Generation, inputs bool) (out []ruleoftwo.Use) {
	rule := b.RuleOfTwo(g)
	read, written := powers.OfFiles(b.First().Profile)
	out = append(out,
		ruleoftwo.Use{What: "files:read", Brings: read, Rule: rule},
		ruleoftwo.Use{What: "files:write", Brings: written, Rule: rule, Exit: written.External})
	if inputs {
		out = append(out, ruleoftwo.Use{What: "inputs", Brings: powers.OfInputs(b.First().Profile), Rule: rule})
	}
	return out
}
