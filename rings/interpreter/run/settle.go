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
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// refuse tells the program that a call does not happen, after that is recorded.
// When the budget of refused calls is spent the run ends, whatever the program
// would do with the error.
func (r *Run) refuse(c *call, no *binding.Refusal) (executors.Answer, error) {
	r.mu.Lock()
	r.spent.Refused++
	over := r.spent.Refused > *r.limits.RefusedCalls
	r.denyLocked(no.Decision)
	r.mu.Unlock()
	rec := c.Decided(r.callRecord(contract.CallDecided, c), r.executor)
	redacted := c.Redacted(no.Decision)
	rec.State, rec.Decision = "refused", &redacted
	if err := r.Put(rec, contract.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record refusal of call %s of run %s: %w", c.ID, r.id, err)
	}
	if over {
		text := fmt.Sprintf("more than %d calls were refused", *r.limits.RefusedCalls)
		r.mu.Lock()
		r.denyLocked(c.Deny(r.bound, profiles.CodeBridgeRefused, text))
		r.mu.Unlock()
		r.end(ending{State: executors.StateDenied, Name: profiles.ErrorBudgetExceeded, Text: text})
		return executors.Answer{}, contract.ErrEnded
	}
	return c.Refused(r.bound, no.Name, no.Text, &no.Decision)
}

// denyLocked keeps a refusal for the outcome and tells the readers of events: of equal
// ones the first, the tenth, the hundredth and so on.
func (r *Run) denyLocked(d profiles.Decision) {
	if now, tell := r.denials.Add(binding.Brief(d), pause.MaxDenials); tell {
		r.emitLocked(Event{Kind: EventDecision, Decision: &now})
	}
}

// Refused tells of something that the guest of the run tried and was refused.
func (r *Run) Refused(d profiles.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final == nil {
		r.denyLocked(d)
	}
}

// settle commits the end of a call. What a guest was told to do stays under way: its
// end is that of the run.
func (r *Run) settle(c *call, end contract.Recorded) (err error) {
	switch {
	case !c.Journaled:
		return nil
	case c.IsAct() && !c.Ahead && end.End == contract.CallDone && r.executor == profiles.ExecutorShell:
		r.mu.Lock()
		r.gone = true
		r.mu.Unlock()
	default:
		err = r.kept.Close(c.ID, end)
		r.owe(len(end.Value))
	}
	if err != nil {
		return fmt.Errorf("commit the end of call %s of run %s: %w", c.ID, r.id, err)
	}
	r.point("result_kept")
	return nil
}

// unrun closes a call whose act never began.
func (r *Run) unrun(c *call, no *binding.Refusal, cause error) (executors.Answer, error) {
	r.release(c)
	end := contract.Recorded{End: contract.CallUnrun}
	if no != nil {
		end.Name, end.Text = no.Name, no.Text
	}
	if err := r.settle(c, end); err != nil {
		return executors.Answer{}, err
	}
	if no != nil {
		return r.refuse(c, no)
	}
	rec := r.callRecord(contract.CallClosed, c)
	rec.State = string(contract.CallUnrun)
	if err := r.Put(rec, contract.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.ID, r.id, err)
	}
	return executors.Answer{}, cause
}

// finish commits and records the end of a call, and makes the answer.
func (r *Run) finish(c *call, res callResult) (executors.Answer, error) {
	if res.End == contract.CallUnknown {
		r.mu.Lock()
		r.lost = r.lost || r.ended || res.Cut
		r.mu.Unlock()
	}
	if err := r.settle(c, res.Recorded()); err != nil {
		return executors.Answer{}, err
	}
	rec := r.callRecord(contract.CallClosed, c)
	rec.State, rec.Fault = string(res.End), jsonvalue.Clip(res.Fault, maxFault)
	if res.Name != "" {
		rec.Detail = map[string]string{"error": res.Name}
	}
	no := res.By
	if no == nil && res.Code != "" {
		d := c.Deny(r.bound, res.Code, res.Text)
		no = &d
	}
	rec.Decision = no
	if err := r.Put(rec, contract.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.ID, r.id, err)
	}
	r.release(c)
	r.mu.Lock()
	if no != nil {
		r.denyLocked(*no)
	}
	r.emitLocked(Event{Kind: EventCall, Call: &callEvent{ID: c.ID, Bridge: c.Bridge, State: "closed", Error: res.Name, Digest: c.Digest}})
	r.mu.Unlock()
	if res.Name != "" {
		return c.Refused(r.bound, res.Name, res.Text, no)
	}
	return executors.Answer{Value: res.Value}, nil
}

// judge says how a call came out. cause is why its context ended, nil while it
// has not.
func (r *Run) judge(c *call, out json.RawMessage, err error, cause error) callResult {
	if err == nil {
		value, res := r.judgeValue(c, out)
		if res.Name != "" {
			return res
		}
		return callResult{Value: value, End: contract.CallDone}
	}
	return failedResult(err, cause, c.External)
}

// judgeValue checks a result. A failure is a result with a name.
func (r *Run) judgeValue(c *call, out json.RawMessage) (json.RawMessage, callResult) {
	r.mu.Lock()
	takes := c.Takes()
	r.mu.Unlock()
	value, flaw := takes.Judge(out, r.host.CheckValue)
	if flaw != nil {
		return nil, flawedResult(flaw)
	}
	return value, callResult{}
}

// lose notes that a call failed on the host's side: what it did is not known.
func (r *Run) lose(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	if c == nil || !c.External {
		return
	}
	switch c.State {
	case callActing, callPending, callCut, callAnswered:
		r.lost = true
	case callAdmitted, callLeft, callClosed:
	}
}

