package daemon

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
)

// runTable owns the runs that live in this process, and the queue of answered runs that wait for a
// place among them. No other code locks mu. It is safe for concurrent use.
type runTable struct {
	cfg    *Config
	policy *policy.State
	turns  *turns

	mu        sync.Mutex
	live      map[string]*liveRun
	perActor  map[string]int
	draining  bool // no new runs
	drainedAt time.Time
	healing   bool          // audit log and store are being reopened: nothing starts
	low       *low          // why the disk has too little room for new runs; nil if it has enough
	settled   chan struct{} // closed and replaced when a live run ends
	line      []pausedRun   // answered runs to resume, in order
	resuming  int           // number of runs that are being claimed and opened

	resumable chan struct{} // wakes the loop of runResumes
}

func newRunTable(cfg *Config, turns *turns) *runTable {
	return &runTable{cfg: cfg, turns: turns, live: map[string]*liveRun{}, perActor: map[string]int{},
		settled: make(chan struct{}), resumable: make(chan struct{}, 1)}
}

// pausedRun is an answered run that waits to be resumed.
type pausedRun struct {
	id, actor string
	by        string             // actor whose answer or request made it possible
	not       *policy.Generation // the generation that refused it; nil if none has
}

// tableState is a snapshot of the table for the status.
type tableState struct {
	live      int
	draining  bool
	drainedAt time.Time
	low       *low
}

func (d *runTable) state() tableState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return tableState{live: len(d.live), draining: d.draining, drainedAt: d.drainedAt, low: d.low}
}

func (d *runTable) isHealing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.healing
}

// setHealing says that audit log and store are being reopened: until it is reset, no run starts.
func (d *runTable) setHealing(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.healing = on
}

// updateRoom replaces the reason why the disk has too little room. why gets the reason before, and
// returns an empty text if the disk has enough. updateRoom returns the states before and after.
func (d *runTable) updateRoom(why func(was *low) string) (was, now *low) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was = d.low
	d.low = nil
	if text := why(was); text != "" {
		d.low = &low{since: d.cfg.Clock.Now(), why: text}
		if was != nil {
			d.low.since = was.since
		}
	}
	return was, d.low
}

// guest returns the handle of a run, nil before it has begun, and its executor.
func (d *runTable) guest(r *liveRun) (handle Live, executor string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return r.handle, r.executor
}

// begun sets the handle of a run, and wakes the callers that wait for it.
func (d *runTable) begun(r *liveRun, handle Live) {
	d.mu.Lock()
	r.handle = handle
	d.mu.Unlock()
	close(r.ready)
}

// describe sets what the store knows of a run that is resumed.
func (d *runTable) describe(r *liveRun, row store.Run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.executor, r.created = row.Executor, row.Created
}

// arm sets the means to stop a run that is resumed. It reports whether the run was told to stop
// before it had them.
func (d *runTable) arm(r *liveRun, stop context.CancelFunc, gate *records.Gate) (stopped bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.stop, r.gate = stop, gate
	return r.stopped
}

// requeue puts a run that the generation in force refused at the end of the queue.
func (d *runTable) requeue(w pausedRun) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line = append(d.line, w)
}

// claim takes an answered run out of the queue and gives it a place, on request of an actor.
func (d *runTable) claim(row store.Run) (r *liveRun, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err = d.roomLocked(row.Actor)
	switch {
	case d.draining:
		err = ErrDraining
	case d.healing:
		err = errHealing
	case d.low != nil:
		err = d.lowLocked()
	case d.cfg.Lock.State() != nil:
		err = d.cfg.Lock.Denied("run:resume", "")
	case d.live[row.ID] != nil:
		err = &store.ClaimedError{Run: row.ID, Seq: row.Seq, By: self, At: d.live[row.ID].created}
	}
	if err != nil {
		return nil, err
	}
	d.line = slices.DeleteFunc(d.line, func(w pausedRun) bool { return w.id == row.ID })
	return d.placeLocked(row.ID, row.Actor), nil
}

// idle waits until no run lives, or ctx ends, and returns how many do.
func (d *runTable) idle(ctx context.Context) int {
	for {
		d.mu.Lock()
		left, settled := len(d.live), d.settled
		d.mu.Unlock()
		if left == 0 {
			return 0
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return left
		}
	}
}

// refuse takes no new runs from now on.
func (d *runTable) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.draining {
		d.draining, d.drainedAt = true, d.cfg.Clock.Now()
	}
}

// stopAll ends the live runs of an executor; "" is all of them.
func (d *runTable) stopAll(executor string) {
	for _, r := range d.liveRuns() {
		d.mu.Lock()
		of := r.executor
		d.mu.Unlock()
		if executor == "" || of == executor {
			d.halt(r)
		}
	}
}

// cancelAll ends every live run and waits until their ends are recorded.
func (d *runTable) cancelAll() {
	runs := d.liveRuns()
	for _, r := range runs {
		d.halt(r)
	}
	for _, r := range runs {
		<-r.done
	}
}

func (d *runTable) liveRuns() []*liveRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]*liveRun, 0, len(d.live))
	for _, r := range d.live {
		out = append(out, r)
	}
	return out
}

