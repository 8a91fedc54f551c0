package life

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/feed"
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
	rec := r.callRecord(port.CallDecided, c)
	rec.State, rec.Decision = "refused", &no.Decision
	if err := r.Put(rec, port.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record refusal of call %s of run %s: %w", c.id, r.id, err)
	}
	if over {
		text := fmt.Sprintf("more than %d calls were refused", *r.limits.RefusedCalls)
		r.mu.Lock()
		r.denyLocked(c.Deny(r.bound, profiles.CodeBridgeRefused, text))
		r.mu.Unlock()
		r.end(ending{state: executors.StateDenied, name: rules.NameBudget, text: text})
		return executors.Answer{}, port.ErrEnded
	}
	return c.error(no.Name, no.Text), nil
}

// denyLocked keeps a refusal for the outcome and tells the readers of events.
func (r *Run) denyLocked(d profiles.Decision) {
	if len(r.denials) < port.MaxDenials {
		r.denials = append(r.denials, d)
	}
	r.emitLocked(event{Kind: feed.Decision, Decision: &d})
}

// Refused tells of something that the guest of the run tried and was refused.
func (r *Run) Refused(d profiles.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final == nil {
		r.denyLocked(d)
	}
}

// error is the answer that a program sees of a failed call.
func (c *call) error(name, text string) executors.Answer {
	return executors.Answer{Error: &executors.GuestError{Name: name,
		Message: shape.Clip(c.Bridge, 80) + ": " + text + " (call " + c.id + ")"}}
}

// result is how a call came out.
type result struct {
	value json.RawMessage
	name  string // of the error; "" for a value
	text  string
	code  profiles.Code
	by    *profiles.Decision // that refused, when it was not made of code and text
	fault string             // host text
	end   port.CallEnd
	cut   bool // the program is over and will not learn of it
}

// recorded is what the journal keeps.
func (res *result) recorded() Recorded {
	return Recorded{End: res.end, Value: res.value, Name: res.name, Text: res.text}
}

// unrun closes a call whose act never began.
func (r *Run) unrun(c *call, no *rules.Refusal, cause error) (executors.Answer, error) {
	r.release(c)
	if c.journaled {
		end := Recorded{End: port.CallUnrun}
		if no != nil {
			end.Name, end.Text = no.Name, no.Text
		}
		if err := r.kept.close(c.id, end); err != nil {
			return executors.Answer{}, fmt.Errorf("commit the end of call %s of run %s: %w", c.id, r.id, err)
		}
	}
	if no != nil {
		return r.refuse(c, no)
	}
	rec := r.callRecord(port.CallClosed, c)
	rec.State = string(port.CallUnrun)
	if err := r.Put(rec, port.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.id, r.id, err)
	}
	return executors.Answer{}, cause
}

// finish commits and records the end of a call, and makes the answer.
func (r *Run) finish(c *call, res result) (executors.Answer, error) {
	if res.end == port.CallUnknown {
		r.mu.Lock()
		r.lost = r.lost || r.ended || res.cut
		r.mu.Unlock()
	}
	if c.journaled {
		if err := r.kept.close(c.id, res.recorded()); err != nil {
			return executors.Answer{}, fmt.Errorf("commit the end of call %s of run %s: %w", c.id, r.id, err)
		}
		r.point("result_kept")
	}
	rec := r.callRecord(port.CallClosed, c)
	rec.State, rec.Fault = string(res.end), shape.Clip(res.fault, maxFault)
	if res.name != "" {
		rec.Detail = map[string]string{"error": res.name}
	}
	if rec.Decision = res.by; rec.Decision == nil && res.code != "" {
		d := c.Deny(r.bound, res.code, res.text)
		rec.Decision = &d
	}
	if err := r.Put(rec, port.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.id, r.id, err)
	}
	r.release(c)
	r.mu.Lock()
	if rec.Decision != nil {
		r.denyLocked(*rec.Decision)
	}
	r.emitLocked(event{Kind: feed.CallChange, Call: &callEvent{ID: c.id, Bridge: c.Bridge, State: "closed", Error: res.name, Digest: c.digest}})
	r.mu.Unlock()
	if res.name != "" {
		return c.error(res.name, res.text), nil
	}
	return executors.Answer{Value: res.value}, nil
}

// maxFault bounds the host's text in a record.
const maxFault = 8 << 10

// judge says how a call came out. cause is why its context ended, nil while it
// has not.
func (r *Run) judge(c *call, out json.RawMessage, err error, cause error) result {
	if err == nil {
		value, res := r.judgeValue(c, out)
		if res.name != "" {
			return res
		}
		return result{value: value, end: port.CallDone}
	}
	res := result{name: rules.NameBridge, text: "failed", fault: err.Error(), end: port.CallFailed}
	if cause == nil {
		res.name, res.text, res.by = rules.Told(err)
		return res
	}
	if c.External {
		res.end = port.CallUnknown
	}
	switch {
	case errors.Is(cause, errTimeout):
		res.text, res.code = "did not answer in time", profiles.CodeBridgeTimeout
	case errors.Is(cause, errRevoked):
		res.name, res.text, res.code = rules.NameRevoked, rules.TextRevoked, profiles.CodeBridgeRevoked
	default:
		res.text, res.cut = "was interrupted", true
	}
	return res
}

