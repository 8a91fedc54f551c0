package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// attempt is the handling of one call of a run, from the question of the guest to the answer. It belongs to the
// goroutine of the question, and locks the run itself.
type attempt struct{ closing }

// attempt returns the attempt of a call.
func (r *Run) attempt(c *call) *attempt { return &attempt{closing{r, c}} }

// answer takes a new call through all steps, in this order: decided, admitted, recorded,
// performed, settled. An error means that the run cannot go on safely, or, if it is
// executors.ErrPaused, that the call stays open.
func (a *attempt) answer(ctx context.Context, args json.RawMessage) (executors.Answer, error) {
	c := a.c
	// Calls are decided in the order of the program. So a budget refuses the same ones in every run.
	if c.Turn.Wait(ctx) != nil {
		return c.Answer(a.run.bound, profiles.ErrorBridge, textInterrupted, nil) // the program is over
	}
	defer c.EndTurns()
	no := a.decide()
	if no == nil {
		no = c.CheckArguments(args, a.run.host.CheckValue)
	}
	p := a.provider()
	if no == nil && p == nil {
		no = a.unprovided()
	}
	// Another call may touch a power between the question to people and the charge. Then
	// the question is decided again.
	for admitted := false; no == nil && !admitted; {
		if no = a.checkApproval(ctx); no == nil {
			admitted, no = a.charge()
		}
	}
	if no != nil {
		return a.refuse(no)
	}
	if c.Place.Given != nil {
		queued := queuedAttempt{a}
		if err := queued.record(); err != nil {
			return executors.Answer{}, err
		}
		return queued.answer(ctx)
	}
	return a.begin(ctx, p)
}

// begin records an admitted call, performs it and settles it.
func (a *attempt) begin(ctx context.Context, p contract.Provider) (executors.Answer, error) {
	c := a.c
	if c.Place.Order.Wait(ctx) != nil {
		return a.closeUnrecorded(nil)
	}
	_, c.Harness = p.(contract.Harness)
	waits := c.Harness || c.Unapproved()
	if no, err := a.pace(ctx, waits); err != nil || no != nil {
		return a.closeUnrecorded(no)
	}
	if err := a.run.powers.CommitUse(c.Grown); err != nil {
		a.release()
		return executors.Answer{}, err
	}
	if err := a.recordIntent(waits); err != nil {
		if full, ok := errors.AsType[*contract.QueueError](err); ok {
			return a.closeUnperformed(a.queueFull(full), nil)
		}
		a.release()
		return executors.Answer{}, err
	}
	defer a.pauseClock()()
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	no, err := a.startEffect(waits, cancel)
	if err != nil || no != nil {
		return a.closeUnperformed(no, err)
	}
	// The timer starts after startEffect: a zero timeout fires at once and must find the
	// call pending.
	defer a.startTimeout(cancel).Stop()
	switch {
	case waits:
		return a.await(ctx, callCtx)
	case c.IsAct():
		return a.answerAct(ctx)
	}
	return a.perform(callCtx, p)
}

// decide decides the call under all that binds the run and under the generation in force.
// The result is nil if all allow it, or ask for an approval.
func (a *attempt) decide() *binding.Refusal {
	r := a.run
	if no := a.c.Decide(r.bound, r.host.InForce()); no != nil {
		return no
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.taken(a.c, &r.identity)
}

// provider returns the provider that performs the call, or nil if this host has none. If
// the call is an act, the guest itself performs it, and the provider only gives the
// decision to the guest.
func (a *attempt) provider() contract.Provider {
	if a.c.IsAct() {
		return actProvider{a.run, a.c}
	}
	return a.run.host.Provider(a.c.Bridge)
}

// unprovided refuses a call that no provider of this host performs.
func (a *attempt) unprovided() *binding.Refusal {
	return &binding.Refusal{Name: profiles.ErrorBridge, Text: "this host does not provide it",
		Decision: a.c.Deny(a.run.bound, profiles.CodeBridgeUnavailable,
			"this host has no provider for bridge "+a.c.Bridge)}
}

// queueFull refuses a call because too many wait for approvers.
func (a *attempt) queueFull(why *contract.QueueError) *binding.Refusal {
	return &binding.Refusal{Name: profiles.ErrorBudgetExceeded, Text: why.Reason,
		Decision: a.c.Deny(a.run.bound, profiles.CodeApprovalsFull, why.Reason)}
}

// resume settles a call that was open at the pause.
func (a *attempt) resume(ctx context.Context) (executors.Answer, error) {
	r, c := a.run, a.c
	s := c.Settled
	switch {
	case s == nil: // it was queued
		return queuedAttempt{a}.answer(ctx)
	case s.Result != nil && c.IsAct() && s.Result.End == contract.CallDone:
		c.Journaled = false // its end is committed: the guest gets the answer once more, if the act is still granted
	case s.Result != nil:
		return a.replay(*s.Result)
	case s.Again && !contract.IsIdempotent(a.provider()):
		return a.giveUp()
	case s.Denied:
		return a.finish(deniedResult(s.Reason))
	}
	if s.Approved {
		r.mu.Lock()
		c.Approved, c.By = true, s.By
		r.mu.Unlock()
		if no, err := r.powers.UseApproved(&c.Request); no != nil || err != nil {
			return a.closeUnperformed(no, err)
		}
	}
	a.checkApprovalConditions(ctx)
	r.mu.Lock()
	no := r.book.taken(c, &r.identity)
	if no == nil {
		no = c.DecideResumed(r.bound, r.host.InForce(), a.usedLocked())
	}
	r.mu.Unlock()
	switch {
	case no != nil:
		return a.closeUnperformed(no, nil)
	case !c.Harness:
		return a.performApproved(ctx)
	case s.Error != nil:
		return a.finish(failedByHarness(*s.Error))
	}
	value, res := a.judgeValue(s.Value)
	if res.Name == "" {
		res = callResult{Value: value, End: contract.CallDone}
	}
	return a.finish(res)
}

// actProvider answers a guest that asks to do something itself.
type actProvider struct {
	run *Run
	c   *call
}

// Idempotent returns true. If an act has begun, its guest has the answer. So a guest that asks again has not
// begun the act.
func (actProvider) Idempotent() bool { return true }

// Call returns the decision as JSON, and notes the program that the guest may start.
func (p actProvider) Call(context.Context, contract.Call) (json.RawMessage, error) {
	r, c := p.run, p.c
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.noteAllowed(c)
	return json.Marshal(c.Allowed)
}

// answerAct answers an act that needs no approval. Its record is written, and it was
// decided under the policy in force after that.
func (a *attempt) answerAct(ctx context.Context) (executors.Answer, error) {
	r, c := a.run, a.c
	value, err := actProvider{r, c}.Call(ctx, contract.Call{})
	if err != nil {
		return executors.Answer{}, fmt.Errorf("tell the guest of call %s of run %s: %w", c.ID, r.id, err)
	}
	if err := a.commitEnd(contract.Recorded{End: contract.CallDone}); err != nil {
		return executors.Answer{}, err
	}
	a.release()
	r.mu.Lock()
	r.book.calls[c.ID] = nil // its id stays taken
	r.mu.Unlock()
	return executors.Answer{Value: value}, nil
}
