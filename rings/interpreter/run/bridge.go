package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// ask takes one question through every step. An error means that the run cannot
// go on safely, or, when it is executors.ErrPaused, that the call stays open.
func (r *Run) ask(ctx context.Context, q executors.Question, c *call) (executors.Answer, error) {
	no := r.decide(c)
	if no == nil {
		no = c.Check(q.Args, r.host.CheckValue)
	}
	p := r.provider(c)
	if no == nil && p == nil {
		no = r.unprovided(c)
	}
	for admitted := false; no == nil && !admitted; { // anew when another call touched what this one counted on
		if no = r.approval(ctx, c); no == nil {
			admitted, no = r.admit(c)
		}
	}
	if no != nil {
		return r.refuse(c, no)
	}
	_, c.Harness = p.(contract.Harness)
	waits := c.Harness || c.Unapproved()
	if no, err := r.slow(ctx, c, waits); err != nil || no != nil {
		return r.unopened(c, no)
	}
	if err := r.two.Grew(c.Grown); err != nil {
		r.release(c)
		return executors.Answer{}, err
	}
	if err := r.open(c, waits); err != nil {
		if full, ok := errors.AsType[*contract.QueueError](err); ok {
			return r.unrun(c, r.crowded(c, full), nil)
		}
		r.release(c)
		return executors.Answer{}, err
	}
	defer r.still(c)()
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	no, err := r.begin(c, waits, cancel)
	if err != nil || no != nil {
		return r.unrun(c, no, err)
	}
	defer r.arm(c, cancel).Stop() // once it waits: a timer of no time finds it waiting
	switch {
	case waits:
		return r.await(ctx, call, c)
	case c.IsAct():
		return r.tell(ctx, c)
	}
	return r.act(call, c, p)
}

// act performs a call whose act may begin.
func (r *Run) act(ctx context.Context, c *call, p contract.Provider) (executors.Answer, error) {
	out, err := p.Call(ctx, contract.Call{Run: r.id, ID: c.ID, Agent: r.agentName, Actor: r.actor,
		Bridge: c.Bridge, Args: c.Args, Key: c.Key, Deciders: r.CallDeciders, Guest: r.guestFor(c), Act: r.actFor(c),
		Claims: func(executor string, denials []profiles.Decision, beyond int64) error {
			return r.recordClaims(c.ID, executor, denials, beyond)
		}})
	r.point("acted")
	return r.finish(c, r.judge(c, out, err, context.Cause(ctx)))
}

// arm makes a call end in time: an approval when it expires, which ends the run,
// and anything else by the bridge's timeout. A run that stops has no timeouts:
// the time it waits is bounded by the pause.
func (r *Run) arm(c *call, cancel context.CancelCauseFunc) *time.Timer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Unapproved() {
		return time.AfterFunc(c.Terms.Left(r.host.Now()), func() { r.expire(c, cancel) })
	}
	return r.timeoutLocked(c, cancel)
}

func (r *Run) timeoutLocked(c *call, cancel context.CancelCauseFunc) *time.Timer {
	return time.AfterFunc(budget.Millis(c.Limits.TimeoutMillis), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.phase == running {
			c.Stop(cancel, errTimeout)
		}
	})
}

// expire ends a live run one of whose calls was not approved in time, and refuses
// one that its guest is held for.
func (r *Run) expire(c *call, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	waits := c.State == callPending && c.WaitsFor() == pause.ForApprover && r.phase == running
	if waits && c.Held {
		c.Stop(cancel, &unapprovedError{Within: c.HeldFor})
		waits = false
	}
	r.mu.Unlock()
	if waits {
		e := (&pause.Record{Expires: c.Terms.Expires, Approval: true}).Expiry()
		r.end(ending{State: executors.StateDenied, Name: e.Name, Text: e.Message})
	}
}

