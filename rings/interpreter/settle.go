package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// refuse tells the program that a call does not happen, after that is recorded.
// When the budget of refused calls is spent the run ends, whatever the program
// would do with the error.
func (r *Run) refuse(c *call, no *refusal) (executors.Answer, error) {
	r.mu.Lock()
	r.spent.Refused++
	over := r.spent.Refused > *r.limits.RefusedCalls
	r.denyLocked(no.decision)
	r.mu.Unlock()
	rec := r.callRecord(CallDecided, c)
	rec.State, rec.Decision = "refused", &no.decision
	if err := r.put(rec, Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record refusal of call %s of run %s: %w", c.id, r.id, err)
	}
	if over {
		text := fmt.Sprintf("more than %d calls were refused", *r.limits.RefusedCalls)
		r.mu.Lock()
		r.denyLocked(r.deny(c, profiles.CodeBridgeRefused, text))
		r.mu.Unlock()
		r.end(ending{state: executors.StateDenied, name: nameBudget, text: text})
		return executors.Answer{}, ErrEnded
	}
	return c.error(no.name, no.text), nil
}

// denyLocked keeps a refusal for the outcome and tells the readers of events.
func (r *Run) denyLocked(d profiles.Decision) {
	if len(r.denials) < MaxDenials {
		r.denials = append(r.denials, d)
	}
	r.emitLocked(Event{Kind: EventDecision, Decision: &d})
}

// error is the answer that a program sees of a failed call.
func (c *call) error(name, text string) executors.Answer {
	return executors.Answer{Error: &executors.GuestError{Name: name,
		Message: shape.Clip(c.bridge, 80) + ": " + text + " (call " + c.id + ")"}}
}

// result is how a call came out.
type result struct {
	value json.RawMessage
	name  string // of the error; "" for a value
	text  string
	code  profiles.Code
	fault string // host text
	end   CallEnd
	cut   bool // the program is over and will not learn of it
}

// recorded is what the journal keeps.
func (res *result) recorded() Recorded {
	return Recorded{End: res.end, Value: res.value, Name: res.name, Text: res.text}
}

// unrun closes a call whose act never began.
func (r *Run) unrun(c *call, no *refusal, cause error) (executors.Answer, error) {
	r.release(c)
	if c.journaled {
		if err := r.closeCall(c.id, Recorded{End: CallUnrun}); err != nil {
			return executors.Answer{}, fmt.Errorf("commit the end of call %s of run %s: %w", c.id, r.id, err)
		}
	}
	if no != nil {
		return r.refuse(c, no)
	}
	rec := r.callRecord(CallClosed, c)
	rec.State = string(CallUnrun)
	if err := r.put(rec, Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.id, r.id, err)
	}
	return executors.Answer{}, cause
}

// close judges what a provider returned, commits and records the end of the
// call, and makes the answer.
func (r *Run) close(ctx context.Context, c *call, out json.RawMessage, err error) (executors.Answer, error) {
	return r.finish(c, r.judge(c, out, err, context.Cause(ctx)))
}

// finish commits and records the end of a call, and makes the answer.
func (r *Run) finish(c *call, res result) (executors.Answer, error) {
	if res.end == CallUnknown {
		r.mu.Lock()
		r.lost = r.lost || r.ended || res.cut
		r.mu.Unlock()
	}
	if c.journaled {
		if err := r.closeCall(c.id, res.recorded()); err != nil {
			return executors.Answer{}, fmt.Errorf("commit the end of call %s of run %s: %w", c.id, r.id, err)
		}
	}
	rec := r.callRecord(CallClosed, c)
	rec.State, rec.Fault = string(res.end), shape.Clip(res.fault, maxFault)
	if res.name != "" {
		rec.Detail = map[string]string{"error": res.name}
	}
	if res.code != "" {
		d := r.deny(c, res.code, res.text)
		rec.Decision = &d
	}
	if err := r.put(rec, Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.id, r.id, err)
	}
	r.release(c)
	r.mu.Lock()
	if res.code != "" {
		r.denyLocked(*rec.Decision)
	}
	r.emitLocked(Event{Kind: EventCall, Call: &CallEvent{ID: c.id, Bridge: c.bridge, State: "closed", Error: res.name, Digest: c.digest}})
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
		return result{value: value, end: CallDone}
	}
	res := result{name: nameBridge, text: "failed", fault: err.Error(), end: CallFailed}
	if cause == nil {
		return res
	}
	if c.external {
		res.end = CallUnknown
	}
	switch {
	case errors.Is(cause, errTimeout):
		res.text, res.code = "did not answer in time", profiles.CodeBridgeTimeout
	case errors.Is(cause, errRevoked):
		res.name, res.text, res.code = nameRevoked, textRevoked, profiles.CodeBridgeRevoked
	default:
		res.text, res.cut = "was interrupted", true
	}
	return res
}

