package profiles

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/spelling"
)

// bridgeEntry is a granted bridge with its decisions made ahead. Without an
// approval both are the same.
type bridgeEntry struct {
	bridge Bridge
	asks   Decision // while nobody knows better
	allow  Decision // when the condition of its approval does not hold
}

// indexBridges returns the granted bridges and their sorted names.
func indexBridges(a *Agent, revision string) (map[string]*bridgeEntry, []string) {
	bridges, names := make(map[string]*bridgeEntry, len(a.Bridges)), make([]string, 0, len(a.Bridges))
	for name, b := range a.Bridges {
		if name != b.Name || name == "" {
			continue // a grant under another name is no grant
		}
		e := &bridgeEntry{bridge: b}
		e.allow = Decision{Verdict: Allow, Code: CodeAllowed, Reason: "bridge " + name + " is granted",
			Rule: known(&e.bridge.Rule), Revision: revision}
		e.asks = e.allow
		if p := b.Approval; p != nil {
			e.asks = Decision{Verdict: Ask, Code: CodeApprovalRequired,
				Reason: "a call of " + name + " needs " + p.words(),
				Rule:   known(&p.Rule), Revision: revision}
		}
		bridges[name] = e
		names = append(names, name)
	}
	slices.Sort(names)
	return bridges, names
}

// Bridge decides a call of a bridge from an executor, with an argument of so
// many bytes of JSON. An empty executor asks whether any executor of the agent
// may call it. Schemas, counts and times are not decided here: they belong to
// the ring that answers the call. A bridge with an approval is Ask, whatever its
// condition says: the ring asks that, with the arguments.
func (d *Decider) Bridge(executor, name string, argumentBytes int64) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if executor != "" && !grantsExecutor(&d.agent, executor) {
		return d.notGranted(executor)
	}
	e := d.bridges[name]
	if e == nil {
		rule := known(&d.agent.BridgesRule)
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

// bridgeAction decides a call with its arguments: the guardrails on calls and the
// condition of its approval are asked as well.
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

// GuardCalls is the On of a guardrail that is asked about each call.
const GuardCalls = "call"

// Guarded reports whether an agent has a guardrail on the policy, which has to be asked
// before the set comes in force. A nil set has none.
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

// Refuses asks a guardrail about a call; nil: it lets the call pass, or is not on
// calls. Whatever it cannot tell refuses, and so does nobody who could ask it.
func (g *Guardrail) Refuses(ask func(rego string, c Call) ([]string, error), c Call) *Decision {
	if g.On != GuardCalls {
		return nil
	}
	no := Decision{Code: CodeGuardrailFailed, Rule: known(&g.Rule),
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

// words says what a call needs, for a reason.
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

// open reports whether an executor of the agent may call the bridge. An empty executor asks for
// any of them. A bridge that names no executors is open to all that are granted.
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

// BridgeGrant returns the grant of a bridge, for the ring that enforces its
// limits. False from a nil or closed Decider and for a name that is not granted.
func (d *Decider) BridgeGrant(name string) (Bridge, bool) {
	if d == nil || d.bridges[name] == nil {
		return Bridge{}, false
	}
	return d.bridges[name].bridge, true
}
