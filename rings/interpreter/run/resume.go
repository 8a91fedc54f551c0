package run

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Restore makes a run of a pause that is not live yet.
func Restore(h *Host, p *pause.Record) (*Run, error) {
	bound, err := binding.Rebind(p, h.InForce())
	if err != nil {
		return nil, err
	}
	run := New(h, p.Run, p.Actor, p.Agent, p.Executor)
	run.Bind(bound)
	run.program, run.parent, run.session, run.started = p.Program, p.Parent, p.Session, p.Started
	run.root, run.depth, run.floor, run.order = p.Root, p.Depth, p.LastCall, p.Order
	run.tree = budget.NewTree(p.Spawned)
	run.two.Restore(p.Touched)
	run.feed = Feed{Console: p.Console[:len(p.Console):len(p.Console)], Printed: p.Printed, Dropped: p.Dropped, Last: p.LastEvent}
	run.denials = profiles.Refusals{List: slices.Clone(p.Denials), More: p.DenialsMore}
	run.spent.Refused, run.acts = p.Refused, p.Acts.Clone()
	maps.Copy(run.spent.Calls, p.Spent)
	for _, g := range p.Revoked {
		run.revoked[g] = true
	}
	for i := range p.Calls {
		k := &p.Calls[i]
		c, err := keptCall[*Run](k)
		if err != nil {
			return nil, err
		}
		c.Rebind(bound)
		run.calls[c.ID] = c
		run.spent.Open[c.Bridge]++
	}
	return run, nil
}

// GoOn makes the run one that goes on from p. It gives each open call its
// settlement: exactly one, or the error is ErrUnsettled.
func (r *Run) GoOn(p *pause.Record, settled []contract.Settlement) error {
	r.from = p
	for i := range settled {
		s := &settled[i]
		c := r.calls[s.Call]
		if c == nil || c.Settled != nil {
			return fmt.Errorf("call %s is not open, or settled twice: %w", jsonvalue.Clip(s.Call, 40), contract.ErrUnsettled)
		}
		c.Settled = s
	}
	for _, c := range r.calls {
		s := c.Settled
		if s == nil || s.Value == nil && s.Error == nil && !s.Approved && !s.Denied && s.Result == nil {
			return fmt.Errorf("call %s: %w", c.ID, contract.ErrUnsettled)
		}
		if c.Harness && s.Value == nil && s.Error == nil && !s.Denied && s.Result == nil {
			return fmt.Errorf("call %s is approved and has no answer: %w", c.ID, contract.ErrUnsettled)
		}
	}
	return nil
}

