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

// IsAct reports whether a call is one of a guest's own: it starts a program, opens
// a file or sets a variable.
func (a *act) IsAct() bool { return a.Action != nil }

// actLimits are those of every act: what bounds them all is the run's.
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

// act decides an act under one policy. With a grant the verdict is allow or ask.
func (a *Agent) act(k *Request) (*Grant, profiles.Decision) {
	d := decideAct(a.decider, k.Action)
	shell := a.Profile.Shell
	if shell == nil {
		if d.Verdict != profiles.Deny {
			d = profiles.Decision{Code: profiles.CodeExecutorNotGranted, Reason: "the policy does not grant the executor shell", Revision: a.Revision}
		}
		return nil, d
	}
	gr := &Grant{Bridge: profiles.Bridge{Name: k.Bridge, Limits: actLimits(), Audit: shell.Audit, Rule: shell.Rule}, Revision: a.Revision}
	if d.Rule != nil {
		gr.Rule = *d.Rule
	}
	switch d.Verdict {
	case profiles.Allow:
	case profiles.Ask:
		if k.Action.Exec != nil {
			gr.Approval = a.decider.Approval(*k.Action.Exec)
		}
		if gr.Approval == nil { // nobody could be asked
			d.Verdict, d.Code, d.Reason = profiles.Deny, profiles.CodeRingUnavailable, "an approval is needed, and nothing says of whom"
			return nil, d
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

// prepare keeps the act as its approver and its record see it, also when it is
// refused.
func (k *Request) prepareAct(b *Binding) *Refusal {
	args, err := pause.ArgsOf(k.Action)
	k.Args = args
	k.Full = k.Full || b.RecordsWords()
	if err != nil || len(args) > MaxFull {
		k.Full = false
		text := fmt.Sprintf("its words take more than %d bytes in a record", MaxFull)
		return &Refusal{Name: profiles.ErrorArgument, Text: text, Decision: k.Deny(b, profiles.CodeActionMalformed, text)}
	}
	return nil
}

// own decides the call under what binds the run.
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

// Now decides the call under g alone, the generation in force. Without a grant the
// decision refuses.
func (k *Request) DecideInForce(b *Binding, g *Generation) (*Grant, profiles.Decision) {
	if !k.IsAct() {
		return g.DecideBridge(b.agent, b.executor, k.Bridge, k.Size)
	}
	for _, executor := range []string{b.executor, profiles.ExecutorShell} {
		if reason, closed := g.Closed(executor); closed {
			return nil, profiles.Decision{Code: profiles.CodeClosed, Reason: "the executor " + executor + " is closed: " + reason, Revision: g.Revision}
		}
	}
	a := g.Agent(b.agent)
	if a == nil {
		return nil, g.Refusal(b.agent)
	}
	if len(k.BoundGrants) > 0 && a == b.First() { // decided already
		return k.BoundGrants[0], k.BoundGrants[0].decision
	}
	return a.act(k)
}

// Rebind finds again what grants a call of a pause; it is refused when it is
// decided again where nothing does.
func (k *Request) Rebind(b *Binding) { k.BoundGrants, _, _ = k.decideBound(b) }

// allow makes the decision that the guest gets of an act that every policy allows,
// or says that they do not allow the same.
func (k *Request) allowAct() *Refusal {
	for _, gr := range k.BoundGrants {
		if !reflect.DeepEqual(gr.decision.Start, k.Current.decision.Start) {
			return revoked(k.Current.Revision, k.Current, "the policies that bind the run start the program in other ways")
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

// Sub is the sub-command of a program that an act starts, where its words surely name
// one; "" where they do not, or the word is not of the kind that names one.
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

// maxSub is longer than the names of sub-commands are.
const maxSub = 32

// Words are what an approval of the act holds for; "" holds for nothing.
func (a *act) ApprovalKey() string {
	if a.Action == nil || a.Action.Exec == nil || a.Allowed.Start == nil {
		return ""
	}
	return pause.ApprovalKey(a.Allowed.Start.Path, a.Action.Exec.Argv)
}

// hold bounds the terms of an approval that a program waits for in a guest.
func (k *Request) limitHold(now time.Time, asked []*profiles.Approval) {
	for _, a := range asked {
		ms := a.HoldMillis
		if ms <= 0 {
			ms = profiles.DefaultHoldMillis
		}
		if at := now.Add(time.Duration(min(ms, longest.Milliseconds())) * time.Millisecond); at.Before(k.Terms.Expires) {
			k.Terms.Expires = at
		}
	}
	k.HeldFor = k.Terms.Left(now)
}

// Ask sets the terms on which people have to approve the call, as all that ask for
// it want them; nil asks for nothing. An approval that was given before may do.
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
		return &Refusal{Name: profiles.ErrorCapabilityDenied, Text: "it needs an approval that nobody can give",
			Decision: k.Deny(b, profiles.CodeApprovalRequired, "the policies that bind the run name no common approver, or no time to approve")}
	}
	if k.Terms = terms; terms != nil && k.Held {
		k.limitHold(now, asked)
	}
	return nil
}

// Grant is the name under which the call can be taken from a run.
func (k *Request) Capability() string { return CapabilityOf(k.Bridge) }

// CapabilityOf is the capability of a call's name: that of a bridge, or of an act, whose
// name says it.
func CapabilityOf(name string) string {
	if pause.IsAct(name) {
		return name
	}
	return GrantBridge + name
}

// Redacted is a decision as a record has it that holds no words of a program: its
// reason quotes them.
func (k *Request) Redacted(d profiles.Decision) profiles.Decision {
	if k.IsAct() && !k.Full && d.Verdict == profiles.Deny {
		d.Reason, d.Evidence, d.Instead = "", nil, nil
	}
	return d
}

// Bounds of a refusal that is kept and told.
const (
	maxWords = 64
	maxWord  = 4 << 10
)

// Brief is a refusal without the rest of words that a guest chose as long as it
// liked: a run keeps many of them. It shares nothing with d that is written to.
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
