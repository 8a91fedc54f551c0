package run

import (
	"context"
	"errors"
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// guestHost is the executors.Host of one run: it answers the questions of the guest.
type guestHost struct{ run *Run }

// Console handles one console entry when it is written.
func (h *guestHost) Console(e executors.ConsoleEntry) { h.run.print(e, *h.run.limits.OutputBytes) }

// Idle says that the program can do nothing before one of the open calls is settled.
func (h *guestHost) Idle(open []string) {
	h.run.mu.Lock()
	h.run.book.waiting = slices.Clone(open)
	h.run.mu.Unlock()
	h.run.pauseIfWaiting()
}

// Ask decides and performs one question. An error ends the run, closed, unless it is
// executors.ErrPaused: then the call stays open over a pause. A panic on the way ends the
// run, too, and goes on to the goroutine of the executor.
func (h *guestHost) Ask(ctx context.Context, q executors.Question) (ans executors.Answer, err error) {
	again, err := h.begin(q)
	if err != nil {
		return executors.Answer{}, err
	}
	err = errPanicked
	defer func() { h.end(q.Call, err) }()
	if again != nil {
		ans, err = h.run.attempt(again).resume(ctx)
	} else {
		ans, err = h.run.attempt(newCall(q)).answer(ctx, q.Args)
	}
	return ans, err
}

// begin admits one question of the guest. If the question is about a call that was open at the pause, it returns
// that call.
func (h *guestHost) begin(q executors.Question) (*call, error) {
	r := h.run
	r.mu.Lock()
	if r.ended || r.phase == phasePaused {
		r.mu.Unlock()
		return nil, contract.ErrEnded
	}
	c := r.book.askedAgain(q)
	if c != nil {
		c.State = callAdmitted
	} else if !r.book.fresh(q) || r.phase != phaseRunning || q.Action != nil && r.executor != profiles.ExecutorShell {
		r.mu.Unlock()
		r.end(closedEnding("the guest broke its protocol", errors.New(
			"a call is repeated, malformed, not for this executor, or made while the program is stopped")))
		return nil, contract.ErrEnded
	} else {
		r.book.calls[q.Call] = nil // reserved
	}
	r.busy++
	r.mu.Unlock()
	return c, nil
}

// beginAct lets an act in of the guest that a provider runs for the call parent, and
// returns the id of the act.
func (h *guestHost) beginAct(parent *call) (string, error) {
	r := h.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.phase != phaseRunning || parent.State != callActing {
		return "", contract.ErrEnded
	}
	id := parent.NestedID()
	r.book.calls[id] = nil // reserved
	r.busy++
	return id, nil
}

// end is called once a question has its answer. An error ends the run, closed, unless it
// is executors.ErrPaused.
func (h *guestHost) end(call string, err error) {
	if err != nil && !errors.Is(err, executors.ErrPaused) {
		h.markUnknown(call)
		h.run.end(closedEnding("a call could not be recorded or performed safely", err))
	}
	h.run.leaveQuestion()
}

// markUnknown notes that the result of a call that failed in the host is lost, if it may
// have been performed.
func (h *guestHost) markUnknown(id string) {
	r := h.run
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.book.calls[id]
	if c == nil || !c.External {
		return
	}
	switch c.State {
	case callActing, callPending, callCut, callAnswered:
		r.unknown = true
	case callAdmitted, callQueued, callLeft, callClosed:
	}
}
