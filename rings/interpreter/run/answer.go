package run

import (
	"context"
	"fmt"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Answer settles a call that waits for the harness. The first valid answer wins. The call
// is decided again under the generation now in force, and the answer is recorded durably
// before it takes effect. Answer waits while the run is on its way to a pause; once the
// pause is kept the error is ErrPaused. Other errors: ErrEnded, ErrNoCall, ErrAnswered,
// ErrDigest, ErrValue, *profiles.Denial if the call is no longer granted (the program gets
// an error), that of ctx, and faults, which end the run. An accepted answer takes effect
// even if ctx ends.
func (r *Run) Answer(ctx context.Context, reply contract.Reply) error {
	c, err := findPending(ctx, r, reply.Call, reply.Digest, pause.ForHarness)
	if err != nil {
		return err
	}
	a := answering{attempt: r.attempt(c), from: pause.ForHarness, by: reply.By}
	rep := callReply{Fail: reply.Error}
	if reply.Error == nil {
		value, res := a.judgeValue(reply.Value)
		if res.Name != "" {
			return fmt.Errorf("answer call %s of run %s: %s: %w", reply.Call, r.id,
				jsonvalue.Clip(res.Text+": "+res.Fault, 400), contract.ErrValue)
		}
		rep.Value = value
	}
	if err := a.claim(ctx, nil); err != nil {
		return err
	}
	return a.deliver(rep, "answered")
}

// Approved settles a call that waits for approvers, with what a store has committed: that
// it has its approvals, or that it was denied. An approved call whose bridge the harness
// performs waits for the harness from then on; any other is decided once more and
// performed. Approved waits while the run is on its way to a pause; once the pause is kept
// the error is ErrPaused. Other errors: ErrEnded, ErrNoCall, ErrAnswered, ErrExpired,
// ErrUnsettled (s says neither or both), *profiles.Denial if the call is no longer granted
// (the program gets an error), that of ctx, and faults, which end the run.
func (r *Run) Approved(ctx context.Context, s contract.Settlement) error {
	if s.Approved == s.Denied {
		return fmt.Errorf("approve call %s of run %s: %w", jsonvalue.Clip(s.Call, 40), r.id, contract.ErrUnsettled)
	}
	c, err := findPending(ctx, r, s.Call, "", pause.ForApprover)
	if err != nil {
		return err
	}
	if s.Approved && !r.host.Now().Before(c.Terms.Expires) {
		return fmt.Errorf("approve call %s of run %s: %w", c.ID, r.id, contract.ErrExpired)
	}
	a := answering{attempt: r.attempt(c), from: pause.ForApprover, by: s.By}
	if s.Denied {
		if err := a.claim(ctx, nil); err != nil {
			return err
		}
		return a.deliver(callReply{Denied: true, Reason: s.Reason}, "denied")
	}
	if err := a.useApproved(); err != nil {
		return err
	}
	if err := a.claim(ctx, a.approveLocked); err != nil {
		return err
	}
	if !c.Harness {
		return a.deliver(callReply{Approved: true}, "approved")
	}
	c.Release()
	rec := a.answerRecord("approved")
	if err := r.Put(rec, contract.Synced); err != nil {
		r.end(closedEnding("an approval could not be recorded", err))
		return fmt.Errorf("record the approval of call %s of run %s: %w", c.ID, r.id, err)
	}
	return nil
}

// findPending finds the call that an answer or an approval from a party is for. It waits
// while the run is on its way to a pause.
func findPending(ctx context.Context, r *Run, id, digest, from string) (*call, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.mu.Lock()
		c, wait := r.book.calls[id], r.stoppingLocked()
		var err error
		switch {
		case r.ended:
			err = contract.ErrEnded
		case r.phase == phasePaused || r.phase == phaseHeld:
			err = contract.ErrPaused
		case wait != nil:
		case c != nil && c.Settled != nil:
			err = contract.ErrAnswered
		case c == nil || c.Reply == nil || c.State == callAdmitted:
			err = contract.ErrNoCall
		case c.State != callPending:
			err = contract.ErrAnswered
		case c.WaitsFor() != from && from == pause.ForApprover:
			err = contract.ErrAnswered // it is approved and waits for the harness
		case c.WaitsFor() != from:
			err = contract.ErrNoCall
		case digest != "" && digest != c.Digest:
			err = contract.ErrDigest
		}
		r.mu.Unlock()
		if wait == nil || err != nil {
			return c, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
}

// answering is an answer or an approval from outside to one pending call.
type answering struct {
	*attempt
	from string // pause.ForHarness or pause.ForApprover
	by   string // the actor
}

// claim makes this answer the one that takes effect. Then the call is no longer pending, unless the function then
// returns true. If the call is no longer granted, it is stopped instead.
func (a answering) claim(ctx context.Context, then func() (stays bool)) error {
	r, c := a.run, a.c
	a.checkApprovalConditions(ctx)
	if err := r.lockNotStopping(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return contract.ErrEnded
	case r.phase != phaseRunning:
		return contract.ErrPaused
	case c.State != callPending || c.WaitsFor() != a.from:
		return contract.ErrAnswered
	}
	no := r.book.taken(c, &r.identity)
	if no == nil {
		no = c.StillApproved(r.bound, r.host.InForce())
	}
	if no != nil {
		c.Stop(c.Cancel, errRevoked)
		return &profiles.Denial{Capability: c.Capability(), Decision: no.Decision}
	}
	if then == nil || !then() {
		c.State = callAnswered
	}
	return nil
}

// approveLocked notes the approval. It reports whether the call goes on waiting, for the
// harness.
func (a answering) approveLocked() (stays bool) {
	r, c := a.run, a.c
	c.Approved, c.By = true, a.by
	if c.Harness {
		a.startTimeoutLocked(c.Cancel) // the timer is left running: once the call is answered it stops nothing
		r.feed.WakeSettled()
		r.emitCallLocked(c, "pending", "")
	}
	return c.Harness
}

// useApproved counts the powers that the approved call brings. A call that the rule of two
// refuses by now is stopped.
func (a answering) useApproved() error {
	r, c := a.run, a.c
	no, err := r.powers.UseApproved(&c.Request)
	if no == nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Stop(c.Cancel, errRevoked)
	return &profiles.Denial{Capability: c.Capability(), Decision: no.Decision}
}

// answerRecord returns the record of the answer.
func (a answering) answerRecord(state string) contract.Record {
	rec := a.run.callRecord(contract.CallAnswered, a.c)
	rec.Actor, rec.State = a.by, state
	return rec
}

// deliver records a claimed answer and lets it take effect.
func (a answering) deliver(rep callReply, state string) error {
	r, c := a.run, a.c
	err := r.Put(a.answerRecord(state), contract.Synced)
	r.point("answer_recorded")
	if err != nil {
		r.end(closedEnding("an answer could not be recorded", err))
		err = fmt.Errorf("record the answer to call %s of run %s: %w", c.ID, r.id, err)
		text := "could not be answered"
		rep = callReply{Fail: &text}
	}
	r.mu.Lock()
	if err == nil && r.ended {
		err = contract.ErrEnded
	}
	r.book.waiting = nil
	r.mu.Unlock()
	c.Reply <- rep // has room: an answer that was claimed is the only one
	return err
}
