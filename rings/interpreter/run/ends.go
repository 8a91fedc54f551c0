// This file says how calls and runs come out: what a program is told, what the
// journal keeps, and what the record says. It keeps nothing and asks nobody; the
// lives of runs call it.

package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Why a call's context ends.
var (
	errRun      = errors.New("the run has ended")
	errTimeout  = errors.New("the bridge's timeout has passed")
	errRevoked  = errors.New("the policy in force no longer grants the call")
	errPanicked = errors.New("a panic ended the run")
)

// unapprovedError is why the context of a call ends that nobody approved while its
// program was held.
type unapprovedError struct{ Within time.Duration }

// Error says how long that was.
func (e *unapprovedError) Error() string {
	return fmt.Sprintf("nobody approved it within %s, for which its program was held", e.Within)
}

// nameClosed is of an error that a program cannot catch.
const nameClosed = "Closed"

// maxFault bounds the host's text in a record.
const maxFault = 8 << 10

// callResult is how a call came out.
type callResult struct {
	Value json.RawMessage
	Name  string // of the error; "" for a value
	Text  string
	Code  profiles.Code
	By    *profiles.Decision // that refused, when it was not made of code and text
	Fault string             // host text
	End   contract.CallEnd
	Cut   bool // the program is over and will not learn of it
}

// Recorded is what the journal keeps.
func (res *callResult) Recorded() contract.Recorded {
	return contract.Recorded{End: res.End, Value: res.Value, Name: res.Name, Text: res.Text}
}

// failedResult is the result of a call whose provider failed with err. Cause is why its
// context ended, nil while it has not; then external says whether it may have been
// performed.
func failedResult(err, cause error, external bool) callResult {
	res := callResult{Name: profiles.ErrorBridge, Text: "failed", Fault: err.Error(), End: contract.CallFailed}
	if cause == nil {
		res.Name, res.Text, res.By = binding.Told(err)
		return res
	}
	if external {
		res.End = contract.CallUnknown
	}
	var unapproved *unapprovedError
	switch {
	case errors.Is(cause, errTimeout):
		res.Text, res.Code = "did not answer in time", profiles.CodeBridgeTimeout
	case errors.As(cause, &unapproved):
		res.Name, res.Text, res.Code = profiles.ErrorApprovalDenied, unapproved.Error(), profiles.CodeApprovalExpired
	case errors.Is(cause, errRevoked):
		res.Name, res.Text, res.Code = profiles.ErrorCapabilityRevoked, binding.TextRevoked, profiles.CodeBridgeRevoked
	default:
		res.Text, res.Cut = "was interrupted", true
	}
	return res
}

// flawedResult is the result of a call whose value does not reach the program.
func flawedResult(f *binding.Flaw) callResult {
	return callResult{Name: f.Name, Text: f.Text, Code: f.Code, Fault: f.Fault, End: contract.CallFailed}
}

// maxReplyText bounds the message of a harness's error.
const maxReplyText = 4 << 10

// failedByHarness is the result of a call whose harness says that it failed.
func failedByHarness(text string) callResult {
	return callResult{Name: profiles.ErrorBridge, Text: jsonvalue.Clip(text, maxReplyText), End: contract.CallFailed}
}

// maxReason bounds the reason of a denial.
const maxReason = 1 << 10

// deniedResult is the result of a call that a person refused.
func deniedResult(reason string) callResult {
	text := "the approval was denied"
	if reason != "" {
		text += ": " + jsonvalue.Clip(reason, maxReason)
	}
	return callResult{Name: profiles.ErrorApprovalDenied, Text: text, Code: profiles.CodeApprovalDenied, End: contract.CallUnrun}
}

// explained are the refusals of the ring's own in a list that the executor may have words
// for: how often each may still be told of.
type explained []int64

// newExplained returns those of a list in which the executor was not told of anything.
func newExplained(list []profiles.Decision) explained {
	left := make(explained, len(list))
	for i := range list {
		if list[i].Text == "" {
			left[i] = max(list[i].Count, 1)
		}
	}
	return left
}

// Explain gives a refusal of the ring's own, which is in list, the words that the executor
// has for it, which alone knows where in the program it happened. False: the ring has not
// refused so, or not as often, and d is another one.
func (left explained) Explain(list []profiles.Decision, d profiles.Decision) bool {
	i := slices.IndexFunc(list[:len(left)], func(own profiles.Decision) bool { return own.Code == d.Code && own.Reason == d.Reason })
	if i < 0 || d.Text == "" || left[i] < max(d.Count, 1) {
		return false
	}
	left[i] -= max(d.Count, 1)
	if list[i].Text == "" {
		list[i].Text, list[i].Evidence = d.Text, cmp.Or(d.Evidence, list[i].Evidence)
	}
	return true
}

// maxWhy bounds the reason of a guest that was lost.
const maxWhy = 1 << 10

// endOfRun is the outcome of a program that did not run, or whose end is not known.
// v gets the decision when it was refused.
func endOfRun(err error, v *contract.View) (executors.State, *executors.ProgramError) {
	failed := func(name, text string) (executors.State, *executors.ProgramError) {
		return executors.StateFailed, &executors.ProgramError{Name: name, Message: text}
	}
	var denial *profiles.Denial
	var gone *executors.SessionError
	switch {
	case errors.As(err, &denial):
		all := profiles.Refusals{List: v.Denials, More: v.DenialsMore}
		all.Add(denial.Decision, pause.MaxDenials)
		v.Denials, v.DenialsMore = all.List, all.More
		return executors.StateDenied, &executors.ProgramError{Name: profiles.ErrorCapabilityDenied, Message: denial.Decision.Reason}
	case errors.Is(err, errPanicked):
		return failed(nameClosed, "the run was closed: a fault of the host")
	case errors.Is(err, executors.ErrEngine): // of a session: a pause stands
		return failed("SessionUnusable",
			jsonvalue.Clip("the state of the session needs an engine that is not configured, or has to be forgotten: "+err.Error(), 400))
	case errors.As(err, &gone):
		return failed("SessionUnusable", jsonvalue.Clip(gone.Why, 400)+"; what it held is lost: the session has to be forgotten (DELETE /v1/sessions/NAME, "+
			"ringd sessions drop NAME), and its next run begins anew")
	case errors.Is(err, executors.ErrSnapshot):
		return failed("SessionUnusable", "the state of the session cannot be restored: it has to be forgotten")
	default:
		text := "the guest ended without an outcome"
		if why := executors.Why(err); why != "" {
			text += ": " + jsonvalue.Clip(why, maxWhy)
		}
		return failed(profiles.ErrorGuestLost, text)
	}
}
