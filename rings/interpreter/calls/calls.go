// Package calls holds one use of a bridge, or one act of a guest, from its
// admission to its end: what it is, what was decided about it, and where it stands.
// It changes nothing by itself; the life of its run does, and guards it.
package calls

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/port"
	"github.com/ringd/ringd/rings/interpreter/rules"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// State is where a call stands.
type State uint8

// The states, in the order of a call's life.
const (
	Admitted State = iota // taken out of the budgets; nothing has begun
	Pending               // waits for an answer or an approval
	Cut                   // waited, and was told to stop
	Answered              // it has its answer, which takes effect
	Acting                // a provider works
	Left                  // waits, and its question is gone with the guest
	Closed
)

// Call is one admitted call, of a run whose subagents are of type C. The run's lock
// guards the case and the fields behind it.
type Call[C any] struct {
	ID        string
	N         int // order in the run
	Digest    string
	Harness   bool // the harness performs it
	Journaled bool
	Key       string
	Reply     chan Reply       // one at most
	Settled   *port.Settlement // of a call of the pause that the run goes on from
	Holder    *budget.Hold     // of the wall time of its program; nil: it has none that is held
	Release   func()           // lets what was held for its approval go on; nil: nothing was

	rules.Case
	Children []C   // that were started for it; they end with it
	Begun    int64 // children of it that are not in that list
	Acts     int   // of the guest of its provider, so far
	State    State
	Cancel   context.CancelCauseFunc
}

// Reply settles a call that waits.
type Reply struct {
	Value    json.RawMessage
	Fail     *string
	Approved bool // the host performs it
	Denied   bool
	Reason   string
}

// For is the call that a question is about, not decided yet.
func For[C any](q executors.Question) *Call[C] {
	c := &Call[C]{ID: q.Call, Holder: budget.HoldOf(q.Hold),
		Case: rules.Case{Bridge: q.Bridge, Size: int64(len(q.Args)), Held: q.Hold != nil}}
	if q.Action != nil {
		c.Bridge, c.Action, c.Ahead, c.Held = pause.NameOf(q.Action, ""), q.Action, q.Ahead, !q.Ahead
	}
	return c
}

// Kept is a call that was open at a pause. The error says that no call was.
func Kept[C any](k *pause.Call) (*Call[C], error) {
	c := &Call[C]{ID: k.ID, N: k.N, Digest: k.Digest, Harness: k.Harness, Journaled: true, Key: k.Key, Begun: k.Children, State: Left,
		Case: rules.Case{Bridge: k.Bridge, Args: k.Args, Size: k.Size, Marked: k.Marked, Agents: k.Agents, External: k.External,
			Full: k.Full, Revoked: k.Revoked, Limits: k.Limits, Terms: k.Terms, Approved: k.Approved, By: k.By, Unasked: map[string]bool{}}}
	for _, when := range k.Unasked {
		c.Unasked[when] = true
	}
	var err error
	c.Action, err = k.Action()
	c.Ahead = c.IsAct()
	return c, err
}

// Question asks for a call of a pause again.
func Question(k *pause.Call) executors.Question {
	a, err := k.Action()
	if a == nil || err != nil { // a record with an error was not decoded
		return executors.Question{Call: k.ID, Bridge: k.Bridge, Args: k.Args}
	}
	return executors.Question{Call: k.ID, Action: a, Ahead: true}
}

// Open reports whether the call waits for somebody outside.
func (c *Call[C]) Open() bool { return c.State == Pending || c.State == Left && c.Settled == nil }

// Working reports whether the call has begun and has no answer yet.
func (c *Call[C]) Working() bool { return c.State == Pending || c.State == Acting || c.State == Left }

// WaitsFor says who settles an open call.
func (c *Call[C]) WaitsFor() string {
	if c.Unapproved() {
		return pause.ForApprover
	}
	return pause.ForHarness
}

// Unapproved reports whether people have to approve the call, and have not.
func (c *Call[C]) Unapproved() bool { return c.Terms != nil && !c.Approved }

// HeldBy reports whether the call waits for who, and holds its program meanwhile.
func (c *Call[C]) HeldBy(who string) bool {
	return c.Held && c.State == Pending && c.WaitsFor() == who
}

// Spawned is how many subagents were started for the call.
func (c *Call[C]) Spawned() int64 { return c.Begun + int64(len(c.Children)) }

// Pending is the open call as others see it.
func (c *Call[C]) Pending() port.Pending {
	p := port.Pending{ID: c.ID, Bridge: c.Bridge, Args: c.Args, For: c.WaitsFor(), Digest: c.Digest, Held: c.Held}
	if p.For == pause.ForApprover {
		p.Expires, p.From, p.Count = c.Terms.Expires, c.Terms.From, c.Terms.Count
		p.Rule = c.Terms.Rule
	}
	return p
}

// Stop tells the call to stop. From then on no answer counts.
func (c *Call[C]) Stop(cancel context.CancelCauseFunc, why error) {
	if c.State == Pending {
		c.State = Cut
	}
	if cancel != nil {
		cancel(why)
	}
}

// Is reports whether a question is the one that a call of a pause was made by.
func (c *Call[C]) Is(q executors.Question) bool {
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
func (c *Call[C]) Refused(b *rules.Binding, name, text string, d *profiles.Decision) (executors.Answer, error) {
	if !c.IsAct() {
		return executors.Answer{Error: &executors.GuestError{Name: name,
			Message: shape.Clip(c.Bridge, 80) + ": " + text + " (call " + c.ID + ")"}}, nil
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

// Decided turns rec, which is of a call, into the record of what was decided about
// an act before it happens; that of another call stays as it is.
func (c *Call[C]) Decided(rec port.Record, executor string) port.Record {
	a := c.Action
	switch {
	case a == nil:
		return rec
	case a.Exec != nil:
		rec.Kind = port.ExecDecided
	case a.File != nil:
		rec.Kind = port.FileDecided
	default:
		rec.Kind = port.VariableDecided
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
func (c *Call[C]) Effect() bool {
	return c.Action != nil && (c.Action.Exec != nil || c.Action.File != nil && c.Action.File.Op != "read")
}

// Nested is the id of an act of the guest that a provider started for the call.
func (c *Call[C]) Nested() string {
	c.Acts++
	return strings.Join([]string{c.ID, strconv.Itoa(c.Acts)}, "-")
}