// await leaves a call open until it is answered, or until the program is stopped:
// ctx ends with the cause executors.ErrPaused then, and call, which is of ctx, as
// well.
func (r *Run) await(ctx, call context.Context, c *call) (executors.Answer, error) {
	r.pause()
	var rep callReply
	select {
	case rep = <-c.Reply:
	case <-call.Done():
		r.mu.Lock()
		if c.State == callPending && (r.phase == pausing || r.phase == keeping) && errors.Is(context.Cause(call), executors.ErrPaused) {
			c.State, c.Cancel = callLeft, nil
			r.mu.Unlock()
			return executors.Answer{}, executors.ErrPaused
		}
		answered := c.State == callAnswered
		if !answered {
			c.State = callActing // no answer counts from here on
		}
		r.mu.Unlock()
		if !answered {
			res := r.judge(c, nil, errors.New("no answer"), context.Cause(call))
			res.End = contract.CallUnrun // nobody of the host has acted
			return r.finish(c, res)
		}
		rep = <-c.Reply
	}
	c.Release() // it is not people that it waits for any more
	switch {
	case rep.Denied:
		return r.finish(c, deniedResult(rep.Reason))
	case rep.Approved:
		return r.perform(ctx, c)
	case rep.Fail != nil:
		return r.finish(c, failedByHarness(*rep.Fail))
	}
	return r.finish(c, callResult{Value: rep.Value, End: contract.CallDone})
}

// Answer settles a call that waits for the harness. The first valid answer wins.
// It is decided again under the generation now in force, and recorded durably
// before it takes effect. While the run stops, Answer waits; once the pause is
// kept it is ErrPaused. Errors: ErrEnded, ErrNoCall, ErrAnswered, ErrDigest,
// ErrValue, *profiles.Denial when the call is no longer granted (the program is
// told), ctx's, and faults, which end the run. Once an answer counts it takes
// effect even when ctx ends.
func (r *Run) Answer(ctx context.Context, a contract.Reply) error {
	c, err := r.waitsAt(ctx, a.Call, a.Digest, pause.ForHarness)
	if err != nil {
		return err
	}
	rep := callReply{Fail: a.Error}
	if a.Error == nil {
		value, res := r.judgeValue(c, a.Value)
		if res.Name != "" {
			return fmt.Errorf("answer call %s of run %s: %s: %w", a.Call, r.id, jsonvalue.Clip(res.Text+": "+res.Fault, 400), contract.ErrValue)
		}
		rep.Value = value
	}
	if err := r.claim(ctx, c, pause.ForHarness, nil); err != nil {
		return err
	}
	return r.answered(c, rep, a.By, "answered")
}

// answered records an answer that counts, and lets it take effect.
func (r *Run) answered(c *call, rep callReply, by, state string) error {
	rec := r.callRecord(contract.CallAnswered, c)
	rec.Actor, rec.State = by, state
	err := r.Put(rec, contract.Synced)
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
	r.waiting = nil
	r.mu.Unlock()
	c.Reply <- rep // has room: one claim, one reply
	return err
}

// waitsAt finds the call that an answer or an approval is for, waiting while the
// run stops.
func (r *Run) waitsAt(ctx context.Context, id, digest, who string) (*call, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.mu.Lock()
		c, wait := r.calls[id], r.movingLocked()
		var err error
		switch {
		case r.ended:
			err = contract.ErrEnded
		case r.phase == over || r.phase == held:
			err = contract.ErrPaused
		case wait != nil:
		case c != nil && c.Settled != nil:
			err = contract.ErrAnswered
		case c == nil || c.Reply == nil || c.State == callAdmitted:
			err = contract.ErrNoCall
		case c.State != callPending:
			err = contract.ErrAnswered
		case c.WaitsFor() != who && who == pause.ForApprover:
			err = contract.ErrAnswered // approved, and now the harness's
		case c.WaitsFor() != who:
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

// movingLocked is closed once it is known whether the run that stops is paused;
// nil when it does not stop.
func (r *Run) movingLocked() <-chan struct{} {
	if r.phase != pausing && r.phase != keeping {
		return nil
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// lockStill takes the lock at a moment when the run does not stop. An error is
// ctx's, and the lock is not held.
func (r *Run) lockStill(ctx context.Context) error {
	for {
		r.mu.Lock()
		wait := r.movingLocked()
		if wait == nil {
			return nil
		}
		r.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// claim makes the caller the one whose answer or approval counts: the call leaves
// its place unless then says that it stays. A call that is no longer granted is
// cut instead.
func (r *Run) claim(ctx context.Context, c *call, who string, then func() (stays bool)) error {
	r.weigh(ctx, c)
	if err := r.lockStill(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return contract.ErrEnded
	case r.phase != running:
		return contract.ErrPaused
	case c.State != callPending || c.WaitsFor() != who:
		return contract.ErrAnswered
	}
	no := r.takenLocked(c)
	if no == nil {
		no = c.StillApproved(r.bound, r.host.InForce())
	}
	if no != nil {
		c.Stop(c.Cancel, errRevoked)
		return &profiles.Denial{Capability: c.Grant(), Decision: no.Decision}
	}
	if then == nil || !then() {
		c.State = callAnswered
	}
	return nil
}

// Cut tells every call that g no longer grants to stop. The calls of a run that
// stops are decided again when it goes on.
func (r *Run) Cut(g *binding.Generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != running {
		return
	}
	for _, c := range r.calls {
		if c == nil || !c.Working() && !c.Slowed() || c.State == callLeft {
			continue
		}
		if _, no := c.Still(r.bound, g); no != nil {
			c.Stop(c.Cancel, errRevoked)
		}
	}
}