// decide decides a call under all that binds the run and under the generation
// now in force. Nil: all allow, or ask for an approval.
func (r *Run) decide(c *call) *binding.Refusal {
	if no := c.Decide(r.bound, r.host.InForce()); no != nil {
		return no
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.takenLocked(c)
}

// unprovided refuses a call that nothing here performs.
func (r *Run) unprovided(c *call) *binding.Refusal {
	return &binding.Refusal{Name: profiles.ErrorBridge, Text: "this host does not provide it",
		Decision: c.Deny(r.bound, profiles.CodeBridgeUnavailable, "this host has no provider for bridge "+c.Bridge)}
}

// crowded refuses a call behind which too many wait for approvers.
func (r *Run) crowded(c *call, why *contract.QueueError) *binding.Refusal {
	return &binding.Refusal{Name: profiles.ErrorBudgetExceeded, Text: why.Reason, Decision: c.Deny(r.bound, profiles.CodeApprovalsFull, why.Reason)}
}

// admit takes the call out of the budgets, under the lock that ends the run. It reports
// false when people have to be asked first, which was not so before.
func (r *Run) admit(c *call) (ok bool, no *binding.Refusal) {
	c.Digest = pause.Digest(c.Args)
	r.mu.Lock()
	defer r.mu.Unlock()
	var over *budget.Excess
	ok, no = r.two.Touch(&c.Case, func() bool {
		if c.IsAct() {
			over = r.spent.AdmitAct(c.Bridge, &r.acts.Count, pause.MaxActs)
		} else {
			over = r.spent.Admit(c.Bridge, c.Limits, c.Agents, r.depth, r.tree)
		}
		return over == nil && c.Two == "" // else it counts once it is approved
	})
	if over != nil {
		return false, &binding.Refusal{Name: profiles.ErrorBudgetExceeded, Text: over.Text, Decision: c.Deny(r.bound, over.Code, over.Text)}
	}
	if ok {
		r.order++
		c.N = r.order
		r.calls[c.ID] = c
	}
	return ok, no
}

// release ends a call; the budget of open calls has room again.
func (r *Run) release(c *call) {
	r.mu.Lock()
	children := c.Children
	c.Children = nil
	if c.State != callClosed {
		c.State, c.Cancel, c.Args = callClosed, nil, nil
		r.spent.Open[c.Bridge]--
		r.waiting = nil // the guest goes on
	}
	r.mu.Unlock()
	endAll(children)
}

// open records the intent, and commits it where it must survive: before the act,
// and before anybody is asked.
func (r *Run) open(c *call, waits bool) error {
	durable := contract.Written
	if c.External {
		durable = contract.Synced
	}
	rec := c.Decided(r.callRecord(contract.CallOpened, c), r.executor)
	allow := c.Asks()
	rec.State, rec.Decision = "open", &allow
	if c.Full {
		rec.Full = c.Args
	}
	if err := r.Put(rec, durable); err != nil {
		return fmt.Errorf("record call %s of run %s: %w", c.ID, r.id, err)
	}
	if c.Unapproved() {
		r.asksOf(c)
	}
	r.point("call_recorded")
	c.Key = pause.Key(r.id, c.ID, c.Digest)
	if !r.journals(c, waits) {
		return nil
	}
	key, err := r.kept.Open(c.Entry(r.id, r.root, r.tree.Total(), waits))
	if err != nil {
		return fmt.Errorf("commit call %s of run %s: %w", c.ID, r.id, err)
	}
	r.point("call_open")
	c.Journaled = true
	if key != "" {
		c.Key = key
	}
	return nil
}

// begin is the point after which the act may happen. It holds the lock that
// ends the run, and looks at the generation once more: a push that was committed
// while the intent was written counts, and so does a grant taken back.
func (r *Run) begin(c *call, waits bool, cancel context.CancelCauseFunc) (*binding.Refusal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, contract.ErrEnded
	}
	if no := r.stillLocked(c); no != nil {
		return no, nil
	}
	c.Cancel = cancel
	c.State = callActing
	state := "opened"
	if waits {
		c.State, c.Reply, state = callPending, make(chan callReply, 1), "pending"
	}
	if c.HeldBy(pause.ForHarness) {
		r.feed.Turn()
	}
	if waits || !c.IsAct() {
		r.emitLocked(Event{Kind: EventCall, Call: &callEvent{ID: c.ID, Bridge: c.Bridge, State: state, Digest: c.Digest}})
	}
	return nil, nil
}

// stillLocked decides an admitted call once more.
func (r *Run) stillLocked(c *call) *binding.Refusal {
	if no := r.takenLocked(c); no != nil {
		return no
	}
	if g := r.host.InForce(); g != c.Gen {
		return c.Again(r.bound, g, r.usedLocked(c))
	}
	return nil
}

// usedLocked is what a call is held against when it is decided again.
func (r *Run) usedLocked(c *call) binding.Used {
	return binding.Used{Calls: r.spent.Calls[c.Bridge], Open: r.spent.Open[c.Bridge], Depth: r.depth, Tree: r.tree}
}

// textDeadline is for who reads the outcome.
const textDeadline = "the deadline of the run's grants has passed"

// callRecord begins a record about a call.
func (r *Run) callRecord(kind contract.Kind, c *call) contract.Record {
	rec := r.Record(kind)
	rec.Call, rec.Capability, rec.Digest = c.ID, binding.GrantOf(jsonvalue.Clip(c.Bridge, 200)), c.Digest
	return rec
}