// Provided refuses to go on on host h when an approved call could not begin there: the
// program would lose its approval. A call that is no longer granted needs no provider:
// the program is told that it was revoked. The error is a *contract.UnprovidedError.
func (r *Run) Provided(h binding.Host) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lacks *contract.UnprovidedError
	bound, g := r.bound.On(h), r.host.InForce()
	for i := range r.from.Calls { // in the order of the record
		c := r.calls[r.from.Calls[i].ID]
		if s := c.Settled; c.Harness || c.IsAct() || s.Denied || s.Result != nil {
			continue
		}
		err := contract.Ready(r.provider(c))
		if err == nil || r.takenLocked(c) != nil {
			continue
		}
		if _, no := c.Still(bound, g); no != nil {
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

// MayGoOn decides whether the run may go on under g. An error says that it may
// not now, a decision that it may never.
func (r *Run) MayGoOn(g *binding.Generation, h binding.Host) (*profiles.Decision, error) {
	d := g.Start(r.agentName, h)
	if d == nil {
		d = r.bound.Tier(h)
	}
	switch {
	case d == nil:
		r.bound, r.limits = r.bound.On(h), r.bound.Limits(g)
		return nil, nil
	case d.Code == profiles.CodeUnknownAgent || d.Code == profiles.CodeExecutorNotGranted:
		return d, nil
	default:
		return nil, &profiles.Denial{Capability: "executor:" + r.executor, Decision: *d}
	}
}

// Refuse ends a run that may never go on.
func (r *Run) Refuse(d profiles.Decision) {
	r.mu.Lock()
	r.denyLocked(d)
	r.mu.Unlock()
	r.end(ending{State: executors.StateDenied, Name: profiles.ErrorCapabilityRevoked, Text: d.Reason})
	r.conclude(executors.Outcome{}, nil)
}

// First is what the executor begins with: the program, in the state of a session
// when there is one.
func (r *Run) First(g *binding.Generation, inputs map[string]json.RawMessage, s *contract.SessionState) executors.Run {
	profile := r.bound.Agent(nil)
	run := executors.Run{Agent: &profile, Grants: r.bound.Handed(), Modules: g.Modules, Program: r.program, Inputs: inputs}
	if s != nil {
		run.Resume = &executors.Resume{Engine: s.Engine, Snapshot: s.Snapshot, Session: true}
	}
	return run
}

// Resumed is what the executor goes on with under g, the generation in force.
func (r *Run) Resumed(g *binding.Generation) executors.Run {
	profile := r.bound.Agent(g)
	resume := &executors.Resume{Engine: r.from.Engine, Snapshot: r.from.Snapshot, Used: r.from.Usage}
	for i := range r.from.Calls {
		resume.Open = append(resume.Open, questionOf(&r.from.Calls[i]))
	}
	taken := func(grant string) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.revoked[grant]
	}
	return executors.Run{Agent: &profile, Modules: r.bound.Modules(g, taken),
		Program: r.program, Resume: resume}
}

// askAgain settles a call that was open at the pause.
func (r *Run) askAgain(ctx context.Context, c *call) (executors.Answer, error) {
	s := c.Settled
	switch {
	case s.Result != nil && c.IsAct() && s.Result.End == contract.CallDone:
		c.Journaled = false // its end is there: the guest is told once more, if it still may
	case s.Result != nil:
		return r.replay(c, *s.Result)
	case s.Again && !contract.IsIdempotent(r.provider(c)):
		return r.giveUp(c)
	case s.Denied:
		return r.finish(c, deniedResult(s.Reason))
	}
	if s.Approved {
		r.mu.Lock()
		c.Approved, c.By = true, s.By
		r.mu.Unlock()
		if no, err := r.two.Approved(&c.Case); no != nil || err != nil {
			return r.unrun(c, no, err)
		}
	}
	r.weigh(ctx, c)
	r.mu.Lock()
	no := r.takenLocked(c)
	if no == nil {
		no = c.Settle(r.bound, r.host.InForce(), r.usedLocked(c))
	}
	r.mu.Unlock()
	switch {
	case no != nil:
		return r.unrun(c, no, nil)
	case !c.Harness:
		return r.perform(ctx, c)
	case s.Error != nil:
		return r.finish(c, failedByHarness(*s.Error))
	}
	value, res := r.judgeValue(c, s.Value)
	if res.Name == "" {
		res = callResult{Value: value, End: contract.CallDone}
	}
	return r.finish(c, res)
}

// replay tells the program of an end that was recorded before a crash.
func (r *Run) replay(c *call, end contract.Recorded) (executors.Answer, error) {
	if end.End == contract.CallUnknown || end.End == "" {
		return r.giveUp(c)
	}
	rec := r.callRecord(contract.CallClosed, c)
	rec.State, rec.Detail = string(end.End), map[string]string{"told": "again"}
	if end.Name != "" {
		rec.Detail["error"] = jsonvalue.Clip(end.Name, 80)
	}
	if err := r.Put(rec, contract.Written); err != nil {
		return executors.Answer{}, fmt.Errorf("record the end of call %s of run %s: %w", c.ID, r.id, err)
	}
	if end.End != contract.CallDone && end.Name == "" {
		end.Name, end.Text = profiles.ErrorBridge, "was interrupted"
	}
	r.release(c)
	r.mu.Lock()
	if profiles.IsRefusal(end.Name) {
		r.denyLocked(c.Deny(r.bound, profiles.CodeBridgeRevoked, "it was refused before the host was restarted"))
	}
	r.emitLocked(Event{Kind: EventCall, Call: &callEvent{ID: c.ID, Bridge: c.Bridge, State: "closed", Error: end.Name, Digest: c.Digest}})
	r.mu.Unlock()
	if end.Name != "" {
		return c.Refused(r.bound, end.Name, end.Text, nil)
	}
	return executors.Answer{Value: end.Value}, nil
}

// giveUp ends a run one of whose calls may have been performed, and whose result
// is lost: nobody repeats it.
func (r *Run) giveUp(c *call) (executors.Answer, error) {
	r.mu.Lock()
	r.lost = true
	r.mu.Unlock()
	r.end(ending{State: executors.StateUnknown, Name: "Unknown",
		Text: "a call may have been performed, and its result is lost (call " + c.ID + ")"})
	if _, err := r.finish(c, callResult{Name: profiles.ErrorBridge, Text: "may have been performed; its result is lost", Cut: true, End: contract.CallUnknown}); err != nil {
		return executors.Answer{}, err
	}
	return executors.Answer{}, contract.ErrEnded
}
