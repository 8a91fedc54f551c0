package binding

import (
	"context"

	"github.com/ringd/ringd/profiles"
)

// Guards evaluates guardrails on calls; see contract.Conditions.
type Guards interface {
	Denies(ctx context.Context, rego string, c profiles.Call) ([]string, error)
}

// guard is one question to a guardrail about the call.
type guard struct {
	rego   string
	powers profiles.Powers
}

// guardsOf returns the guardrails on calls of an agent.
func guardsOf(a *profiles.Agent) (out []*profiles.Guardrail) {
	for i := range a.Guardrails {
		if a.Guardrails[i].On == profiles.GuardCalls {
			out = append(out, &a.Guardrails[i])
		}
	}
	return out
}

// CheckGuardrails asks the guardrails of all given grants about the call, each once. The
// request must not be shared yet, or be left to one caller. The result is nil if none
// refuses.
func (k *Request) CheckGuardrails(ctx context.Context, b *Binding, ask Guards, grants ...*Grant) *Refusal {
	var by func(rego string, c profiles.Call) ([]string, error)
	if ask != nil {
		by = func(rego string, c profiles.Call) ([]string, error) { return ask.Denies(ctx, rego, c) }
	}
	var first *Refusal
	for _, gr := range grants {
		if gr == nil {
			continue
		}
		for _, g := range gr.guards {
			at := guard{g.Rego, gr.Powers}
			no, asked := k.guards[at]
			if !asked {
				d := g.Refuses(by, profiles.Call{Agent: b.agent, Bridge: k.Bridge, Args: k.Args, Executor: b.executor,
					Powers: gr.Powers})
				if d != nil {
					d.Revision = gr.Revision
					no = &Refusal{Name: profiles.ErrorCapabilityDenied, Text: d.Reason, Decision: *d}
				}
				if k.guards == nil {
					k.guards = map[guard]*Refusal{}
				}
				k.guards[at] = no
			}
			if first == nil {
				first = no
			}
		}
	}
	return first
}

// guardrailsRefuse refuses a call under a grant if one of its guardrails refuses it, or was
// not asked about it.
func (k *Request) guardrailsRefuse(revision string, gr *Grant) *Refusal {
	for _, g := range gr.guards {
		no, asked := k.guards[guard{g.Rego, gr.Powers}]
		switch {
		case !asked:
			return revoked(revision, gr, "the policy now in force has a guardrail that has not checked it")
		case no != nil:
			return no
		}
	}
	return nil
}