// judgeValue checks a result. A failure is a result with a name.
func (r *Run) judgeValue(c *call, out json.RawMessage) (json.RawMessage, result) {
	r.mu.Lock()
	takes := c.Takes()
	r.mu.Unlock()
	value, flaw := takes.Judge(out, r.host.CheckValue)
	if flaw != nil {
		return nil, result{name: flaw.Name, text: flaw.Text, code: flaw.Code, fault: flaw.Fault, end: port.CallFailed}
	}
	return value, result{}
}

// lose notes that a call failed on the host's side: what it did is not known.
func (r *Run) lose(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	if c == nil || !c.External {
		return
	}
	switch c.state {
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
	var rep reply
	select {
	case rep = <-c.reply:
	case <-call.Done():
		r.mu.Lock()
		if c.state == callPending && (r.phase == pausing || r.phase == keeping) && errors.Is(context.Cause(call), executors.ErrPaused) {
			c.state, c.cancel = callLeft, nil
			r.mu.Unlock()
			return executors.Answer{}, executors.ErrPaused
		}
		answered := c.state == callAnswered
		if !answered {
			c.state = callActing // no answer counts from here on
		}
		r.mu.Unlock()
		if !answered {
			res := r.judge(c, nil, errors.New("no answer"), context.Cause(call))
			res.end = port.CallUnrun // nobody of the host has acted
			return r.finish(c, res)
		}
		rep = <-c.reply
	}
	switch {
	case rep.denied:
		return r.finish(c, denied(rep.reason))
	case rep.approved:
		return r.perform(ctx, c)
	case rep.fail != nil:
		return r.finish(c, failedBy(*rep.fail))
	}
	return r.finish(c, result{value: rep.value, end: port.CallDone})
}

// maxReplyText bounds the message of a harness's error.
const maxReplyText = 4 << 10

// failedBy is the result of a call whose harness says that it failed.
func failedBy(text string) result {
	return result{name: rules.NameBridge, text: shape.Clip(text, maxReplyText), end: port.CallFailed}
}

// Answer settles a call that waits for the harness. The first valid answer wins.
// It is decided again under the generation now in force, and recorded durably
// before it takes effect. While the run stops, Answer waits; once the pause is
// kept it is ErrPaused. Errors: ErrEnded, ErrNoCall, ErrAnswered, ErrDigest,
// ErrValue, *profiles.Denial when the call is no longer granted (the program is
// told), ctx's, and faults, which end the run. Once an answer counts it takes
// effect even when ctx ends.
func (r *Run) Answer(ctx context.Context, a port.Reply) error {
	c, err := r.waitsAt(ctx, a.Call, a.Digest, forHarness)
	if err != nil {
		return err
	}
	rep := reply{fail: a.Error}
	if a.Error == nil {
		value, res := r.judgeValue(c, a.Value)
		if res.name != "" {
			return fmt.Errorf("answer call %s of run %s: %s: %w", a.Call, r.id, shape.Clip(res.text+": "+res.fault, 400), port.ErrValue)
		}
		rep.value = value
	}
	if err := r.claim(ctx, c, forHarness, nil); err != nil {
		return err
	}
	return r.answered(c, rep, a.By, "answered")
}

// answered records an answer that counts, and lets it take effect.
func (r *Run) answered(c *call, rep reply, by, state string) error {
	rec := r.callRecord(port.CallAnswered, c)
	rec.Actor, rec.State = by, state
	err := r.Put(rec, port.Synced)
	r.point("answer_recorded")
	if err != nil {
		r.end(closed("an answer could not be recorded", err))
		err = fmt.Errorf("record the answer to call %s of run %s: %w", c.id, r.id, err)
		text := "could not be answered"
		rep = reply{fail: &text}
	}
	r.mu.Lock()
	if err == nil && r.ended {
		err = port.ErrEnded
	}
	r.waiting = nil
	r.mu.Unlock()
	c.reply <- rep // has room: one claim, one reply
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
		case c != nil && c.settled != nil:
			err = port.ErrAnswered
		case c == nil || c.reply == nil || c.state == callAdmitted:
			err = port.ErrNoCall
		case c.state != callPending:
			err = port.ErrAnswered
		case c.waitsFor() != who && who == forApprover:
			err = port.ErrAnswered // approved, and now the harness's
		case c.waitsFor() != who:
			err = port.ErrNoCall
		case digest != "" && digest != c.digest:
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
	case c.state != callPending || c.waitsFor() != who:
		return port.ErrAnswered
	}
	no := r.takenLocked(c)
	if no == nil {
		no = c.StillApproved(r.bound, r.host.InForce())
	}
	if no != nil {
		c.stop(c.cancel, errRevoked)
		return &profiles.Denial{Capability: "bridge:" + c.Bridge, Decision: no.Decision}
	}
	if then == nil || !then() {
		c.state = callAnswered
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
		if c == nil || !c.working() || c.state == callLeft {
			continue
		}
		if _, no := c.Still(r.bound, g); no != nil {
			c.stop(c.cancel, errRevoked)
		}
	}
}
