package run

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// provider performs the call, or is nil. An act is performed by its guest, which
// is told of it.
func (r *Run) provider(c *call) contract.Provider {
	if c.IsAct() {
		return teller{r, c}
	}
	return r.host.Provider(c.Bridge)
}

// teller tells a guest what it may do, and remembers that.
type teller struct {
	run *Run
	c   *call
}

// Idempotent is true: an act that has begun is one that a guest was told of, and a
// guest that is told again has not begun.
func (teller) Idempotent() bool { return true }

// Call gives the decision as JSON.
func (t teller) Call(context.Context, contract.Call) (json.RawMessage, error) {
	r, c := t.run, t.c
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c.Action.Exec == nil:
	case !c.Ahead:
		r.acts.Start(c.Action.Exec.Argv)
	case c.Approved:
		r.acts.Give(pause.Given{Words: c.Words(), Call: c.ID, By: c.By, Terms: *c.Terms})
	}
	return json.Marshal(c.Allowed)
}

// tell answers an act that nobody has to approve: its record is written, and the
// policy in force was looked at once more since.
func (r *Run) tell(ctx context.Context, c *call) (executors.Answer, error) {
	value, err := teller{r, c}.Call(ctx, contract.Call{})
	if err != nil {
		return executors.Answer{}, fmt.Errorf("tell the guest of call %s of run %s: %w", c.ID, r.id, err)
	}
	if err := r.settle(c, contract.Recorded{End: contract.CallDone}); err != nil {
		return executors.Answer{}, err
	}
	r.release(c)
	r.mu.Lock()
	r.calls[c.ID] = nil // its number stays taken
	r.mu.Unlock()
	return executors.Answer{Value: value}, nil
}

// goesOnBy reports whether an act is the first by which a run has an effect, or goes
// on from its pause: that is committed, so that it counts as under way from then on,
// and nobody goes on from before it.
func (r *Run) goesOnBy(c *call) bool {
	if !c.IsAct() || c.Ahead || r.from == nil && (r.executor != profiles.ExecutorShell || !c.Effect()) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.gone
}

// given is the approval that an act has already, from before its program began.
func (r *Run) given(c *call) *pause.Given {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acts.Of(c.Words())
}

// asksOf notes that people are asked of an act, or of a call that its program is held
// for.
func (r *Run) asksOf(c *call) {
	if argv, when, shown := c.Shown(); shown {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.acts.Ask(c.ID, c.Grant(), when, argv)
	}
}

// guestFor is what a guest of a provider runs under that works for a call.
func (r *Run) guestFor(c *call) func(executor string) (executors.Run, bool) {
	return func(executor string) (executors.Run, bool) {
		r.mu.Lock()
		over := r.ended || c.State != callActing
		r.mu.Unlock()
		a, l, ok := r.bound.Guest(r.host.InForce(), executor)
		if !ok || over {
			return executors.Run{}, false
		}
		seed := sha256.Sum256(append(r.seed[:], c.ID...))
		return executors.Run{ID: r.id, Actor: r.actor, Agent: &a, Revision: r.bound.First().Revision, Limits: l, Seed: seed}, true
	}
}

// actFor decides what the guest of a provider wants to do that works for a call.
func (r *Run) actFor(parent *call) func(context.Context, executors.Question) (executors.Answer, error) {
	return func(ctx context.Context, q executors.Question) (ans executors.Answer, err error) {
		if q.Action == nil {
			return executors.Answer{}, errors.New("not an act")
		}
		r.mu.Lock()
		if r.ended || r.phase != running || parent.State != callActing {
			r.mu.Unlock()
			return executors.Answer{}, contract.ErrEnded
		}
		q.Call = parent.Nested()
		r.calls[q.Call] = nil // reserved
		r.busy++
		r.mu.Unlock()
		err = errPanicked
		defer func() { r.leave(q.Call, err) }()
		c := newOpenCall[*Run](q)
		c.Held, c.Holder = true, parent.Holder
		ans, err = r.ask(ctx, q, c)
		return ans, err
	}
}
