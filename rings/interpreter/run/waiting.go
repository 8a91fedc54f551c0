package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// wait notes that the guest can do nothing before one of the open calls.
func (r *Run) wait(open []string) {
	r.mu.Lock()
	r.waiting = slices.Clone(open)
	r.mu.Unlock()
	r.pause()
}

// pause asks the executor to stop the program once the guest waits and nothing
// but an approver or the harness can move it. A run that nobody would keep ends.
func (r *Run) pause() {
	r.mu.Lock()
	stops := r.phase == running && r.waitsLocked()
	kept := r.host.Keeper != nil
	if stops && kept {
		r.shiftLocked(pausing)
		r.host.Turns.Take(r, func() { r.asking <- struct{}{} }) // has room: one phase, one value
	}
	r.mu.Unlock()
	if stops && !kept {
		r.end(ending{State: executors.StateFailed, Name: "PauseUnavailable", Text: "the run has to wait, and this host keeps no pauses"})
	}
}

// waitsLocked reports whether every call that the guest waits on, and every
// other open one, waits for somebody outside.
func (r *Run) waitsLocked() bool {
	if r.ended || len(r.waiting) == 0 {
		return false
	}
	for _, id := range r.waiting {
		if c := r.calls[id]; c == nil || c.State != callPending || c.Held {
			return false
		}
	}
	for _, c := range r.calls {
		if c != nil && c.State != callPending && c.State != callClosed {
			return false
		}
	}
	return true
}

// keepPause keeps a run whose program has stopped: the record of the pause is
// built, recorded and committed, in this order. A run that was ended meanwhile, or
// that cannot be kept, ends.
func (r *Run) keepPause(out executors.Outcome) (executors.Outcome, error) {
	r.point("snapshot_taken")
	r.mu.Lock()
	if r.ended || r.phase != pausing {
		r.mu.Unlock()
		return out, nil
	}
	r.shiftLocked(keeping)
	r.quietLocked()
	r.mu.Unlock()
	<-r.idle
	why := r.commitPause(out)
	r.mu.Lock()
	defer r.mu.Unlock()
	if why == nil {
		r.shiftLocked(over)
		return out, nil
	}
	r.phase = running // conclude tells who waits
	r.endLocked(why)
	return out, nil
}

// commitPause keeps the pause, or says why the run ends instead.
func (r *Run) commitPause(out executors.Outcome) *ending {
	r.printAll(out.Console)
	p, why := r.pauseOf(out)
	if why != nil {
		return why
	}
	if err := p.Check(); err != nil {
		e := closedEnding("it cannot be kept", err)
		return &e
	}
	ids := make([]string, len(p.Calls))
	for i := range p.Calls {
		ids[i] = p.Calls[i].ID
	}
	if err := r.recordClaims("", r.executor, out.Denials, out.Refused); err != nil {
		e := closedEnding("what it was refused could not be recorded", err)
		return &e
	}
	rec := r.Record(contract.RunPaused)
	rec.State = string(executors.StatePaused)
	rec.Detail = map[string]string{"seq": strconv.FormatInt(p.Seq, 10), "calls": jsonvalue.Clip(fmt.Sprint(ids), 1<<10)}
	maps.Copy(rec.Detail, contract.Attested(p.Attestation))
	if err := r.Put(rec, contract.Synced); err != nil {
		e := closedEnding("a pause could not be recorded", err)
		return &e
	}
	r.point("pause_recorded")
	v := r.viewOf(&p)
	if err := r.kept.Pause(p, v); err != nil {
		return &ending{State: executors.StateFailed, Name: "PauseUnavailable",
			Text: "the run was closed: its pause could not be kept", Fault: err.Error()}
	}
	r.point("pause_kept")
	r.mu.Lock()
	r.final = &v
	r.mu.Unlock()
	r.host.Rested(r, &p)
	return nil
}

// viewOf is a run as its pause leaves it.
func (r *Run) viewOf(p *pause.Record) contract.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.viewLocked()
	v.State, v.LastEvent, v.Attestation = executors.StatePaused, p.LastEvent, p.Attestation
	calls := v.Usage.Calls
	v.Usage = p.Usage
	v.Usage.Calls = calls
	return v
}

