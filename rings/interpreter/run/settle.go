package run

import (
	"encoding/json"
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// closing ends one call of a run: it commits and records the end, and makes the answer. It
// takes the lock of the run itself.
type closing struct {
	run *Run
	c   *call
}

// release closes the call, which gives its place in the budget of open calls back and ends
// its subagents.
func (e closing) release() {
	e.run.mu.Lock()
	children := e.run.book.close(e.c)
	e.run.promoteLocked()
	e.run.mu.Unlock()
	endAll(children)
}

// refuse answers that the call does not happen, after that is recorded. If the run has
// spent its budget of refused calls it ends, whatever the program would do with the error.
func (e closing) refuse(no *binding.Refusal) (executors.Answer, error) {
	r, c := e.run, e.c
	r.mu.Lock()
	r.book.spent.Refused++
	over := r.book.spent.Refused > *r.limits.RefusedCalls
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
	return c.Answer(r.bound, no.Name, no.Text, &no.Decision)
}

// commitEnd commits the end of the call. What a guest was allowed to do stays under way:
// its end is that of the run.
func (e closing) commitEnd(end contract.Recorded) (err error) {
	r, c := e.run, e.c
	switch {
	case !c.Journaled:
		return nil
	case c.IsAct() && !c.Ahead && end.End == contract.CallDone && r.executor == profiles.ExecutorShell:
		r.mu.Lock()
		r.book.begun = true
		r.mu.Unlock()
	default:
		err = r.journal.Close(c.ID, end)
		if n := len(end.Value); r.host.Pacer != nil && n > 0 {
			r.host.Pacer.Owe(r.agent, n) // the next calls of the agent wait for what is on disk already
		}
	}
	if err != nil {
		return fmt.Errorf("commit the end of call %s of run %s: %w", c.ID, r.id, err)
	}
	r.point("result_kept")
	return nil
}

// closeUnrecorded ends an admitted call of which nothing is on disk.
func (e closing) closeUnrecorded(no *binding.Refusal) (executors.Answer, error) {
	if no != nil {
		return e.closeUnperformed(no, nil)
	}
	return e.finish(interruptedResult(contract.CallUnrun))
}

// closeUnperformed closes a call whose effect never began.
func (e closing) closeUnperformed(no *binding.Refusal, cause error) (executors.Answer, error) {
	r, c := e.run, e.c
	e.release()
	end := contract.Recorded{End: contract.CallUnrun}
	if no != nil {
		end.Name, end.Text = no.Name, no.Text
	}
	if err := e.commitEnd(end); err != nil {
		return executors.Answer{}, err
	}
	if no != nil {
		return e.refuse(no)
	}
	rec := r.callRecord(contract.CallClosed, c)
	rec.State = string(contract.CallUnrun)
	if err := r.Put(rec, contract.Written); err != nil {
		return executors.Answer{}, e.recordError(err)
	}
	return executors.Answer{}, cause
}

func (e closing) recordError(err error) error {
	return fmt.Errorf("record the end of call %s of run %s: %w", e.c.ID, e.run.id, err)
}

// finish commits and records the end of the call, and makes the answer.
func (e closing) finish(res callResult) (executors.Answer, error) {
	r, c := e.run, e.c
	if res.End == contract.CallUnknown {
		r.mu.Lock()
		r.unknown = r.unknown || r.ended || res.Cut
		r.mu.Unlock()
	}
	if err := e.commitEnd(res.Recorded()); err != nil {
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
		return executors.Answer{}, e.recordError(err)
	}
	e.release()
	r.mu.Lock()
	if no != nil {
		r.denyLocked(*no)
	}
	r.emitCallLocked(c, "closed", res.Name)
	r.mu.Unlock()
	if res.Name != "" {
		return c.Answer(r.bound, res.Name, res.Text, no)
	}
	return executors.Answer{Value: res.Value}, nil
}

// replay answers with an end that was recorded before a crash.
func (e closing) replay(end contract.Recorded) (executors.Answer, error) {
	r, c := e.run, e.c
	if end.End == contract.CallUnknown || end.End == "" {
		return e.giveUp()
	}
	rec := r.callRecord(contract.CallClosed, c)
	rec.State, rec.Detail = string(end.End), map[string]string{"told": "again"}
	if end.Name != "" {
		rec.Detail["error"] = jsonvalue.Clip(end.Name, 80)
	}
	if err := r.Put(rec, contract.Written); err != nil {
		return executors.Answer{}, e.recordError(err)
	}
	if end.End != contract.CallDone && end.Name == "" {
		end.Name, end.Text = profiles.ErrorBridge, textInterrupted
	}
	e.release()
	r.mu.Lock()
	if profiles.IsRefusal(end.Name) {
		r.denyLocked(c.Deny(r.bound, profiles.CodeBridgeRevoked, "it was refused before the host was restarted"))
	}
	r.emitCallLocked(c, "closed", end.Name)
	r.mu.Unlock()
	if end.Name != "" {
		return c.Answer(r.bound, end.Name, end.Text, nil)
	}
	return executors.Answer{Value: end.Value}, nil
}

// giveUp ends the run because the call may have been performed and its result is lost. It
// is not repeated.
func (e closing) giveUp() (executors.Answer, error) {
	r, c := e.run, e.c
	r.markUnknown()
	r.end(ending{State: executors.StateUnknown, Name: "Unknown",
		Text: "a call may have been performed, and its result is lost (call " + c.ID + ")"})
	res := callResult{Name: profiles.ErrorBridge, Text: "may have been performed; its result is lost",
		Cut: true, End: contract.CallUnknown}
	if _, err := e.finish(res); err != nil {
		return executors.Answer{}, err
	}
	return executors.Answer{}, contract.ErrEnded
}

// judge returns the result of a call from what its provider returned. cause is why the
// context of the call ended, nil if it has not.
func (e closing) judge(out json.RawMessage, err error, cause error) callResult {
	if err == nil {
		value, res := e.judgeValue(out)
		if res.Name != "" {
			return res
		}
		return callResult{Value: value, End: contract.CallDone}
	}
	return failedResult(err, cause, e.c.External)
}

// judgeValue checks a value that is to be the result of the call. If it is refused, the
// result has a name.
func (e closing) judgeValue(out json.RawMessage) (json.RawMessage, callResult) {
	e.run.mu.Lock()
	rule := e.c.ResultRule()
	e.run.mu.Unlock()
	value, flaw := rule.Check(out, e.run.host.CheckValue)
	if flaw != nil {
		return nil, flawedResult(flaw)
	}
	return value, callResult{}
}
