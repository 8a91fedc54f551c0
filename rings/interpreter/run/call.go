package run

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// callState says how far a call is.
type callState uint8

// The states, in the order of a call's life.
const (
	callAdmitted callState = iota // taken out of the budgets; nothing has begun
	callQueued                    // waits until fewer calls of its bridge are open
	callPending                   // waits for an answer or an approval
	callCut                       // was waiting, and has to stop
	callAnswered                  // has its answer, which takes effect
	callActing                    // a provider works
	callLeft                      // waits, and its question went away with the guest
	callClosed
)

// call is one use of a bridge, or one act of a guest. The lock of the run guards the
// request and the fields after it; the fields before it are set by the goroutine of the
// call.
type call struct {
	ID        string
	N         int // order in the run
	Digest    string
	Harness   bool // the harness performs it
	Journaled bool
	Key       string
	Reply     chan callReply       // has room for one
	Settled   *contract.Settlement // of a call of the pause that the run goes on from
	Holder    *budget.Hold         // of the wall time of its program; nil if that cannot be held
	Release   func()               // lets the clocks go on that were held for its approval; nil if none was
	Taken     func()               // lets the guest ask more; nil if it may anyway
	Turn      *executors.Turn      // in which it is decided and recorded

	binding.Request
	Children []*Run // subagents that were started for it; they end with it
	Begun    int64  // subagents of it that are not in Children
	Acts     int    // of the guest of its provider, so far
	Place    place  // among the open calls of its bridge
	State    callState
	Cancel   context.CancelCauseFunc
}

// callReply settles a call that waits.
type callReply struct {
	Value    json.RawMessage
	Fail     *string
	Approved bool // the host performs it
	Denied   bool
	Reason   string
}

// newCall makes the call that a question is about, not decided yet.
func newCall(q executors.Question) *call {
	c := &call{ID: q.Call, Holder: budget.HoldOf(q.Hold), Taken: q.Taken, Turn: q.Turn,
		Request: binding.Request{Bridge: q.Bridge, Size: int64(len(q.Args)), Held: q.Hold != nil}}
	if q.Action != nil {
		c.Bridge, c.Action, c.Ahead, c.Held = pause.NameOf(q.Action, ""), q.Action, q.Ahead, !q.Ahead
	}
	return c
}

// callOfPause makes the call that was open at a pause, or queued. The error says that the
// record is not that of a call.
func callOfPause(k *pause.Call, queued bool) (*call, error) {
	c := &call{ID: k.ID, N: k.N, Digest: k.Digest, Harness: k.Harness, Journaled: !queued, Key: k.Key,
		Begun: k.Children, State: callLeft,
		Request: binding.Request{Bridge: k.Bridge, Args: k.Args, Size: k.Size, Marked: k.Marked, Agents: k.Agents,
			External: k.External, Full: k.Full, Revoked: k.Revoked, Limits: k.Limits,
			Consent: binding.Consent{Terms: k.Terms, RuleOfTwo: k.Two, Approved: k.Approved, By: k.By,
				Unasked: map[string]bool{}}}}
	for _, when := range k.Unasked {
		c.Unasked[when] = true
	}
	var err error
	c.Action, err = k.Action()
	c.Ahead = c.IsAct()
	return c, err
}

// Keep returns an open call as a pause has it. revoked says that a policy in force no
// longer grants it.
func (c *call) Keep(revoked bool) pause.Call {
	k := pause.Call{ID: c.ID, Bridge: c.Bridge, N: c.N, Args: c.Args, Size: c.Size, Marked: c.Marked,
		Digest: c.Digest, Key: c.Key, External: c.External, Full: c.Full, Limits: c.Limits, Agents: c.Agents,
		Children: c.Spawned(), For: c.WaitsFor(), Harness: c.Harness,
		Consent: pause.Consent{Terms: c.Terms, Approved: c.Approved, By: c.By}, Two: c.RuleOfTwo, Revoked: revoked,
		Unasked: slices.Sorted(maps.Keys(c.Unasked))}
	if c.Place.Waits {
		k.For = ""
	}
	return k
}

