package life

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/calls"
	"github.com/ringd/ringd/rings/interpreter/ends"
	"github.com/ringd/ringd/rings/interpreter/feed"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/port"
	"github.com/ringd/ringd/rings/interpreter/rules"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// refuse tells the program that a call does not happen, after that is recorded.
// When the budget of refused calls is spent the run ends, whatever the program
// would do with the error.
func (r *Run) refuse(c *call, no *rules.Refusal) (executors.Answer, error) {
	r.mu.Lock()
	r.spent.Refused++
	over := r.spent.Refused > *r.limits.RefusedCalls
	r.denyLocked(no.Decision)
	r.mu.Unlock()
	rec := c.Decided(r.callRecord(port.CallDecided, c), r.executor)
	redacted := c.Redacted(no.Decision)
	rec.State, rec.Decision = "refused", &redacted
	if err := r.Put(rec, port.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record refusal of call %s of run %s: %w", c.ID, r.id, err)
	}
	if over {
		text := fmt.Sprintf("more than %d calls were refused", *r.limits.RefusedCalls)
		r.mu.Lock()
		r.denyLocked(c.Deny(r.bound, profiles.CodeBridgeRefused, text))
		r.mu.Unlock()
		r.end(ends.Ending{State: executors.StateDenied, Name: profiles.ErrorBudgetExceeded, Text: text})
		return executors.Answer{}, port.ErrEnded
	}
	return c.Refused(r.bound, no.Name, no.Text, &no.Decision)
}

