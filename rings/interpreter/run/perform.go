package run

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// perform performs a call whose effect may begin.
func (a *attempt) perform(ctx context.Context, p contract.Provider) (executors.Answer, error) {
	r, c := a.run, a.c
	guest := providerGuest{r, c}
	out, err := p.Call(ctx, contract.Call{Run: r.id, ID: c.ID, Agent: r.agent, Actor: r.actor,
		Bridge: c.Bridge, Args: c.Args, Key: c.Key, Guest: guest.Execution, Act: guest.Act,
		Deciders: func() []*profiles.Decider { return r.deciders(&r.callReach, true) },
		Claims: func(executor string, denials []profiles.Decision, beyond int64) error {
			return r.recordClaims(c.ID, executor, denials, beyond)
		}})
	r.point("acted")
	return a.finish(a.judge(out, err, context.Cause(ctx)))
}

// performApproved performs a call of the host that was approved. The call is decided again
// and its beginning is committed, which uses the approval up.
func (a *attempt) performApproved(ctx context.Context) (executors.Answer, error) {
	r, c := a.run, a.c
	p := a.provider()
	if p == nil {
		return a.closeUnperformed(a.unprovided(), nil)
	}
	if _, harness := p.(contract.Harness); harness {
		return executors.Answer{}, errors.New("a call of the harness cannot be performed")
	}
	a.checkApprovalConditions(ctx)
	r.mu.Lock()
	no := a.recheckLocked()
	again := c.Settled != nil && (c.Settled.Again || c.Settled.Result != nil)
	r.mu.Unlock()
	if no != nil {
		return a.closeUnperformed(no, nil)
	}
	rec := r.callRecord(contract.CallBegun, c)
	rec.Actor, rec.State = c.By, "executing"
	if err := r.Put(rec, a.durability()); err != nil {
		return executors.Answer{}, fmt.Errorf("record the beginning of call %s of run %s: %w", c.ID, r.id, err)
	}
	if !again {
		if err := r.journal.Execute(c.ID); err != nil {
			return executors.Answer{}, fmt.Errorf("commit the beginning of call %s of run %s: %w", c.ID, r.id, err)
		}
	}
	r.point("executing_kept")
	callCtx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(budget.Millis(c.Limits.TimeoutMillis), func() { cancel(errTimeout) })
	defer func() {
		timer.Stop()
		cancel(nil)
	}()
	no, err := a.startEffect(false, cancel)
	if err != nil || no != nil {
		return a.closeUnperformed(no, err)
	}
	return a.perform(callCtx, p)
}

// await leaves the call open until it is answered, or until the program is stopped. Then
// ctx ends with the cause executors.ErrPaused, and so does callCtx, which is made of it.
func (a *attempt) await(ctx, callCtx context.Context) (executors.Answer, error) {
	r, c := a.run, a.c
	r.pauseIfWaiting()
	var rep callReply
	select {
	case rep = <-c.Reply:
	case <-callCtx.Done():
		r.mu.Lock()
		if c.State == callPending && r.isStoppingLocked() && errors.Is(context.Cause(callCtx), executors.ErrPaused) {
			c.State, c.Cancel = callLeft, nil
			r.mu.Unlock()
			return executors.Answer{}, executors.ErrPaused
		}
		answered := c.State == callAnswered
		if !answered {
			c.State = callActing // no answer is accepted from here on
		}
		r.mu.Unlock()
		if !answered {
			res := a.judge(nil, errors.New("no answer"), context.Cause(callCtx))
			res.End = contract.CallUnrun // the host has not acted
			return a.finish(res)
		}
		rep = <-c.Reply
	}
	c.Release() // the call does not wait for people any more
	switch {
	case rep.Denied:
		return a.finish(deniedResult(rep.Reason))
	case rep.Approved:
		return a.performApproved(ctx)
	case rep.Fail != nil:
		return a.finish(failedByHarness(*rep.Fail))
	}
	return a.finish(callResult{Value: rep.Value, End: contract.CallDone})
}

// providerGuest is the guest of another executor that a provider runs for one call.
type providerGuest struct {
	run    *Run
	parent *call
}

// Execution returns the agent and the limits of the guest. The program, its inputs and the
// seed are left to the provider.
func (g providerGuest) Execution(executor string) (executors.Run, bool) {
	r := g.run
	r.mu.Lock()
	over := r.ended || g.parent.State != callActing
	r.mu.Unlock()
	agent, limits, ok := r.bound.GuestAgent(r.host.InForce(), executor)
	if !ok || over {
		return executors.Run{}, false
	}
	seed := sha256.Sum256(append(r.seed[:], g.parent.ID...))
	return executors.Run{ID: r.id, Actor: r.actor, Agent: &agent, Revision: r.bound.First().Revision,
		Limits: limits, Seed: seed}, true
}

// Act decides an act of the guest, as an act of the run. The guest is held while people are
// asked.
func (g providerGuest) Act(ctx context.Context, q executors.Question) (ans executors.Answer, err error) {
	if q.Action == nil {
		return executors.Answer{}, errors.New("not an act")
	}
	h := &guestHost{g.run}
	if q.Call, err = h.beginAct(g.parent); err != nil {
		return executors.Answer{}, err
	}
	err = errPanicked
	defer func() { h.end(q.Call, err) }()
	c := newCall(q)
	c.Held, c.Holder = true, g.parent.Holder
	ans, err = g.run.attempt(c).answer(ctx, q.Args)
	return ans, err
}
