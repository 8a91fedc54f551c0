// This file holds one use of a bridge, or one act of a guest, from its
// admission to its end: what it is, what was decided about it, and where it stands.
// It changes nothing by itself; the life of its run does, and guards it.

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

// callState is where a call stands.
type callState uint8

// The states, in the order of a call's life.
const (
	callAdmitted callState = iota // taken out of the budgets; nothing has begun
	callPending                   // waits for an answer or an approval
	callCut                       // waited, and was told to stop
	callAnswered                  // it has its answer, which takes effect
	callActing                    // a provider works
	callLeft                      // waits, and its question is gone with the guest
	callClosed
)

// openCall is one admitted call, of a run whose subagents are of type C. The run's lock
// guards the case and the fields behind it.
type openCall[C any] struct {
	ID        string
	N         int // order in the run
	Digest    string
	Harness   bool // the harness performs it
	Journaled bool
	Key       string
	Reply     chan callReply       // one at most
	Settled   *contract.Settlement // of a call of the pause that the run goes on from
	Holder    *budget.Hold         // of the wall time of its program; nil: it has none that is held
	Release   func()               // lets what was held for its approval go on; nil: nothing was
	Taken     func()               // lets the guest say more; nil: it may anyway

	binding.Case
	Children []C   // that were started for it; they end with it
	Begun    int64 // children of it that are not in that list
	Acts     int   // of the guest of its provider, so far
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

// newOpenCall is the call that a question is about, not decided yet.
func newOpenCall[C any](q executors.Question) *openCall[C] {
	c := &openCall[C]{ID: q.Call, Holder: budget.HoldOf(q.Hold), Taken: q.Taken,
		Case: binding.Case{Bridge: q.Bridge, Size: int64(len(q.Args)), Held: q.Hold != nil}}
	if q.Action != nil {
		c.Bridge, c.Action, c.Ahead, c.Held = pause.NameOf(q.Action, ""), q.Action, q.Ahead, !q.Ahead
	}
	return c
}

// keptCall is a call that was open at a pause. The error says that no call was.
func keptCall[C any](k *pause.Call) (*openCall[C], error) {
	c := &openCall[C]{ID: k.ID, N: k.N, Digest: k.Digest, Harness: k.Harness, Journaled: true, Key: k.Key, Begun: k.Children, State: callLeft,
		Case: binding.Case{Bridge: k.Bridge, Args: k.Args, Size: k.Size, Marked: k.Marked, Agents: k.Agents, External: k.External,
			Full: k.Full, Revoked: k.Revoked, Limits: k.Limits, Terms: k.Terms, Two: k.Two, Approved: k.Approved, By: k.By, Unasked: map[string]bool{}}}
	for _, when := range k.Unasked {
		c.Unasked[when] = true
	}
	var err error
	c.Action, err = k.Action()
	c.Ahead = c.IsAct()
	return c, err
}

// Keep is an open call as a pause has it; revoked says that a policy in force no longer
// grants it.
func (c *openCall[C]) Keep(revoked bool) pause.Call {
	return pause.Call{ID: c.ID, Bridge: c.Bridge, N: c.N, Args: c.Args, Size: c.Size, Marked: c.Marked, Digest: c.Digest,
		Key: c.Key, External: c.External, Full: c.Full, Limits: c.Limits, Agents: c.Agents,
		Children: c.Spawned(), For: c.WaitsFor(), Harness: c.Harness, Terms: c.Terms, Two: c.Two,
		Approved: c.Approved, By: c.By, Revoked: revoked, Unasked: slices.Sorted(maps.Keys(c.Unasked))}
}

// Entry is an admitted call as a journal has it, of a run in the tree whose first run is
// tree and which has so many agents.
func (c *openCall[C]) Entry(run, tree string, spawned int64, waits bool) contract.Entry {
	e := contract.Entry{Run: run, Call: c.ID, Bridge: c.Bridge, Executing: !waits, Args: c.Args, Digest: c.Digest, Harness: c.Harness}
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

// Asks is the decision that a call is recorded with before it happens.
func (c *openCall[C]) Asks() profiles.Decision {
	d := profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Revision: c.Gen.Revision, Rule: &c.Other.Rule, Exception: c.Other.Exception()}
	switch {
	case !c.Unapproved():
	case c.Two != "":
		d.Verdict, d.Code, d.Reason = profiles.Ask, profiles.CodeRuleOfTwo, c.Two
		if c.Terms.Rule != nil {
			d.Rule = c.Terms.Rule
		}
	default:
		d.Verdict, d.Code, d.Reason = profiles.Ask, profiles.CodeApprovalRequired, "an approval is needed"
	}
	return d
}

// questionOf asks for a call of a pause again.
func questionOf(k *pause.Call) executors.Question {
	a, err := k.Action()
	if a == nil || err != nil { // a record with an error was not decoded
		return executors.Question{Call: k.ID, Bridge: k.Bridge, Args: k.Args}
	}
	return executors.Question{Call: k.ID, Action: a, Ahead: true}
}

// Open reports whether the call waits for somebody outside.
func (c *openCall[C]) Open() bool {
	return c.State == callPending || c.State == callLeft && c.Settled == nil
}

// Working reports whether the call has begun and has no answer yet.
func (c *openCall[C]) Working() bool {
	return c.State == callPending || c.State == callActing || c.State == callLeft
}

// Slowed reports whether the call is admitted and waits until its agent may bring more
// on disk.
func (c *openCall[C]) Slowed() bool { return c.State == callAdmitted && c.Cancel != nil }

// WaitsFor says who settles an open call.
func (c *openCall[C]) WaitsFor() string {
	if c.Unapproved() {
		return pause.ForApprover
	}
	return pause.ForHarness
}

// Unapproved reports whether people have to approve the call, and have not.
func (c *openCall[C]) Unapproved() bool { return c.Terms != nil && !c.Approved }

// HeldBy reports whether the call waits for who, and holds its program meanwhile.
func (c *openCall[C]) HeldBy(who string) bool {
	return c.Held && c.State == callPending && c.WaitsFor() == who
}

// Spawned is how many subagents were started for the call.
func (c *openCall[C]) Spawned() int64 { return c.Begun + int64(len(c.Children)) }

// Pending is the open call as others see it.
func (c *openCall[C]) Pending() contract.Pending {
	p := contract.Pending{ID: c.ID, Bridge: c.Bridge, Args: c.Args, For: c.WaitsFor(), Digest: c.Digest, Held: c.Held}
	if p.For == pause.ForApprover {
		p.Expires, p.From, p.Count = c.Terms.Expires, c.Terms.From, c.Terms.Count
		p.Rule, p.Because = c.Terms.Rule, c.Two
	}
	return p
}

// Stop tells the call to stop. From then on no answer counts.
func (c *openCall[C]) Stop(cancel context.CancelCauseFunc, why error) {
	if c.State == callPending {
		c.State = callCut
	}
	if cancel != nil {
		cancel(why)
	}
}

// Is reports whether a question is the one that a call of a pause was made by.
func (c *openCall[C]) Is(q executors.Question) bool {
	if !c.IsAct() {
		return q.Action == nil && c.Bridge == q.Bridge
	}
	if q.Action == nil || !q.Ahead {
		return false
	}
	args, err := pause.ArgsOf(q.Action)
	return err == nil && string(args) == string(c.Args)
}

// Refused is what a program sees of a failed call, and a guest of a refused act: d,
// or that the host could not decide. An error is that of encoding it.
func (c *openCall[C]) Refused(b *binding.Binding, name, text string, d *profiles.Decision) (executors.Answer, error) {
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

// Shown says what is noted of a call that people are asked about: the words of a program
// that it starts, and when they are asked. A call that its run pauses for is not: the
// run shows it.
func (c *openCall[C]) Shown() (argv []string, when string, shown bool) {
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

// Decided turns rec, which is of a call, into the record of what was decided about
// an act before it happens; that of another call stays as it is.
func (c *openCall[C]) Decided(rec contract.Record, executor string) contract.Record {
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
		if sub := c.Sub(); sub != "" {
			rec.Detail["sub"] = sub
		}
		if len(a.Exec.Env) > 0 {
			rec.Detail["environment"] = strconv.Itoa(len(a.Exec.Env))
		}
	}
	if rec.Digest == "" { // it was refused before it was admitted
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

// Effect reports whether an act may change something outside of its guest.
func (c *openCall[C]) Effect() bool {
	return c.Action != nil && (c.Action.Exec != nil || c.Action.File != nil && c.Action.File.Op != "read")
}

// Nested is the id of an act of the guest that a provider started for the call.
func (c *openCall[C]) Nested() string {
	c.Acts++
	return strings.Join([]string{c.ID, strconv.Itoa(c.Acts)}, "-")
}
