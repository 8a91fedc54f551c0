package binding

import (
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// RuleOfTwo is the strictest of all policies that bind the run and of that in g; nil:
// none of them has one.
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

// Use is the use that the call is of its bridge: what it brings by any policy that it
// was decided under.
func (k *Case) Use(b *Binding, g *Generation) ruleoftwo.Use {
	u := ruleoftwo.Use{What: GrantOf(jsonvalue.Clip(k.Bridge, 200)), Rule: b.RuleOfTwo(g), Asked: k.Terms != nil}
	for _, gr := range k.Grants() {
		u.Brings = powers.Join(u.Brings, gr.Brings)
	}
	return u
}

// AskTwo is the approval that the rule of two asks for.
func (b *Binding) AskTwo(g *Generation) *profiles.Approval {
	const day = int64(24 * time.Hour / time.Millisecond)
	a := &profiles.Approval{Count: 1, ExpiresMillis: day}
	if most := b.Limits(g).PauseMillis; most != nil {
		a.ExpiresMillis = min(a.ExpiresMillis, *most)
	}
	if r := b.RuleOfTwo(g); r != nil {
		a.Rule = r.Rule
	}
	return a
}

// Begins are the uses that a run under the binding begins with: of the files it is
// granted, and of inputs when it is given some.
func (b *Binding) Begins(g *Generation, inputs bool) (out []ruleoftwo.Use) {
	rule := b.RuleOfTwo(g)
	read, written := powers.OfFiles(b.First().Profile)
	out = append(out, ruleoftwo.Use{What: "files:read", Brings: read, Rule: rule}, ruleoftwo.Use{What: "files:write", Brings: written, Rule: rule, Exit: written.External})
	if inputs {
		out = append(out, ruleoftwo.Use{What: "inputs", Brings: powers.OfInputs(b.First().Profile), Rule: rule})
	}
	return out
}
