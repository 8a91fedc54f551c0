package profiles

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/spelling"
)

// bridgeEntry is a granted bridge with its precomputed decisions. If the bridge needs no approval, both
// decisions are the same.
type bridgeEntry struct {
	bridge Bridge
	asks   Decision // for calls whose condition is true or was not evaluated
	allow  Decision // for calls whose condition is false
}

// indexBridges returns the granted bridges and their sorted names.
func indexBridges(a *Agent, revision string) (map[string]*bridgeEntry, []string) {
	bridges, names := make(map[string]*bridgeEntry, len(a.Bridges)), make([]string, 0, len(a.Bridges))
	for name, b := range a.Bridges {
		if name != b.Name || name == "" {
			continue // the map key is the granted name; an entry with another name grants nothing
		}
		e := &bridgeEntry{bridge: b}
		e.allow = Decision{Verdict: Allow, Code: CodeAllowed, Reason: "bridge " + name + " is granted",
			Rule: ruleOrNil(&e.bridge.Rule), Revision: revision}
		e.asks = e.allow
		if p := b.Approval; p != nil {
			e.asks = Decision{Verdict: Ask, Code: CodeApprovalRequired,
				Reason: "a call of " + name + " needs " + p.words(),
				Rule:   ruleOrNil(&p.Rule), Revision: revision}
		}
		bridges[name] = e
		names = append(names, name)
	}
	slices.Sort(names)
	return bridges, names
}

// Bridge decides a call of a bridge from an executor, with an argument of argumentBytes bytes of JSON. If
// executor is empty, any executor of the agent may be the caller. Schemas, counts and timeouts are checked by
// the ring that answers the call. If the bridge has an approval, the decision is always Ask: the ring
// evaluates the condition of the approval with the arguments.
func (d *Decider) Bridge(executor, name string, argumentBytes int64) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if executor != "" && !grantsExecutor(&d.agent, executor) {
		return d.notGranted(executor)
	}
	e := d.bridges[name]
	if e == nil {
		rule := ruleOrNil(&d.agent.BridgesRule)
		if rule == nil {
			rule = &d.agent.Rule
		}
		dec := d.deny(CodeBridgeNotGranted, rule, "no bridge %q is granted", clip(name))
		dec.Instead = spelling.Instead(name, d.names)
		return dec
	}
	if !e.bridge.open(&d.agent, executor) {
		return d.deny(CodeBridgeNotGranted, &e.bridge.Rule, "bridge %s is granted to %s only", name,
			fmt.Sprint(e.bridge.Executors))
	}
	if most := e.bridge.Limits.ArgumentBytes; argumentBytes < 0 || argumentBytes > most {
		return d.deny(CodeBridgeArgumentsBytes, &e.bridge.Rule, "the argument of %s has %d bytes, the limit is %d",
			name, argumentBytes, most)
	}
	return e.asks
}

// bridgeAction decides a call with its arguments: it also evaluates guardrails on calls and the condition of
// the approval.
func (d *Decider) bridgeAction(a *BridgeAction) Decision {
	dec := d.Bridge(a.Executor, a.Name, int64(len(a.Args)))
	if dec.Verdict == Deny || d == nil || d.bridges[a.Name] == nil {
		return dec
	}
	e := d.bridges[a.Name]
	c := Call{Agent: d.agent.Name, Bridge: a.Name, Args: a.Args, Executor: a.Executor, Powers: e.bridge.Powers}
	if len(a.Args) == 0 {
		c.Args = json.RawMessage("[]") // a call without arguments
	}
	for i := range d.agent.Guardrails {
		if no := d.agent.Guardrails[i].Refuses(d.guardrail, c); no != nil {
			no.Revision = d.revision
			return *no
		}
	}
	if dec.Verdict != Ask || d.condition == nil || e.bridge.Approval == nil || e.bridge.Approval.When == "" {
		return dec
	}
	ask, err := d.condition(e.bridge.Approval.When, c)
	if err != nil {
		dec.Reason += ": " + err.Error()
		return dec
	}
	if ask {
		return dec
	}
	return e.allow
}

// GuardCalls is the value of [Guardrail.On] for guardrails evaluated at each call.
const GuardCalls = "call"

// Guarded reports whether an agent has a guardrail on the policy. Such guardrails are evaluated before the
// set comes into force. A nil set has none.
func (s *Set) Guarded() bool {
	if s == nil {
		return false
	}
	for _, a := range s.Agents {
		if slices.ContainsFunc(a.Guardrails, func(g Guardrail) bool { return g.On != GuardCalls }) {
			return true
		}
	}
	return false
}

// Refuses evaluates a guardrail on calls. It returns nil if the guardrail lets the call pass, or is not on
// calls. An evaluation error denies the call. A nil ask denies it too.
func (g *Guardrail) Refuses(ask func(rego string, c Call) ([]string, error), c Call) *Decision {
	if g.On != GuardCalls {
		return nil
	}
	no := Decision{Code: CodeGuardrailFailed, Rule: ruleOrNil(&g.Rule),
		Reason: "guardrail " + clip(g.Name) + " cannot be evaluated here"}
	if ask == nil {
		return &no
	}
	reasons, err := ask(g.Rego, c)
	switch {
	case err != nil:
		no.Reason = "guardrail " + clip(g.Name) + " cannot be evaluated: " + err.Error()
	case len(reasons) > 0:
		no.Code, no.Reason = CodeGuardrailDenied, "guardrail "+clip(g.Name)+": "+reasons[0]
	default:
		return nil
	}
	return &no
}

// words describes in words the approval that a call needs, for the reason of a decision.
func (p *Approval) words() string {
	need, or := "an approval", " or "
	if p.Count > 1 {
		need, or = fmt.Sprintf("%d approvals", p.Count), ", "
	}
	if len(p.From) == 0 {
		return need
	}
	return need + " from " + strings.Join(p.From, or)
}

// open reports whether an executor of the agent may call the bridge. If executor is empty, open reports
// whether any of them may. A bridge without executors is open to every granted executor.
func (b *Bridge) open(a *Agent, executor string) bool {
	if executor != "" {
		return len(b.Executors) == 0 || slices.Contains(b.Executors, executor)
	}
	only := b.Executors
	if len(only) == 0 {
		only = []string{ExecutorJS, ExecutorPython, ExecutorShell}
	}
	return slices.ContainsFunc(only, func(name string) bool { return grantsExecutor(a, name) })
}

// BridgeGrant returns the grant of a bridge for the ring that enforces its limits. It returns false if d is
// nil or closed, or the name is not granted.
func (d *Decider) BridgeGrant(name string) (Bridge, bool) {
	if d == nil || d.bridges[name] == nil {
		return Bridge{}, false
	}
	return d.bridges[name].bridge, true
}
