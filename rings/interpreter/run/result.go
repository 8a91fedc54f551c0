package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Causes of the end of a call's context.
var (
	errRun      = errors.New("the run has ended")
	errTimeout  = errors.New("the bridge's timeout has passed")
	errRevoked  = errors.New("the policy in force no longer grants the call")
	errPanicked = errors.New("a panic ended the run")
)

// unapprovedError is the cause if a call was not approved while its program was held.
type unapprovedError struct{ Within time.Duration }

// Error says how long the program was held.
func (e *unapprovedError) Error() string {
	return fmt.Sprintf("it was not approved within %s, the time for which its program was held", e.Within)
}

// textInterrupted is the text of a call that the end of its run has stopped.
const textInterrupted = "was interrupted"

// Limits of the texts of a result.
const (
	maxFault     = 8 << 10 // the host's text in a record
	maxReplyText = 4 << 10 // the message of a harness's error
	maxReason    = 1 << 10 // the reason of a denial
)

// callResult is the result of a call.
type callResult struct {
	Value json.RawMessage
	Name  string // of the error; empty for a value
	Text  string
	Code  profiles.Code
	By    *profiles.Decision // that refused, if it is not made of Code and Text
	Fault string             // host text
	End   contract.CallEnd
	Cut   bool // the program is over and does not get the result
}

// Recorded returns what the journal keeps of the result.
func (res *callResult) Recorded() contract.Recorded {
	return contract.Recorded{End: res.End, Value: res.Value, Name: res.Name, Text: res.Text}
}

// failedResult is the result of a call whose provider failed with err. cause is why its
// context ended, nil if it has not. external says that an interrupted call may have been
// performed.
func failedResult(err, cause error, external bool) callResult {
	res := callResult{Name: profiles.ErrorBridge, Text: "failed", Fault: err.Error(), End: contract.CallFailed}
	if cause == nil {
		res.Name, res.Text, res.By = binding.ProgramError(err)
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
		res.Text, res.Cut = textInterrupted, true
	}
	return res
}

// interruptedResult is the result of a call that the end of its run has stopped.
func interruptedResult(end contract.CallEnd) callResult {
	return callResult{Name: profiles.ErrorBridge, Text: textInterrupted, Cut: true, End: end}
}

// flawedResult is the result of a call whose value does not reach the program.
func flawedResult(f *binding.Flaw) callResult {
	return callResult{Name: f.Name, Text: f.Text, Code: f.Code, Fault: f.Fault, End: contract.CallFailed}
}

// failedByHarness is the result of a call whose harness says that it failed.
func failedByHarness(text string) callResult {
	return callResult{Name: profiles.ErrorBridge, Text: jsonvalue.Clip(text, maxReplyText), End: contract.CallFailed}
}

// deniedResult is the result of a call that a person denied.
func deniedResult(reason string) callResult {
	text := "the approval was denied"
	if reason != "" {
		text += ": " + jsonvalue.Clip(reason, maxReason)
	}
	return callResult{Name: profiles.ErrorApprovalDenied, Text: text, Code: profiles.CodeApprovalDenied,
		End: contract.CallUnrun}
}

// unexplained counts, for each refusal of the ring in a list, how many of them the executor
// may still explain.
type unexplained []int64

// newUnexplained counts the refusals of a list that have no words of the executor yet.
func newUnexplained(list []profiles.Decision) unexplained {
	left := make(unexplained, len(list))
	for i := range list {
		if list[i].Text == "" {
			left[i] = max(list[i].Count, 1)
		}
	}
	return left
}

// Explain matches a denial of the executor with a refusal of the ring in list. It adds to the refusal what only
// the executor knows: where in the program it happened. It returns false if the ring has not refused that, or not
// as often. Then d is another denial.
func (left unexplained) Explain(list []profiles.Decision, d profiles.Decision) bool {
	i := slices.IndexFunc(list[:len(left)], func(own profiles.Decision) bool {
		return own.Code == d.Code && own.Reason == d.Reason
	})
	if i < 0 || d.Text == "" || left[i] < max(d.Count, 1) {
		return false
	}
	left[i] -= max(d.Count, 1)
	if list[i].Text == "" {
		list[i].Text, list[i].Evidence = d.Text, cmp.Or(d.Evidence, list[i].Evidence)
	}
	return true
}
