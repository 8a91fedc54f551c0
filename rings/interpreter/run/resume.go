package run

import (
	"fmt"
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Restore makes a run of a pause. It is not live yet.
func Restore(h *Host, p *pause.Record) (*Run, error) {
	bound, err := binding.Rebind(p, h.InForce())
	if err != nil {
		return nil, err
	}
	r := New(h, Subject{ID: p.Run, Actor: p.Actor, Agent: p.Agent, Executor: p.Executor, Program: p.Program,
		Parent: p.Parent, Session: p.Session})
	r.Bind(bound)
	r.started = p.Started
	r.family.root, r.family.depth, r.family.tree = p.Root, p.Depth, budget.NewTree(p.Spawned)
	r.powers.Restore(p.Touched)
	r.feed = eventFeed{Console: p.Console[:len(p.Console):len(p.Console)], Printed: p.Printed, Dropped: p.Dropped,
		Last: p.LastEvent}
	r.denials = profiles.Refusals{List: slices.Clone(p.Denials), More: p.DenialsMore}
	if err := r.book.restore(p, bound); err != nil {
		return nil, err
	}
	return r, nil
}

// Resumption is a restored run that is about to go on from its pause. It is used by one
// goroutine, before the run is live.
type Resumption struct{ *Run }

// Resume prepares the run to continue from the pause p. Each open call gets its settlement. If an open call has
// no settlement or several, the error is ErrUnsettled.
func (r *Run) Resume(p *pause.Record, settled []contract.Settlement) (Resumption, error) {
	r.from = p
	for i := range settled {
		s := &settled[i]
		c := r.book.calls[s.Call]
		if c == nil || c.Settled != nil || c.Place.Waits {
			return Resumption{}, fmt.Errorf("call %s is not open, or settled twice: %w",
				jsonvalue.Clip(s.Call, 40), contract.ErrUnsettled)
		}
		c.Settled = s
	}
	for _, c := range r.book.calls {
		s := c.Settled
		if c.Place.Waits && s == nil {
			continue
		}
		if s == nil || s.Value == nil && s.Error == nil && !s.Approved && !s.Denied && s.Result == nil {
			return Resumption{}, fmt.Errorf("call %s: %w", c.ID, contract.ErrUnsettled)
		}
		if c.Harness && s.Value == nil && s.Error == nil && !s.Denied && s.Result == nil {
			return Resumption{}, fmt.Errorf("call %s is approved and has no answer: %w", c.ID, contract.ErrUnsettled)
		}
	}
	return Resumption{r}, nil
}

// CheckProviders refuses to go on on host h if an approved call could not begin there: the
// program would lose its approval. A call that is no longer granted needs no provider, as
// its program gets an error. The error is a *contract.UnprovidedError.
func (r Resumption) CheckProviders(h binding.Host) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lacks *contract.UnprovidedError
	bound, g := r.bound.OnHost(h), r.host.InForce()
	for i := range r.from.Calls { // in the order of the record
		c := r.book.calls[r.from.Calls[i].ID]
		if s := c.Settled; c.Harness || c.IsAct() || s.Denied || s.Result != nil {
			continue
		}
		err := contract.Ready(r.attempt(c).provider())
		if err == nil || r.book.taken(c, &r.identity) != nil {
			continue
		}
		if _, no := c.StillGranted(bound, g); no != nil {
			continue
		}
		if lacks == nil {
			lacks = &contract.UnprovidedError{Call: c.ID, Err: err}
		}
		if !slices.Contains(lacks.Bridges, c.Bridge) {
			lacks.Bridges = append(lacks.Bridges, c.Bridge)
		}
	}
	if lacks == nil {
		return nil
	}
	return lacks
}

// Admit decides whether the run may go on under g. An error says that it may not now, a
// decision that it never may.
func (r Resumption) Admit(g *binding.Generation, h binding.Host) (never *profiles.Decision, err error) {
	d := g.Start(r.agent, h)
	if d == nil {
		d = r.bound.Tier(h)
	}
	switch {
	case d == nil:
		r.bound, r.limits = r.bound.OnHost(h), r.bound.Limits(g)
		return nil, nil
	case d.Code == profiles.CodeUnknownAgent || d.Code == profiles.CodeExecutorNotGranted:
		return d, nil
	default:
		return nil, &profiles.Denial{Capability: "executor:" + r.executor, Decision: *d}
	}
}

// Deny ends a run that may never go on.
func (r Resumption) Deny(d profiles.Decision) {
	r.mu.Lock()
	r.denyLocked(d)
	r.mu.Unlock()
	r.end(ending{State: executors.StateDenied, Name: profiles.ErrorCapabilityRevoked, Text: d.Reason})
	(&conclusion{run: r.Run}).conclude()
}

// Execution returns what the executor goes on with under g, the generation in force.
func (r Resumption) Execution(g *binding.Generation) executors.Run {
	profile := r.bound.Agent(g)
	resume := &executors.Resume{Engine: r.from.Engine, Snapshot: r.from.Snapshot, Used: r.from.Usage}
	for i := range r.from.Calls {
		resume.Open = append(resume.Open, questionOf(&r.from.Calls[i]))
	}
	for i := range r.from.Queued {
		resume.Open = append(resume.Open, questionOf(&r.from.Queued[i]))
	}
	taken := func(grant string) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.book.revoked[grant]
	}
	return executors.Run{Agent: &profile, Modules: r.bound.Modules(g, taken), Program: r.program, Resume: resume}
}