// Entry returns an admitted call as the journal has it. tree is the first run of its tree
// of subagents, which has so many agents.
func (c *call) Entry(run, tree string, spawned int64, waits bool) contract.Entry {
	e := contract.Entry{Run: run, Call: c.ID, Bridge: c.Bridge, Executing: !waits, Args: c.Args, Digest: c.Digest,
		Harness: c.Harness}
	if waits {
		e.For = c.WaitsFor()
	}
	if c.Terms != nil {
		e.From, e.Count, e.Expires = c.Terms.From, c.Terms.Count, c.Terms.Expires
	}
	if c.Agents > 0 {
		e.Tree, e.Spawned = tree, spawned
	}
	return e
}

// IntentDecision returns the decision that a call is recorded with before it happens:
// allow, or ask for an approval.
func (c *call) IntentDecision() profiles.Decision {
	d := profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Revision: c.Generation.Revision,
		Rule: &c.Current.Rule, Exception: c.Current.Exception()}
	switch {
	case !c.Unapproved():
	case c.RuleOfTwo != "":
		d.Verdict, d.Code, d.Reason = profiles.Ask, profiles.CodeRuleOfTwo, c.RuleOfTwo
		if c.Terms.Rule != nil {
			d.Rule = c.Terms.Rule
		}
	default:
		d.Verdict, d.Code, d.Reason = profiles.Ask, profiles.CodeApprovalRequired, "an approval is needed"
	}
	return d
}

// questionOf returns the question that asks for a call of a pause again.
func questionOf(k *pause.Call) executors.Question {
	a, err := k.Action()
	if a == nil || err != nil { // a record with an error was not decoded
		return executors.Question{Call: k.ID, Bridge: k.Bridge, Args: k.Args}
	}
	return executors.Question{Call: k.ID, Action: a, Ahead: true}
}

// Open reports whether the call waits for people or the harness.
func (c *call) Open() bool {
	return c.State == callPending || c.State == callLeft && c.Settled == nil && !c.Place.Waits
}

// Stoppable reports whether the call has begun or waits, and is not over a pause.
func (c *call) Stoppable() bool {
	return c.Working() && c.State != callLeft || c.Paced() || c.State == callQueued
}

// Working reports whether the call has begun and has no answer yet.
func (c *call) Working() bool {
	return c.State == callPending || c.State == callActing || c.State == callLeft
}

// Paced reports whether the call is admitted and waits until its agent may write more to
// disk.
func (c *call) Paced() bool { return c.State == callAdmitted && c.Cancel != nil }

// WaitsFor returns the party that settles an open call.
func (c *call) WaitsFor() string {
	if c.Unapproved() {
		return pause.ForApprover
	}
	return pause.ForHarness
}

// Unapproved reports whether people have to approve the call, and have not.
func (c *call) Unapproved() bool { return c.Terms != nil && !c.Approved }

// HeldBy reports whether the call waits for who, and holds its program meanwhile.
func (c *call) HeldBy(who string) bool {
	return c.Held && c.State == callPending && c.WaitsFor() == who
}

// Spawned returns how many subagents were started for the call.
func (c *call) Spawned() int64 { return c.Begun + int64(len(c.Children)) }

// Pending returns the open call as others see it.
func (c *call) Pending() contract.Pending {
	p := contract.Pending{ID: c.ID, Bridge: c.Bridge, Args: c.Args, For: c.WaitsFor(), Digest: c.Digest, Held: c.Held}
	if p.For == pause.ForApprover {
		p.Expires, p.From, p.Count = c.Terms.Expires, c.Terms.From, c.Terms.Count
		p.Rule, p.Because = c.Terms.Rule, c.RuleOfTwo
	}
	return p
}

