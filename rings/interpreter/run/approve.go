package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// approval finds out whether guardrails refuse the call or people have to approve it,
// under all that it was decided under, and on which terms.
func (r *Run) approval(ctx context.Context, c *call) *binding.Refusal {
	if no := c.Guarded(ctx, r.bound, r.host.Conditions, c.Grants()...); no != nil {
		return no
	}
	var asked []*profiles.Approval
	for _, gr := range c.Grants() {
		if gr.Approval != nil && r.asks(ctx, c, gr.Approval) {
			asked = append(asked, gr.Approval)
		}
	}
	two, no := r.two.Asks(&c.Case)
	if no != nil {
		return no
	}
	if two != nil {
		asked = append(asked, two)
	}
	return c.Ask(r.bound, r.host.Now(), r.given(c), asked...)
}

// asks reports whether an approval's condition holds for the call: any doubt is a yes.
func (r *Run) asks(ctx context.Context, c *call, a *profiles.Approval) bool {
	if a.When == "" || r.host.Conditions == nil {
		return true
	}
	r.mu.Lock()
	known, args := c.Unasked[a.When], c.Args
	r.mu.Unlock()
	if known {
		return false
	}
	ask, err := r.host.Conditions.Asks(ctx, a.When, profiles.Call{Agent: r.agentName, Bridge: c.Bridge, Args: args})
	if err != nil || ask {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Unasked == nil {
		c.Unasked = map[string]bool{}
	}
	c.Unasked[a.When] = true
	return false
}

// weigh asks the conditions and guardrails of all policies before the lock is held.
func (r *Run) weigh(ctx context.Context, c *call) {
	gr, _ := c.Now(r.bound, r.host.InForce())
	_ = c.Guarded(ctx, r.bound, r.host.Conditions, append(c.Grants(), gr)...) // as below
	for _, gr := range append(c.Grants(), gr) {
		if gr != nil && gr.Approval != nil {
			_ = r.asks(ctx, c, gr.Approval) // what it learns stays with the call
		}
	}
}

// Approved tells a live run that a call has its approvals, or that it was
// denied: what a store has committed. An approved call whose bridge the harness
// performs waits for the harness from then on; any other is decided once more
// and performed. While the run stops, Approved waits; once the pause is kept it
// is ErrPaused. Errors: ErrEnded, ErrNoCall, ErrAnswered, ErrExpired,
// ErrUnsettled (it says neither), *profiles.Denial when the call is no longer
// granted (the program is told), ctx's, and faults, which end the run.
func (r *Run) Approved(ctx context.Context, s contract.Settlement) error {
	if s.Approved == s.Denied {
		return fmt.Errorf("approve call %s of run %s: %w", jsonvalue.Clip(s.Call, 40), r.id, contract.ErrUnsettled)
	}
	c, err := r.waitsAt(ctx, s.Call, "", pause.ForApprover)
	if err != nil {
		return err
	}
	if s.Approved && !r.host.Now().Before(c.Terms.Expires) {
		return fmt.Errorf("approve call %s of run %s: %w", c.ID, r.id, contract.ErrExpired)
	}
	if s.Denied {
		if err := r.claim(ctx, c, pause.ForApprover, nil); err != nil {
			return err
		}
		return r.answered(c, callReply{Denied: true, Reason: s.Reason}, s.By, "denied")
	}
	if err := r.touched(c); err != nil {
		return err
	}
	if err := r.claim(ctx, c, pause.ForApprover, func() bool { return r.approveLocked(c, s.By) }); err != nil {
		return err
	}
	if !c.Harness {
		return r.answered(c, callReply{Approved: true}, s.By, "approved")
	}
	c.Release()
	rec := r.callRecord(contract.CallAnswered, c)
	rec.Actor, rec.State = s.By, "approved"
	if err := r.Put(rec, contract.Synced); err != nil {
		r.end(closedEnding("an approval could not be recorded", err))
		return fmt.Errorf("record the approval of call %s of run %s: %w", c.ID, r.id, err)
	}
	return nil
}

// touched counts what an approved call brings. One that the rule of two refuses by now
// is cut.
func (r *Run) touched(c *call) error {
	no, err := r.two.Approved(&c.Case)
	if no == nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Stop(c.Cancel, errRevoked)
	return &profiles.Denial{Capability: c.Grant(), Decision: no.Decision}
}

// still stops the clocks of a program that is held while people are asked about the
// call: the executor's and the run's. They go on when the result is called, once or
// more often, as c.Release is when the call has its approval.
func (r *Run) still(c *call) func() {
	c.Release = func() {}
	if c.Held && c.Unapproved() {
		r.mu.Lock()
		clock := r.clock
		r.mu.Unlock()
		clock.Hold()
		c.Holder.Hold()
		c.Release = sync.OnceFunc(func() {
			c.Holder.Release()
			clock.Release()
		})
	}
	return c.Release
}

// heldByLocked reports whether the program is held by a call that waits for who.
func (r *Run) heldByLocked(who string) bool {
	for _, c := range r.calls {
		if c != nil && c.HeldBy(who) {
			return true
		}
	}
	return false
}

// approveLocked notes an approval. It reports whether the call goes on waiting:
// for the harness.
func (r *Run) approveLocked(c *call, by string) bool {
	c.Approved, c.By = true, by
	if c.Harness {
		r.timeoutLocked(c, c.Cancel) // nothing is left to stop once it is answered
		r.feed.Turn()
		r.emitLocked(Event{Kind: EventCall, Call: &callEvent{ID: c.ID, Bridge: c.Bridge, State: "pending", Digest: c.Digest}})
	}
	return c.Harness
}

// perform performs a call of the host that was approved: once it is decided
// again, and its beginning is committed, which uses the approval up.
func (r *Run) perform(ctx context.Context, c *call) (executors.Answer, error) {
	p := r.provider(c)
	if p == nil {
		return r.unrun(c, r.unprovided(c), nil)
	}
	if _, harness := p.(contract.Harness); harness {
		return executors.Answer{}, errors.New("a call of the harness cannot be performed")
	}
	r.weigh(ctx, c)
	r.mu.Lock()
	no := r.stillLocked(c)
	again := c.Settled != nil && (c.Settled.Again || c.Settled.Result != nil)
	r.mu.Unlock()
	if no != nil {
		return r.unrun(c, no, nil)
	}
	durable := contract.Written
	if c.External {
		durable = contract.Synced
	}
	rec := r.callRecord(contract.CallBegun, c)
	rec.Actor, rec.State = c.By, "executing"
	if err := r.Put(rec, durable); err != nil {
		return executors.Answer{}, fmt.Errorf("record the beginning of call %s of run %s: %w", c.ID, r.id, err)
	}
	if !again {
		if err := r.kept.Execute(c.ID); err != nil {
			return executors.Answer{}, fmt.Errorf("commit the beginning of call %s of run %s: %w", c.ID, r.id, err)
		}
	}
	r.point("executing_kept")
	call, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(budget.Millis(c.Limits.TimeoutMillis), func() { cancel(errTimeout) })
	defer func() {
		timer.Stop()
		cancel(nil)
	}()
	no, err := r.begin(c, false, cancel)
	if err != nil || no != nil {
		return r.unrun(c, no, err)
	}
	return r.act(call, c, p)
}
