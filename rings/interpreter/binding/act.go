package binding

import (
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// IsAct reports whether the call is an act of the guest: it starts a program, opens a file
// or sets a variable.
func (a *act) IsAct() bool { return a.Action != nil }

// actLimits returns the limits of every act. The limits that matter are those of the run.
func actLimits() profiles.BridgeLimits {
	return profiles.BridgeLimits{Concurrent: pause.MaxActs, CallsPerRun: pause.MaxActs, ArgumentBytes: math.MaxInt64,
		ResultBytes: math.MaxInt64, TimeoutMillis: longest.Milliseconds()}
}

// decideAct asks one decider. A file is one that a script opens.
func decideAct(d *profiles.Decider, a *profiles.Action) profiles.Decision {
	if a.File != nil {
		dec, settled := d.Redirect(a.File.Op, argv.Known(a.File.Path), "/")
		if !settled {
			dec.Verdict = profiles.Deny
		}
		return dec
	}
	return d.Decide(*a)
}

// act decides an act under one policy. If there is a grant, the verdict is allow or ask.
func (a *Agent) act(k *Request) (*Grant, profiles.Decision) {
	d := decideAct(a.decider, k.Action)
	shell := a.Profile.Shell
	if shell == nil {
		if d.Verdict != profiles.Deny {
			d = profiles.Decision{Code: profiles.CodeExecutorNotGranted, Revision: a.Revision,
				Reason: "the policy does not grant the executor shell"}
		}
		return nil, d
	}
	gr := &Grant{Revision: a.Revision,
		Bridge: profiles.Bridge{Name: k.Bridge, Limits: actLimits(), Audit: shell.Audit, Rule: shell.Rule}}
	if d.Rule != nil {
		gr.Rule = *d.Rule
	}
	switch d.Verdict {
	case profiles.Allow:
	case profiles.Ask:
		if k.Action.Exec != nil {
			gr.Approval = a.decider.Approval(*k.Action.Exec)
		}
		if gr.Approval == nil {
			return nil, noApprover(d)
		}
	case profiles.Deny:
		return nil, d
	default:
		d.Verdict = profiles.Deny
		return nil, d
	}
	gr.decision = d
	return gr, d
}

// prepareAct encodes the act as its approver and its record see it, also if it is refused.
func (k *Request) prepareAct(b *Binding) *Refusal {
	args, err := pause.ArgsOf(k.Action)
	k.Args = args
	k.Full = k.Full || b.RecordsWords()
	if err != nil || len(args) > MaxFull {
		k.Full = false
		text := fmt.Sprintf("its words take more than %d bytes in a record", MaxFull)
		return &Refusal{Name: profiles.ErrorArgument, Text: text,
			Decision: k.Deny(b, profiles.CodeActionMalformed, text)}
	}
	return nil
}

// decideBound decides the call under the policies that bind the run.
func (k *Request) decideBound(b *Binding) (grants []*Grant, d profiles.Decision, later bool) {
	if !k.IsAct() {
		return b.DecideBridge(k.Bridge, k.Size)
	}
	for i, a := range b.agents {
		gr, one := a.act(k)
		if gr == nil {
			return nil, one, i > 0
		}
		grants = append(grants, gr)
	}
	return grants, grants[0].decision, false
}

// DecideInForce decides the call under g alone, the generation in force. Without a grant the
// decision refuses.
func (k *Request) DecideInForce(b *Binding, g *Generation) (*Grant, profiles.Decision) {
	if !k.IsAct() {
		return g.DecideBridge(b.agent, b.executor, k.Bridge, k.Size)
	}
	for _, executor := range []string{b.executor, profiles.ExecutorShell} {
		if reason, closed := g.Closed(executor); closed {
			return nil, closedDecision(g, executor, reason)
		}
	}
	a := g.Agent(b.agent)
	if a == nil {
		return nil, g.Refusal(b.agent)
	}
	if len(k.BoundGrants) > 0 && a == b.First() {
		return k.BoundGrants[0], k.BoundGrants[0].decision
	}
	return a.act(k)
}

// Rebind finds the grants of a call of a pause again. If there are none, the call is refused
// when it is decided again.
func (k *Request) Rebind(b *Binding) { k.BoundGrants, _, _ = k.decideBound(b) }

// allowAct makes the decision that the guest gets of an act that every policy allows. It
// refuses the act if the policies do not allow the same.
func (k *Request) allowAct() *Refusal {
	for _, gr := range k.BoundGrants {
		if !reflect.DeepEqual(gr.decision.Start, k.Current.decision.Start) {
			return revoked(k.Current.Revision, k.Current,
				"the policies that bind the run start the program in other ways")
		}
	}
	d := k.Current.decision
	d.Verdict = profiles.Allow
	if d.Code != profiles.CodeAllowed {
		d.Code, d.Reason = profiles.CodeAllowed, "it was approved"
	}
	if x := k.Action.Exec; x != nil {
		if d.Start == nil || !path.IsAbs(d.Start.Path) || len(d.Start.Argv) == 0 {
			return revoked(k.Current.Revision, k.Current, "nothing says what it would start")
		}
		k.Bridge = pause.NameOf(k.Action, d.Start.Path)
	}
	k.Allowed = d
	return nil
}

// Subcommand returns the sub-command of the program that the act starts. It is empty if the
// words do not surely name one, or if the word does not look like a name.
func (a *act) Subcommand() string {
	if a.Action == nil || a.Action.Exec == nil {
		return ""
	}
	operands, sure := argv.Split(argv.AllKnown(a.Action.Exec.Argv), false).Sub()
	if !sure || len(operands) == 0 || len(operands[0].Text) > maxSub ||
		strings.Trim(operands[0].Text, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return ""
	}
	return operands[0].Text
}

// maxSub is longer than any name of a sub-command.
const maxSub = 32

// ApprovalKey returns the key of the acts for which an approval of this act is valid. If the key is empty, an
// approval is valid for this act only.
func (a *act) ApprovalKey() string {
	if a.Action == nil || a.Action.Exec == nil || a.Allowed.Start == nil {
		return ""
	}
	return pause.ApprovalKey(a.Allowed.Start.Path, a.Action.Exec.Argv)
}

// limitHold limits the time in which people can approve a call that holds its program.
func (k *Request) limitHold(now time.Time, asked []*profiles.Approval) {
	for _, a := range asked {
		ms := a.HoldMillis
		if ms <= 0 {
			ms = profiles.DefaultHoldMillis
		}
		hold := time.Duration(min(ms, longest.Milliseconds())) * time.Millisecond
		if at := now.Add(hold); at.Before(k.Terms.Expires) {
			k.Terms.Expires = at
		}
	}
	k.HeldFor = k.Terms.Left(now)
}

// SetTerms sets the terms of the approval that the call needs. They satisfy every policy that requires an
// approval. If no policy does, there are no terms. If an earlier approval satisfies the terms, it is used.
func (k *Request) SetTerms(b *Binding, now time.Time, before *pause.Given, asked ...*profiles.Approval) *Refusal {
	if before != nil && len(asked) > 0 {
		ok := true
		for _, a := range asked {
			ok = ok && Satisfied(&before.Terms, a)
		}
		if ok {
			terms := before.Terms
			k.Terms, k.Approved, k.By = &terms, true, before.By
			return nil
		}
	}
	terms, ok := Terms(now, asked...)
	if !ok {
		return &Refusal{Name: profiles.ErrorCapabilityDenied, Text: "it needs an approval that no approver can give",
			Decision: k.Deny(b, profiles.CodeApprovalRequired,
				"the policies that bind the run name no common approver, or no time to approve")}
	}
	if k.Terms = terms; terms != nil && k.Held {
		k.limitHold(now, asked)
	}
	return nil
}

// Capability returns the name under which the call can be taken from a run.
func (k *Request) Capability() string { return CapabilityOf(k.Bridge) }

// CapabilityOf returns the capability of the name of a call: that of a bridge, or that of an
// act, which is the name itself.
func CapabilityOf(name string) string {
	if pause.IsAct(name) {
		return name
	}
	return GrantBridge + name
}

// Redacted returns a decision for a record that holds no words of a program: the reason
// quotes them.
func (k *Request) Redacted(d profiles.Decision) profiles.Decision {
	if k.IsAct() && !k.Full && d.Verdict == profiles.Deny {
		d.Reason, d.Evidence, d.Instead = "", nil, nil
	}
	return d
}

// Limits of a refusal that a run keeps and shows.
const (
	maxWords = 64
	maxWord  = 4 << 10
)

// Brief shortens the words of a refusal that a guest chose as long as it liked: a run keeps
// many of them. The result shares nothing with d that is written to.
func Brief(d profiles.Decision) profiles.Decision {
	d.Reason, d.Text = jsonvalue.Clip(d.Reason, maxWord), jsonvalue.Clip(d.Text, 4*maxWord)
	d.Instead = brief(d.Instead)
	if e := d.Evidence; e != nil {
		one := *e
		one.Argv, one.Chain = brief(e.Argv), brief(e.Chain)
		d.Evidence = &one
	}
	return d
}

func brief(all []string) []string {
	long := func(w string) bool { return len(w) > maxWord }
	if len(all) <= maxWords && !slices.ContainsFunc(all, long) {
		return all
	}
	out := make([]string, 0, maxWords)
	for _, w := range all[:min(len(all), maxWords)] {
		out = append(out, strings.Clone(jsonvalue.Clip(w, maxWord)))
	}
	return out
}
