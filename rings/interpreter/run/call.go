package run

import (
	"context"
	"errors"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

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
	defer func() { r.leave(q.Call, err) }()
	if again != nil {
		ans, err = r.askAgain(ctx, again)
	} else {
		ans, err = r.ask(ctx, q, newOpenCall[*Run](q))
	}
	return ans, err
}

// enter admits one question of the guest to be answered, and returns the call
// when it is one that was open at the pause.
func (r *Run) enter(q executors.Question) (*call, error) {
	r.mu.Lock()
	if r.ended || r.phase == over {
		r.mu.Unlock()
		return nil, contract.ErrEnded
	}
	c, known := r.calls[q.Call]
	again := known && c != nil && c.State == callLeft && c.Settled != nil && c.Is(q)
	n, numbered := pause.Number(q.Call)
	if again {
		c.State = callAdmitted
	} else if known || !contract.ValidCallID(q.Call) || r.floor > 0 && (!numbered || n <= r.floor) || r.phase != running ||
		q.Action != nil && r.executor != profiles.ExecutorShell {
		r.mu.Unlock()
		r.end(closedEnding("the guest broke its protocol", errors.New("a call is repeated, malformed, not for this executor, or made while the program is stopped")))
		return nil, contract.ErrEnded
	}
	if !again {
		r.calls[q.Call], c = nil, nil // reserved
	}
	r.busy++
	r.mu.Unlock()
	return c, nil
}

// leave is the end of a question. An error ends the run, closed, unless it says that
// the call stays open over a pause.
func (r *Run) leave(call string, err error) {
	if err != nil && !errors.Is(err, executors.ErrPaused) {
		r.lose(call)
		r.end(closedEnding("a call could not be recorded or performed safely", err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	r.quietLocked()
}