// Stop makes the call stop. No answer is accepted from then on.
func (c *call) Stop(cancel context.CancelCauseFunc, why error) {
	if c.State == callPending || c.State == callQueued {
		c.State = callCut
	}
	if cancel != nil {
		cancel(why)
	}
}

// Is reports whether a question repeats the question of a call that was open at a pause.
func (c *call) Is(q executors.Question) bool {
	if !c.IsAct() {
		return q.Action == nil && c.Bridge == q.Bridge
	}
	if q.Action == nil || !q.Ahead {
		return false
	}
	args, err := pause.ArgsOf(q.Action)
	return err == nil && string(args) == string(c.Args)
}

// Answer returns the answer that tells a program of a failed call, and a guest of a refused
// act. A guest gets the decision d, or a decision that the host could not decide if d is
// nil. The error is that of encoding it.
func (c *call) Answer(b *binding.Binding, name, text string, d *profiles.Decision) (executors.Answer, error) {
	if !c.IsAct() {
		return executors.Answer{Error: &executors.GuestError{Name: name,
			Message: jsonvalue.Clip(c.Bridge, 80) + ": " + text + " (call " + c.ID + ")"}}, nil
	}
	if d == nil {
		no := c.Deny(b, profiles.CodeRingUnavailable, text)
		d = &no
	}
	no := *d
	no.Verdict, no.Start = profiles.Deny, nil
	value, err := json.Marshal(no)
	return executors.Answer{Value: value}, err
}

// Shown returns what View lists of a call that people are asked about: the words of the
// program that it starts, and when people are asked. shown is false for a call that its
// run pauses for, which View lists as pending.
func (c *call) Shown() (argv []string, when string, shown bool) {
	switch {
	case c.Action == nil && !c.Held:
		return nil, "", false
	case c.Action != nil && c.Action.Exec == nil:
		return nil, "", false
	case c.Action != nil:
		argv = c.Action.Exec.Argv
	}
	if c.Ahead {
		return argv, pause.BeforeStart, true
	}
	return argv, pause.WhileHeld, true
}

// Decided turns rec, a record about the call, into the record of the decision: about a use
// of a bridge, or about an act before it happens.
func (c *call) Decided(rec contract.Record, executor string) contract.Record {
	a := c.Action
	rec.Action = a
	switch {
	case a == nil:
		rec.Action = &profiles.Action{Bridge: &profiles.BridgeAction{Name: c.Bridge, Args: c.Args, Executor: executor}}
		if text := powers.Text(c.Grown.Powers); text != "" {
			rec.Detail = map[string]string{"touched": text}
		}
		return rec
	case a.Exec != nil:
		rec.Kind = contract.ExecDecided
	case a.File != nil:
		rec.Kind = contract.FileDecided
	default:
		rec.Kind = contract.VariableDecided
	}
	rec.Detail = map[string]string{"executor": executor}
	if a.Exec != nil {
		rec.Detail["words"] = strconv.Itoa(len(a.Exec.Argv))
		if sub := c.Subcommand(); sub != "" {
			rec.Detail["sub"] = sub
		}
		if len(a.Exec.Env) > 0 {
			rec.Detail["environment"] = strconv.Itoa(len(a.Exec.Env))
		}
	}
	if rec.Digest == "" { // the act was refused before it was admitted
		if args, err := pause.ArgsOf(a); err == nil {
			rec.Digest = pause.Digest(args)
		}
	}
	if c.Approved {
		rec.Detail["approved"] = c.By
	}
	if c.Full {
		rec.Full = c.Args
	}
	return rec
}

// HasEffect reports whether an act may change something outside of its guest.
func (c *call) HasEffect() bool {
	return c.Action != nil && (c.Action.Exec != nil || c.Action.File != nil && c.Action.File.Op != "read")
}

// NestedID returns the id of the next act of the guest that a provider started for the call.
func (c *call) NestedID() string {
	c.Acts++
	return strings.Join([]string{c.ID, strconv.Itoa(c.Acts)}, "-")
}