// judgeValue checks a result: its size, its form and the schemas. A failure is a
// result with a name.
func (r *Run) judgeValue(c *call, out json.RawMessage) (json.RawMessage, result) {
	bad := func(name, text string, code profiles.Code, fault string) (json.RawMessage, result) {
		return nil, result{name: name, text: text, code: code, fault: fault, end: CallFailed}
	}
	r.mu.Lock()
	most, one, other := c.limits.ResultBytes, c.grant.result, c.other.result
	r.mu.Unlock()
	if int64(len(out)) > most {
		return bad(nameResultTooLarge, fmt.Sprintf("the result is larger than %d bytes", most), profiles.CodeBridgeResultBytes,
			fmt.Sprintf("the result has %d bytes", len(out)))
	}
	if len(out) == 0 && one == nil && other == nil {
		return nil, result{} // undefined
	}
	s, err := shape.Scan(out)
	if err == nil && s.Marked {
		err = r.ring.cfg.CheckValue(out)
	}
	if err != nil {
		return bad(nameBridge, "gave a result that is not a valid value", profiles.CodeBridgeResult, err.Error())
	}
	value, err := shape.Validate(out, s.Marked, one, other)
	if err != nil {
		return bad(nameBridge, "gave a result that does not fit its schema", profiles.CodeBridgeResult, err.Error())
	}
	return value, result{}
}

// lose notes that a call failed on the host's side: what it did is not known.
func (r *Run) lose(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	if c == nil || !c.external {
		return
	}
	switch c.state {
	case callActing, callPending, callAnswered:
		r.lost = true
	case callAdmitted, callClosed:
	}
}

// await leaves a call open until it is answered.
func (r *Run) await(ctx context.Context, c *call) (executors.Answer, error) {
	r.pause()
	var rep reply
	select {
	case rep = <-c.reply:
	case <-ctx.Done():
		r.mu.Lock()
		answered := c.state == callAnswered
		if !answered {
			c.state = callActing // no answer counts from here on
		}
		r.mu.Unlock()
		if !answered {
			res := r.judge(c, nil, errors.New("no answer"), context.Cause(ctx))
			res.end = CallUnrun // nobody of the host has acted
			return r.finish(c, res)
		}
		rep = <-c.reply
	}
	if rep.fail != nil {
		return r.finish(c, result{name: nameBridge, text: shape.Clip(*rep.fail, maxReplyText), end: CallFailed})
	}
	return r.finish(c, result{value: rep.value, end: CallDone})
}

// maxReplyText bounds the message of a harness's error.
const maxReplyText = 4 << 10

