package interpreter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Names of the errors that a program can catch.
const (
	nameDenied         = "CapabilityDenied"
	nameRevoked        = "CapabilityRevoked"
	nameBudget         = "BudgetExceeded"
	nameArgument       = "ArgumentError"
	nameResultTooLarge = "ResultTooLarge"
	nameBridge         = "BridgeError"
)

// Why a call's context ends.
var (
	errRunEnded = errors.New("the run has ended")
	errTimeout  = errors.New("the bridge's timeout has passed")
	errRevoked  = errors.New("the policy in force no longer grants the call")
	errPanicked = errors.New("a panic ended the run")
)

// callState is where a call stands.
type callState uint8

const (
	callAdmitted callState = iota // taken out of the budgets; nothing has begun
	callPending                   // waits for the harness
	callAnswered                  // the harness has answered; it takes effect
	callActing                    // a provider works
	callClosed
)

// call is one admitted call. The run's lock guards the fields below the line.
type call struct {
	id, bridge string
	n          int // order in the run
	args       json.RawMessage
	size       int64 // of the arguments as the guest sent them
	marked     bool  // they use the tagged encoding
	digest     string
	grant      *grant // of the run's own generation
	external   bool
	full       bool // its record holds the arguments
	journaled  bool
	key        string
	reply      chan reply // from Answer, one at most

	limits   profiles.BridgeLimits // stricter of the generations it was decided under
	other    *grant                // of the generation in force when it was decided
	gen      *generation
	agents   int64  // subagents it may start
	children []*Run // that were started for it; they end with it
	state    callState
	cancel   context.CancelCauseFunc
}

// working reports whether the call has begun and has no answer yet.
func (c *call) working() bool { return c.state == callPending || c.state == callActing }

// reply is what the harness answered.
type reply struct {
	value json.RawMessage
	fail  *string
}

// refusal is a call that does not happen.
type refusal struct {
	name     string // of the error the program gets
	decision profiles.Decision
	text     string // of the error the program gets
}

// host answers for one run.
type host struct{ run *Run }

// Console takes one console entry as it is written.
func (h *host) Console(e executors.ConsoleEntry) { h.run.print(e) }

// Idle says that the program waits for one of the open calls.
func (h *host) Idle(open []string) { h.run.wait(open) }

// Ask decides and performs one question. An error ends the run, closed. So does
// a panic on the way, which goes on to the executor's goroutine.
func (h *host) Ask(ctx context.Context, q executors.Question) (ans executors.Answer, err error) {
	r := h.run
	if err := r.enter(q.Call); err != nil {
		return executors.Answer{}, err
	}
	err = errPanicked
	defer func() {
		if err != nil {
			r.lose(q.Call)
			r.end(ending{state: executors.StateFailed, name: "Closed",
				text: "the run was closed: a call could not be recorded or performed safely", fault: err.Error()})
		}
		r.leave()
	}()
	ans, err = r.ask(ctx, q)
	return ans, err
}

// enter admits one question of the guest to be answered.
func (r *Run) enter(id string) error {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return ErrEnded
	}
	_, known := r.calls[id]
	if known || !validID(id) {
		r.mu.Unlock()
		r.end(ending{state: executors.StateFailed, name: "Closed", text: "the run was closed: the guest broke its protocol",
			fault: "a call's id is repeated or malformed"})
		return ErrEnded
	}
	r.calls[id] = nil // reserved
	r.busy++
	r.mu.Unlock()
	return nil
}

func (r *Run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	if r.busy == 0 && r.ended {
		close(r.idle)
	}
}

// validID reports whether a guest's call id is fit for records and messages.
func validID(id string) bool {
	if id == "" || len(id) > 32 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// digest is "sha256:" and hex.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// failure is the outcome of a program that did not run, or whose end is not
// known. v gets the decision when it was refused.
func failure(err error, v *View) (executors.State, *executors.ProgramError) {
	var denial *profiles.Denial
	switch {
	case errors.As(err, &denial):
		if len(v.Denials) < MaxDenials {
			v.Denials = append(v.Denials, denial.Decision)
		}
		return executors.StateDenied, &executors.ProgramError{Name: nameDenied, Message: denial.Decision.Reason}
	case errors.Is(err, errPanicked):
		return executors.StateFailed, &executors.ProgramError{Name: "Closed", Message: "the run was closed: a fault of the host"}
	default:
		return executors.StateFailed, &executors.ProgramError{Name: "GuestLost", Message: "the guest ended without an outcome"}
	}
}
