package life

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/port"
	"github.com/ringd/ringd/rings/interpreter/rules"
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
	callPending                   // waits for an answer or an approval
	callCut                       // waited, and was told to stop
	callAnswered                  // it has its answer, which takes effect
	callActing                    // a provider works
	callLeft                      // waits, and its question is gone with the guest
	callClosed
)

// nameClosed is of an error that a program cannot catch.
const nameClosed = "Closed"

// call is one admitted call. The run's lock guards the case and the fields below
// the line.
type call struct {
	id        string
	n         int // order in the run
	digest    string
	harness   bool // the harness performs it
	journaled bool
	key       string
	reply     chan reply  // from Answer or Approved, one at most
	settled   *Settlement // of a call of the pause that the run goes on from

	rules.Case
	children []*Run // that were started for it; they end with it
	begun    int64  // children of it that are not in that list
	state    callState
	cancel   context.CancelCauseFunc
}

// open reports whether the call waits for somebody outside.
func (c *call) open() bool {
	return c.state == callPending || c.state == callLeft && c.settled == nil
}

// working reports whether the call has begun and has no answer yet.
func (c *call) working() bool {
	return c.state == callPending || c.state == callActing || c.state == callLeft
}

// waitsFor says who settles an open call.
func (c *call) waitsFor() string {
	if c.Terms != nil && !c.Approved {
		return forApprover
	}
	return forHarness
}

// pending is the open call as others see it.
func (c *call) pending() port.Pending {
	p := port.Pending{ID: c.id, Bridge: c.Bridge, Args: c.Args, For: c.waitsFor(), Digest: c.digest}
	if p.For == forApprover {
		p.Expires, p.From, p.Count = c.Terms.Expires, c.Terms.From, c.Terms.Count
		p.Rule = c.Terms.Rule
	}
	return p
}

// reply settles a call that waits.
type reply struct {
	value    json.RawMessage
	fail     *string
	approved bool // the host performs it
	denied   bool
	reason   string
}

// host answers for one run.
type host struct{ run *Run }

// Console takes one console entry as it is written.
func (h *host) Console(e executors.ConsoleEntry) { h.run.print(e) }

// Idle says that the program waits for one of the open calls.
func (h *host) Idle(open []string) { h.run.wait(open) }

// Ask decides and performs one question. An error ends the run, closed, unless
// it says that the call stays open over a pause. So does a panic on the way,
// which goes on to the executor's goroutine.
func (h *host) Ask(ctx context.Context, q executors.Question) (ans executors.Answer, err error) {
	r := h.run
	again, err := r.enter(q)
	if err != nil {
		return executors.Answer{}, err
	}
	err = errPanicked
	defer func() {
		if err != nil && !errors.Is(err, executors.ErrPaused) {
			r.lose(q.Call)
			r.end(closed("a call could not be recorded or performed safely", err))
		}
		r.leave()
	}()
	if again != nil {
		ans, err = r.askAgain(ctx, again)
	} else {
		ans, err = r.ask(ctx, q)
	}
	return ans, err
}

// enter admits one question of the guest to be answered, and returns the call
// when it is one that was open at the pause.
func (r *Run) enter(q executors.Question) (*call, error) {
	r.mu.Lock()
	if r.ended || r.phase == over {
		r.mu.Unlock()
		return nil, port.ErrEnded
	}
	c, known := r.calls[q.Call]
	again := known && c != nil && c.state == callLeft && c.settled != nil && c.Bridge == q.Bridge
	n, numbered := pause.Number(q.Call)
	if again {
		c.state = callAdmitted
	} else if known || !port.ValidCallID(q.Call) || r.floor > 0 && (!numbered || n <= r.floor) || r.phase != running {
		r.mu.Unlock()
		r.end(closed("the guest broke its protocol", errors.New("a call is repeated, malformed or made while the program is stopped")))
		return nil, port.ErrEnded
	}
	if !again {
		r.calls[q.Call], c = nil, nil // reserved
	}
	r.busy++
	r.mu.Unlock()
	return c, nil
}

func (r *Run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	r.quietLocked()
}
