package run

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// place is the place of a call among the open calls of its bridge, of which a policy limits the number.
type place struct {
	Has   bool            // the call has its place
	Waits bool            // it waits for it
	Given chan struct{}   // closed when a call that waited got its place; nil for a call that got it at once
	Order *executors.Turn // among the calls that got a place in this life of the run; nil for an open call of a pause
}

// EndTurns lets the next question be decided, and the next call that has a place be recorded.
func (c *call) EndTurns() {
	c.Turn.End()
	c.Place.Order.End()
}

// give gives a call its place. The intents of calls are on record in the order in which they got their places.
func (k *callBook) give(c *call) {
	k.places = k.places.After()
	c.Place.Has, c.Place.Order = true, k.places
}

// enqueue makes an admitted call wait for its place.
func (k *callBook) enqueue(c *call) {
	c.Place.Waits, c.Place.Given = true, make(chan struct{})
	k.queue = append(k.queue, c)
}

// dequeue takes a call out of the calls that wait for a place.
func (k *callBook) dequeue(c *call) {
	k.queue = slices.DeleteFunc(k.queue, func(other *call) bool { return other == c })
	k.spent.Waiting[c.Bridge]--
	c.Place.Waits = false
}

// promote gives free places to the calls that wait, in the order in which they were admitted. most returns how many
// calls of the bridge of a call may be open. A call of a pause that the guest has not asked again yet stays the first.
func (k *callBook) promote(most func(*call) int64) {
	full := map[string]bool{} // by bridge
	for _, c := range slices.Clone(k.queue) {
		switch {
		case full[c.Bridge]:
		case c.State == callLeft || k.spent.Open[c.Bridge] >= most(c):
			full[c.Bridge] = true
		default:
			k.dequeue(c)
			k.spent.Open[c.Bridge]++
			k.give(c)
			c.State = callAdmitted
			close(c.Place.Given)
		}
	}
}

// promoteLocked gives free places to the calls that wait, under the policies that bind the run and the one in force.
// A call that is no longer granted finds that at its turn.
func (r *Run) promoteLocked() {
	if len(r.book.queue) == 0 || r.ended {
		return
	}
	g := r.host.InForce()
	r.book.promote(func(c *call) int64 {
		most := int64(math.MaxInt64)
		now, _ := c.DecideInForce(r.bound, g)
		for _, gr := range append(c.BoundGrants[:len(c.BoundGrants):len(c.BoundGrants)], now) {
			if gr != nil {
				most = min(most, gr.Limits.Concurrent)
			}
		}
		return most
	})
}

// queuedAttempt is the attempt of a call that has to wait until fewer of its bridge are open.
type queuedAttempt struct{ *attempt }

// answer waits until the call has its place, and takes the call through the other steps then.
func (a queuedAttempt) answer(ctx context.Context) (executors.Answer, error) {
	no, err := a.takePlace(ctx)
	defer a.c.EndTurns()
	switch {
	case errors.Is(err, executors.ErrPaused):
		return executors.Answer{}, err
	case no != nil: // not counted as refused: the program did not ask for what it may not
		return a.finish(callResult{Name: no.Name, Text: no.Text, By: &no.Decision, End: contract.CallUnrun})
	case err != nil:
		return a.closeUnrecorded(nil)
	}
	p := a.provider()
	if p == nil {
		return a.closeUnrecorded(a.unprovided())
	}
	return a.begin(ctx, p)
}

// record records a call that has to wait for its place. Its intent is recorded once it has that.
func (a queuedAttempt) record() error {
	c := a.c
	rec := a.run.callRecord(contract.CallQueued, c)
	rec.State, rec.Placed = callStateQueued, c.Turn.End
	if err := a.run.Put(rec, contract.Written); err != nil {
		a.release()
		return a.recordError(err)
	}
	c.Turn.End()
	if c.Taken != nil {
		c.Taken() // the guest has to be able to say that it waits
	}
	return nil
}

// callStateQueued is the state of a call that waits for a place, in records and events.
const callStateQueued = "queued"

// takePlace waits until the call has its place, and decides the call again then. If the call stays queued over a pause,
// the error is executors.ErrPaused. Any other error says that the run ends.
func (a queuedAttempt) takePlace(ctx context.Context) (no *binding.Refusal, err error) {
	if no, err = a.awaitPlace(ctx); no != nil || err != nil {
		return no, err
	}
	r, c := a.run, a.c
	if c.Place.Order.Wait(ctx) != nil || ctx.Err() != nil { // which of two calls people are asked about is no chance
		return nil, contract.ErrEnded
	}
	r.mu.Lock()
	if no = r.book.taken(c, &r.identity); no == nil {
		no = c.DecideQueued(r.bound, r.host.InForce(), a.usedLocked())
	}
	r.mu.Unlock()
	for placed := false; no == nil && !placed; {
		if no = a.checkApproval(ctx); no == nil {
			r.mu.Lock()
			placed, no = r.powers.Use(&c.Request, func() bool { return c.RuleOfTwo == "" })
			r.mu.Unlock()
		}
	}
	return no, nil
}

// awaitPlace is takePlace without the decision.
func (a queuedAttempt) awaitPlace(ctx context.Context) (*binding.Refusal, error) {
	r, c := a.run, a.c
	wait, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	if r.ended {
		cancel(errRun)
	}
	if c.Place.Waits {
		c.State, c.Cancel = callQueued, cancel
		r.emitCallLocked(c, callStateQueued, "")
	}
	r.promoteLocked() // a call of a pause may have kept the others waiting
	r.mu.Unlock()
	r.pauseIfWaiting()
	select {
	case <-c.Place.Given:
	case <-wait.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Cancel = nil
	if c.Place.Has {
		return nil, nil
	}
	if r.isStoppingLocked() && errors.Is(context.Cause(wait), executors.ErrPaused) {
		c.State = callLeft
		return nil, executors.ErrPaused
	}
	c.State = callAdmitted
	r.book.dequeue(c)
	if r.ended || ctx.Err() != nil {
		return nil, contract.ErrEnded
	}
	if no := r.book.taken(c, &r.identity); no != nil {
		return no, nil
	}
	if _, no := c.StillGranted(r.bound, r.host.InForce()); no != nil {
		return no, nil
	}
	return &binding.Refusal{Name: profiles.ErrorCapabilityRevoked, Text: binding.TextRevoked,
		Decision: c.Deny(r.bound, profiles.CodeBridgeRevoked, "it was not granted for a moment while it waited")}, nil
}