// Answer settles a call that waits for the harness. The first valid answer wins.
// It is decided again under the generation now in force, and recorded durably
// before it takes effect. Errors: ErrEnded, ErrNoCall, ErrAnswered, ErrDigest,
// ErrValue, *profiles.Denial when the call is no longer granted (the program is
// told), ctx's, and faults, which end the run. Once an answer counts it takes
// effect even when ctx ends.
func (r *Run) Answer(ctx context.Context, a Reply) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := r.pending(a)
	if err != nil {
		return err
	}
	rep := reply{fail: a.Error}
	if a.Error == nil {
		value, res := r.judgeValue(c, a.Value)
		if res.name != "" {
			return fmt.Errorf("answer call %s of run %s: %s: %w", a.Call, r.id, shape.Clip(res.text+": "+res.fault, 400), ErrValue)
		}
		rep.value = value
	}
	if err := r.claim(c); err != nil {
		return err
	}
	rec := r.callRecord(CallAnswered, c)
	rec.Actor, rec.State = a.By, "answered"
	err = r.put(rec, Synced)
	if err != nil {
		r.end(ending{state: executors.StateFailed, name: "Closed",
			text: "the run was closed: an answer could not be recorded", fault: err.Error()})
		err = fmt.Errorf("record the answer to call %s of run %s: %w", c.id, r.id, err)
		text := "could not be answered"
		rep = reply{fail: &text}
	}
	r.mu.Lock()
	if err == nil && r.ended {
		err = ErrEnded
	}
	resumed := r.paused
	r.paused, r.waiting = false, nil
	if resumed && !r.ended {
		r.emitLocked(Event{Kind: EventState, State: StateRunning})
	}
	r.mu.Unlock()
	c.reply <- rep // has room: one claim, one reply
	return err
}

// pending finds the call that a reply is for.
func (r *Run) pending(a Reply) (*call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, ErrEnded
	}
	c := r.calls[a.Call]
	switch {
	case c == nil || c.reply == nil:
		return nil, ErrNoCall
	case c.state == callAnswered || c.state == callClosed || c.state == callActing:
		return nil, ErrAnswered
	case a.Digest != "" && a.Digest != c.digest:
		return nil, ErrDigest
	}
	return c, nil
}

// claim makes the caller the one whose answer counts. A call that is no longer
// granted is cut instead.
func (r *Run) claim(c *call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return ErrEnded
	}
	if c.state != callPending {
		return ErrAnswered
	}
	if _, no := r.stillGranted(r.ring.gen.Load(), c); no != nil {
		c.cancel(errRevoked)
		return &profiles.Denial{Capability: "bridge:" + c.bridge, Decision: no.decision}
	}
	c.state = callAnswered
	return nil
}

// cut tells every call that g no longer grants to stop.
func (r *Run) cut(g *generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c == nil || !c.working() {
			continue
		}
		if _, no := r.stillGranted(g, c); no != nil {
			c.cancel(errRevoked)
		}
	}
}

// wait notes that the guest can do nothing before one of the open calls.
func (r *Run) wait(open []string) {
	r.mu.Lock()
	r.waiting = slices.Clone(open)
	r.mu.Unlock()
	r.pause()
}

// pause makes the run paused once the guest waits and only the harness can move
// it. The pause is on disk before anybody sees it.
func (r *Run) pause() {
	r.mu.Lock()
	if !r.waitsLocked() || r.paused || r.pausing {
		r.mu.Unlock()
		return
	}
	r.pausing = true
	r.mu.Unlock()
	rec := r.record(RunPaused)
	rec.State = string(executors.StatePaused)
	err := r.put(rec, Synced)
	if err != nil {
		r.end(ending{state: executors.StateFailed, name: "Closed",
			text: "the run was closed: a pause could not be recorded", fault: err.Error()})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pausing = false
	if err == nil && r.waitsLocked() {
		r.paused = true
		r.emitLocked(Event{Kind: EventState, State: executors.StatePaused})
	}
}

// waitsLocked reports whether every call that the guest waits on, and every
// other open one, waits for the harness.
func (r *Run) waitsLocked() bool {
	if r.ended || len(r.waiting) == 0 {
		return false
	}
	for _, id := range r.waiting {
		if c := r.calls[id]; c == nil || c.state != callPending {
			return false
		}
	}
	for _, c := range r.calls {
		if c != nil && c.state != callPending && c.state != callClosed {
			return false
		}
	}
	return true
}