// goOn has an answered run resumed as soon as there is a place for it.
func (d *runTable) goOn(id, actor, by string) {
	d.mu.Lock()
	if !slices.ContainsFunc(d.line, func(w pausedRun) bool { return w.id == id }) {
		d.line = append(d.line, pausedRun{id: id, actor: actor, by: by})
	}
	d.mu.Unlock()
	d.look()
}

// look makes the loop of resumes look at the line.
func (d *runTable) look() {
	select {
	case d.resumable <- struct{}{}:
	default:
	}
}

// take gives the first run in line that may go on a place among the live runs.
func (d *runTable) take() (pausedRun, *liveRun) {
	g := d.policy.InForce()
	d.mu.Lock()
	defer d.mu.Unlock()
	if g == nil || d.cfg.Still || d.draining || d.healing || d.low != nil || d.cfg.Lock.State() != nil ||
		d.resuming >= maxResumes ||
		d.cfg.Recorder.Err() != nil {
		return pausedRun{}, nil
	}
	for i, w := range d.line {
		if w.not == g || d.live[w.id] != nil || d.roomLocked(w.actor) != nil {
			continue
		}
		d.line = slices.Delete(d.line, i, i+1)
		d.resuming++
		return w, d.placeLocked(w.id, w.actor)
	}
	return pausedRun{}, nil
}

// rest gives the place of one resume back.
func (d *runTable) rest() {
	d.mu.Lock()
	d.resuming--
	d.mu.Unlock()
	d.look()
}

// lowLocked is the refusal of new runs while the disk is nearly full; nil: it has room.
func (d *runTable) lowLocked() error {
	if d.low == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrDiskLow, d.low.why)
}

// admit takes a place for r among the live runs.
func (d *runTable) admit(r *liveRun) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return ErrDraining
	}
	if d.healing {
		return errHealing
	}
	if err := d.lowLocked(); err != nil {
		return err
	}
	if locked := d.cfg.Lock.Denied("executor:"+r.executor, ""); locked != nil {
		return locked // whoever closes takes mu after it: it stops what has a place
	}
	if err := d.roomLocked(r.actor); err != nil {
		return err
	}
	d.liveLocked(r)
	return nil
}

// roomLocked says why there is no place for one more live run of actor.
func (d *runTable) roomLocked(actor string) error {
	switch {
	case len(d.live) >= d.cfg.Limits.Quota.Total:
		return fmt.Errorf("%w: %d in all", ErrQuota, d.cfg.Limits.Quota.Total)
	case d.perActor[actor] >= d.cfg.Limits.Quota.PerActor:
		return fmt.Errorf("%w: %d of one actor", ErrQuota, d.cfg.Limits.Quota.PerActor)
	}
	return nil
}

func (d *runTable) liveLocked(r *liveRun) {
	d.live[r.id] = r
	d.perActor[r.actor]++
	d.cfg.Metrics.RunStarted()
}

// placeLocked takes a place for a run that is to be resumed.
func (d *runTable) placeLocked(id, actor string) *liveRun {
	r := &liveRun{id: id, actor: actor, resumed: true, created: d.cfg.Clock.Now(), stop: func() {},
		done: make(chan struct{}), ready: make(chan struct{})}
	d.liveLocked(r)
	return r
}

// occupy keeps a run that waits from being resumed until vacate; nil when it is
// live.
func (d *runTable) occupy(id, actor string) *liveRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[id] != nil {
		return nil
	}
	r := &liveRun{
		id:      id,
		actor:   actor,
		resumed: true,
		stop:    func() {},
		done:    make(chan struct{}),
		ready:   make(chan struct{}),
	}
	d.live[id] = r
	return r
}

// vacate ends occupy.
func (d *runTable) vacate(r *liveRun) {
	d.mu.Lock()
	delete(d.live, r.id)
	settled := d.settled
	d.settled = make(chan struct{})
	d.mu.Unlock()
	close(r.ready)
	close(r.done)
	close(settled)
	d.look()
}

// halt ends a run, also one that is only about to go on: its place is taken, and
// what ends it is not there yet.
func (d *runTable) halt(r *liveRun) {
	d.mu.Lock()
	r.stopped = true
	stop := r.stop
	d.mu.Unlock()
	stop()
}

// drop gives the place of r back and ends what waits for it.
func (d *runTable) drop(r *liveRun, err error) {
	r.stop()
	d.cfg.Journal.Forget(r.id)
	state := r.final.State
	if state == "" {
		state = string(executors.StateDenied)
		if r.resumed {
			state = string(executors.StatePaused)
		}
	}
	r.err = err
	d.mu.Lock()
	delete(d.live, r.id)
	begun := r.handle != nil
	if d.perActor[r.actor]--; d.perActor[r.actor] <= 0 {
		delete(d.perActor, r.actor)
	}
	settled := d.settled
	d.settled = make(chan struct{})
	d.mu.Unlock()
	d.cfg.Metrics.RunEnded(state, d.cfg.Clock.Now().Sub(r.created))
	if !begun {
		close(r.ready)
	}
	close(r.done)
	close(settled)
	d.turns.Turn(r.id)
	d.look()
}

// liveRun returns a run that is live, if actor may see it, and its handle, which
// is nil as long as it has not begun. One that nobody was told of yet is nil.
func (d *runTable) liveRun(actor Actor, id string) (*liveRun, Live) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.live[id]
	if r == nil || !actor.sees(r.actor) || r.handle == nil && !r.resumed {
		return nil, nil
	}
	return r, r.handle
}