// pauseOf builds the record of a pause. Policies that were in force while the run
// waited bind it from then on.
func (r *Run) pauseOf(out executors.Outcome) (pause.Record, *ending) {
	g := r.host.InForce()
	recorded, err := r.bound.Record(g)
	if err != nil {
		return pause.Record{}, &ending{State: executors.StateDenied, Name: profiles.ErrorCapabilityRevoked, Text: err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range out.Denials {
		r.denyLocked(d)
	}
	r.denials.Beyond(out.Refused)
	now := r.host.Now()
	p := pause.Record{
		Run: r.id, Actor: r.actor, Agent: r.agentName, Executor: r.executor, Program: r.program, Parent: r.parent,
		Depth: r.depth, Session: r.session, Seq: 1, Started: r.started, Paused: now,
		Engine: out.Engine, Snapshot: out.Snapshot, Profiles: recorded, Handed: r.bound.Handed(), Revoked: r.revokedLocked(),
		LastCall: r.floor, Order: r.order, Usage: r.from.Plus(out.Usage, nil),
		Acts: r.acts.Clone(), Spent: maps.Clone(r.spent.Calls), Refused: r.spent.Refused, Spawned: r.tree.Total(), Root: r.root,
		Touched: r.two.Park(),
		Console: slices.Clone(r.feed.Console), Printed: r.feed.Printed, Dropped: r.feed.Dropped + out.Dropped,
		Denials: slices.Clone(r.denials.List), DenialsMore: r.denials.More, LastEvent: r.feed.Last + 1, Attestation: out.Attestation,
	}
	r.feed.Dropped = p.Dropped
	if r.from != nil {
		p.Seq = r.from.Seq + 1
	}
	for id, c := range r.calls {
		if n, ok := pause.Number(id); ok {
			p.LastCall = max(p.LastCall, n)
		}
		if c != nil && c.State == callLeft {
			p.Calls = append(p.Calls, r.callOf(g, c))
		}
	}
	slices.SortFunc(p.Calls, func(a, b pause.Call) int { return a.N - b.N })
	p.Expires, p.Approval = r.bound.Expiry(&p, now, g)
	return p, nil
}

// callOf is an open call in a pause.
func (r *Run) callOf(g *binding.Generation, c *call) pause.Call {
	_, no := c.Still(r.bound, g)
	return c.Keep(no != nil || r.takenLocked(c) != nil)
}

// closeLeft closes the calls whose questions went with a guest that was stopped,
// of a run that ended all the same.
func (r *Run) closeLeft() error {
	r.mu.Lock()
	var left []*call
	for _, c := range r.calls {
		if c != nil && c.State == callLeft {
			left = append(left, c)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(left, func(a, b *call) int { return a.N - b.N })
	var errs []error
	for _, c := range left {
		if c.Settled != nil && c.Settled.Result != nil {
			continue // its end was kept before
		}
		res := callResult{Name: profiles.ErrorBridge, Text: "was interrupted", Cut: true, End: contract.CallUnrun}
		if c.Settled != nil && c.Settled.Again {
			res.End = contract.CallUnknown
		}
		if _, err := r.finish(c, res); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// unbegun reports whether a resumed run did not begin, because its snapshot could
// not be restored or no guest could be had for it: then nothing was settled, and
// the pause stands.
func (r *Run) unbegun(err error) bool {
	if r.from == nil || err == nil || errors.Is(err, errPanicked) {
		return false
	}
	r.mu.Lock()
	untouched := !r.ended && r.phase == running
	for _, c := range r.calls {
		untouched = untouched && c != nil && c.State == callLeft
	}
	if !untouched {
		r.mu.Unlock()
		return false
	}
	r.shiftLocked(keeping)
	r.quietLocked()
	r.mu.Unlock()
	rec := r.Record(contract.RunPaused)
	rec.State, rec.Fault = string(executors.StatePaused), jsonvalue.Clip(err.Error(), maxFault)
	rec.Detail = map[string]string{"seq": strconv.FormatInt(r.from.Seq, 10), "resumed": "no"}
	_ = r.Put(rec, contract.Synced) // nothing has happened: the pause stands, recorded or not
	v := r.viewOf(r.from)
	r.host.Rested(r, r.from)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.final = &v
	r.err = fmt.Errorf("resume run %s: %w", r.id, err)
	r.shiftLocked(over)
	return true
}