// denyLocked keeps a refusal for the outcome and tells the readers of events: of equal
// ones the first, the tenth, the hundredth and so on.
func (r *Run) denyLocked(d profiles.Decision) {
	if now, tell := r.denials.Add(rules.Brief(d), port.MaxDenials); tell {
		r.emitLocked(event{Kind: feed.Decision, Decision: &now})
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
func (r *Run) settle(c *call, end Recorded) (err error) {
	switch {
	case !c.Journaled:
		return nil
	case c.IsAct() && !c.Ahead && end.End == port.CallDone && r.executor == profiles.ExecutorShell:
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
func (r *Run) unrun(c *call, no *rules.Refusal, cause error) (executors.Answer, error) {
	r.release(c)
	end := Recorded{End: port.CallUnrun}
	if no != nil {
		end.Name, end.Text = no.Name, no.Text
	}
	if err := r.settle(c, end); err != nil {
		return executors.Answer{}, err
	}
	if no != nil {
		return r.refuse(c, no)
	}
	rec := r.callRecord(port.CallClosed, c)
	rec.State = string(port.CallUnrun)
	if err := r.Put(rec, port.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.ID, r.id, err)
	}
	return executors.Answer{}, cause
}

// finish commits and records the end of a call, and makes the answer.
func (r *Run) finish(c *call, res ends.Result) (executors.Answer, error) {
	if res.End == port.CallUnknown {
		r.mu.Lock()
		r.lost = r.lost || r.ended || res.Cut
		r.mu.Unlock()
	}
	if err := r.settle(c, res.Recorded()); err != nil {
		return executors.Answer{}, err
	}
	rec := r.callRecord(port.CallClosed, c)
	rec.State, rec.Fault = string(res.End), shape.Clip(res.Fault, ends.MaxFault)
	if res.Name != "" {
		rec.Detail = map[string]string{"error": res.Name}
	}
	no := res.By
	if no == nil && res.Code != "" {
		d := c.Deny(r.bound, res.Code, res.Text)
		no = &d
	}
	rec.Decision = no
	if err := r.Put(rec, port.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.ID, r.id, err)
	}
	r.release(c)
	r.mu.Lock()
	if no != nil {
		r.denyLocked(*no)
	}
	r.emitLocked(event{Kind: feed.CallChange, Call: &callEvent{ID: c.ID, Bridge: c.Bridge, State: "closed", Error: res.Name, Digest: c.Digest}})
	r.mu.Unlock()
	if res.Name != "" {
		return c.Refused(r.bound, res.Name, res.Text, no)
	}
	return executors.Answer{Value: res.Value}, nil
}

// judge says how a call came out. cause is why its context ended, nil while it
// has not.
func (r *Run) judge(c *call, out json.RawMessage, err error, cause error) ends.Result {
	if err == nil {
		value, res := r.judgeValue(c, out)
		if res.Name != "" {
			return res
		}
		return ends.Result{Value: value, End: port.CallDone}
	}
	return ends.Failed(err, cause, c.External)
}

// judgeValue checks a result. A failure is a result with a name.
func (r *Run) judgeValue(c *call, out json.RawMessage) (json.RawMessage, ends.Result) {
	r.mu.Lock()
	takes := c.Takes()
	r.mu.Unlock()
	value, flaw := takes.Judge(out, r.host.CheckValue)
	if flaw != nil {
		return nil, ends.Flawed(flaw)
	}
	return value, ends.Result{}
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
	case calls.Acting, calls.Pending, calls.Cut, calls.Answered:
		r.lost = true
	case calls.Admitted, calls.Left, calls.Closed:
	}
}

// await leaves a call open until it is answered, or until the program is stopped:
// ctx ends with the cause executors.ErrPaused then, and call, which is of ctx, as
// well.
func (r *Run) await(ctx, call context.Context, c *call) (executors.Answer, error) {
	r.pause()
	var rep calls.Reply
	select {
	case rep = <-c.Reply:
	case <-call.Done():
		r.mu.Lock()
		if c.State == calls.Pending && (r.phase == pausing || r.phase == keeping) && errors.Is(context.Cause(call), executors.ErrPaused) {
			c.State, c.Cancel = calls.Left, nil
			r.mu.Unlock()
			return executors.Answer{}, executors.ErrPaused
		}
		answered := c.State == calls.Answered
		if !answered {
			c.State = calls.Acting // no answer counts from here on
		}
		r.mu.Unlock()
		if !answered {
			res := r.judge(c, nil, errors.New("no answer"), context.Cause(call))
			res.End = port.CallUnrun // nobody of the host has acted
			return r.finish(c, res)
		}
		rep = <-c.Reply
	}
	c.Release() // it is not people that it waits for any more
	switch {
	case rep.Denied:
		return r.finish(c, ends.Denied(rep.Reason))
	case rep.Approved:
		return r.perform(ctx, c)
	case rep.Fail != nil:
		return r.finish(c, ends.FailedBy(*rep.Fail))
	}
	return r.finish(c, ends.Result{Value: rep.Value, End: port.CallDone})
}

// Answer settles a call that waits for the harness. The first valid answer wins.
// It is decided again under the generation now in force, and recorded durably
// before it takes effect. While the run stops, Answer waits; once the pause is
// kept it is ErrPaused. Errors: ErrEnded, ErrNoCall, ErrAnswered, ErrDigest,
// ErrValue, *profiles.Denial when the call is no longer granted (the program is
// told), ctx's, and faults, which end the run. Once an answer counts it takes
// effect even when ctx ends.
func (r *Run) Answer(ctx context.Context, a port.Reply) error {
	c, err := r.waitsAt(ctx, a.Call, a.Digest, pause.ForHarness)
	if err != nil {
		return err
	}
	rep := calls.Reply{Fail: a.Error}
	if a.Error == nil {
		value, res := r.judgeValue(c, a.Value)
		if res.Name != "" {
			return fmt.Errorf("answer call %s of run %s: %s: %w", a.Call, r.id, shape.Clip(res.Text+": "+res.Fault, 400), port.ErrValue)
		}
		rep.Value = value
	}
	if err := r.claim(ctx, c, pause.ForHarness, nil); err != nil {
		return err
	}
	return r.answered(c, rep, a.By, "answered")
}

// answered records an answer that counts, and lets it take effect.
func (r *Run) answered(c *call, rep calls.Reply, by, state string) error {
	rec := r.callRecord(port.CallAnswered, c)
	rec.Actor, rec.State = by, state
	err := r.Put(rec, port.Synced)
	r.point("answer_recorded")
	if err != nil {
		r.end(ends.Closed("an answer could not be recorded", err))
		err = fmt.Errorf("record the answer to call %s of run %s: %w", c.ID, r.id, err)
		text := "could not be answered"
		rep = calls.Reply{Fail: &text}
	}
	r.mu.Lock()
	if err == nil && r.ended {
		err = port.ErrEnded
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
			err = port.ErrEnded
		case r.phase == over || r.phase == held:
			err = port.ErrPaused
		case wait != nil:
		case c != nil && c.Settled != nil:
			err = port.ErrAnswered
		case c == nil || c.Reply == nil || c.State == calls.Admitted:
			err = port.ErrNoCall
		case c.State != calls.Pending:
			err = port.ErrAnswered
		case c.WaitsFor() != who && who == pause.ForApprover:
			err = port.ErrAnswered // approved, and now the harness's
		case c.WaitsFor() != who:
			err = port.ErrNoCall
		case digest != "" && digest != c.Digest:
			err = port.ErrDigest
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
		return port.ErrEnded
	case r.phase != running:
		return port.ErrPaused
	case c.State != calls.Pending || c.WaitsFor() != who:
		return port.ErrAnswered
	}
	no := r.takenLocked(c)
	if no == nil {
		no = c.StillApproved(r.bound, r.host.InForce())
	}
	if no != nil {
		c.Stop(c.Cancel, ends.ErrRevoked)
		return &profiles.Denial{Capability: c.Grant(), Decision: no.Decision}
	}
	if then == nil || !then() {
		c.State = calls.Answered
	}
	return nil
}

// Cut tells every call that g no longer grants to stop. The calls of a run that
// stops are decided again when it goes on.
func (r *Run) Cut(g *rules.Generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != running {
		return
	}
	for _, c := range r.calls {
		if c == nil || !c.Working() && !c.Slowed() || c.State == calls.Left {
			continue
		}
		if _, no := c.Still(r.bound, g); no != nil {
			c.Stop(c.Cancel, ends.ErrRevoked)
		}
	}
}
