package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// pauseIfWaiting asks the executor to stop the program if the guest waits and only people
// or the harness can let it go on. If this host keeps no pauses, the run ends.
func (r *Run) pauseIfWaiting() {
	r.mu.Lock()
	stops := r.phase == phaseRunning && !r.ended && r.book.waitsOutside()
	kept := r.host.Keeper != nil
	if stops && kept {
		r.setPhaseLocked(phasePausing)
		r.host.Turns.Take(r, func() { r.asking <- struct{}{} }) // has room: one phase, one value
	}
	r.mu.Unlock()
	if stops && !kept {
		r.end(ending{State: executors.StateFailed, Name: namePauseUnavailable,
			Text: "the run has to wait, and this host keeps no pauses"})
	}
}

// namePauseUnavailable is the name of the error of a run whose pause cannot be kept.
const namePauseUnavailable = "PauseUnavailable"

// pausing keeps the pause of a run whose program has stopped with an outcome. It takes the
// lock of the run itself.
type pausing struct {
	run *Run
	out executors.Outcome
}

// keep builds, records and commits the record of the pause, in this order. If the run was
// ended meanwhile, or cannot be kept, it ends.
func (p pausing) keep() {
	r := p.run
	r.point("snapshot_taken")
	r.mu.Lock()
	if r.ended || r.phase != phasePausing {
		r.mu.Unlock()
		return
	}
	r.setPhaseLocked(phaseKeeping)
	r.closeIdleLocked()
	r.mu.Unlock()
	<-r.idle
	why := p.commit()
	r.mu.Lock()
	defer r.mu.Unlock()
	if why == nil {
		r.setPhaseLocked(phasePaused)
		return
	}
	r.phase = phaseRunning // the conclusion wakes the callers that wait for a change
	r.endLocked(why)
}

// commit keeps the pause. The result says why the run ends instead; nil if it is paused.
func (p pausing) commit() *ending {
	r, out := p.run, p.out
	r.printAll(out.Console, *r.limits.OutputBytes)
	record, why := p.record()
	if why != nil {
		return why
	}
	if err := record.Check(); err != nil {
		e := closedEnding("it cannot be kept", err)
		return &e
	}
	ids := make([]string, len(record.Calls))
	for i := range record.Calls {
		ids[i] = record.Calls[i].ID
	}
	if err := r.recordClaims("", r.executor, out.Denials, out.Refused); err != nil {
		e := closedEnding("its refusals could not be recorded", err)
		return &e
	}
	rec := r.Record(contract.RunPaused)
	rec.State = string(executors.StatePaused)
	rec.Detail = map[string]string{"seq": strconv.FormatInt(record.Seq, 10),
		"calls": jsonvalue.Clip(fmt.Sprint(ids), 1<<10)}
	maps.Copy(rec.Detail, contract.Attested(record.Attestation))
	if err := r.Put(rec, contract.Synced); err != nil {
		e := closedEnding("a pause could not be recorded", err)
		return &e
	}
	r.point("pause_recorded")
	v := p.view(&record)
	if err := r.journal.Pause(record, v); err != nil {
		return &ending{State: executors.StateFailed, Name: namePauseUnavailable,
			Text: "the run was closed: its pause could not be kept", Fault: err.Error()}
	}
	r.point("pause_kept")
	r.mu.Lock()
	r.final = &v
	r.mu.Unlock()
	r.host.Rested(r, &record)
	return nil
}

// view returns the run as its pause leaves it.
func (p pausing) view(record *pause.Record) contract.View {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	v := p.run.viewLocked()
	v.State, v.LastEvent, v.Attestation = executors.StatePaused, record.LastEvent, record.Attestation
	calls := v.Usage.Calls
	v.Usage = record.Usage
	v.Usage.Calls = calls
	return v
}

// record builds the record of the pause. The policies that were in force while the run
// waited bind it from then on.
func (p pausing) record() (pause.Record, *ending) {
	r, out := p.run, p.out
	g := r.host.InForce()
	policies, err := r.bound.RecordProfiles(g)
	if err != nil {
		return pause.Record{}, &ending{State: executors.StateDenied, Name: profiles.ErrorCapabilityRevoked,
			Text: err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range out.Denials {
		r.denyLocked(d)
	}
	r.denials.Beyond(out.Refused)
	now := r.host.Now()
	record := pause.Record{
		Subject: pause.Subject{Run: r.id, Actor: r.actor, Agent: r.agent, Executor: r.executor, Program: r.program,
			Parent: r.family.parent, Root: r.family.root, Depth: r.family.depth, Session: r.session},
		Timing: pause.Timing{Seq: 1, Started: r.started, Paused: now},
		Engine: out.Engine, Snapshot: out.Snapshot,
		Policies: pause.Policies{Profiles: policies, Handed: r.bound.Handed(), Revoked: r.book.revokedList()},
		LastCall: r.book.lastNumber(), Order: r.book.order,
		Spending: pause.Spending{Usage: r.from.Plus(out.Usage, nil), Spent: maps.Clone(r.book.spent.Calls),
			Refused: r.book.spent.Refused, Spawned: r.family.tree.Total()},
		Acts: r.book.acts.Clone(), Touched: r.powers.MarkPaused(),
		Output: pause.Output{Console: slices.Clone(r.feed.Console), Printed: r.feed.Printed,
			Dropped: r.feed.Dropped + out.Dropped, Denials: slices.Clone(r.denials.List), DenialsMore: r.denials.More,
			LastEvent: r.feed.Last + 1},
		Attestation: out.Attestation,
	}
	r.feed.Dropped = record.Dropped
	if r.from != nil {
		record.Seq = r.from.Seq + 1
	}
	for _, c := range r.book.left() {
		_, no := c.StillGranted(r.bound, g)
		kept := c.Keep(no != nil || r.book.taken(c, &r.identity) != nil)
		if c.Place.Waits {
			record.Queued = append(record.Queued, kept)
		} else {
			record.Calls = append(record.Calls, kept)
		}
	}
	record.Expires, record.Approval = r.bound.Expiry(&record, now, g)
	return record, nil
}

// staysPaused reports whether a resumed run did not begin, because its snapshot could not
// be restored or no guest could be started for it. Then no call was settled, and the pause
// stays valid: the run is paused again.
func (p pausing) staysPaused(err error) bool {
	r := p.run
	if r.from == nil || err == nil || errors.Is(err, errPanicked) {
		return false
	}
	r.mu.Lock()
	if r.ended || r.phase != phaseRunning || !r.book.allLeft() {
		r.mu.Unlock()
		return false
	}
	r.setPhaseLocked(phaseKeeping)
	r.closeIdleLocked()
	r.mu.Unlock()
	rec := r.Record(contract.RunPaused)
	rec.State, rec.Fault = string(executors.StatePaused), jsonvalue.Clip(err.Error(), maxFault)
	rec.Detail = map[string]string{"seq": strconv.FormatInt(r.from.Seq, 10), "resumed": "no"}
	_ = r.Put(rec, contract.Synced) // nothing has happened: the pause is valid, recorded or not
	v := p.view(r.from)
	r.host.Rested(r, r.from)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.final = &v
	r.err = fmt.Errorf("resume run %s: %w", r.id, err)
	r.setPhaseLocked(phasePaused)
	return true
}
