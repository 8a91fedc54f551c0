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

// runTable owns the live runs of this process, and the queue of answered runs that wait for a place among
// them. No other code locks mu. It is safe for concurrent use.
type runTable struct {
	cfg     *Config
	policy  *policy.State
	waiters *waiters

	mu        sync.Mutex
	live      map[string]*liveRun
	perActor  map[string]int
	draining  bool // new runs are refused
	drainedAt time.Time
	healing   bool          // audit log and store are being reopened: nothing starts
	low       *outage       // why the disk has too little room for new runs; nil if it has enough
	settled   chan struct{} // closed and replaced when a live run ends
	queue     []pausedRun   // queue of answered runs to resume
	resuming  int           // number of runs that are being claimed and opened

	resumable chan struct{} // wakes the loop of runResumes
}

func newRunTable(cfg *Config, w *waiters) *runTable {
	return &runTable{cfg: cfg, waiters: w, live: map[string]*liveRun{}, perActor: map[string]int{},
		settled: make(chan struct{}), resumable: make(chan struct{}, 1)}
}

// pausedRun is an answered run that waits to be resumed.
type pausedRun struct {
	id, actor string
	by        string             // actor whose answer or request made it possible
	refusedBy *policy.Generation // the generation that refused it; nil if none has
}

// tableState is a snapshot of the table for the status.
type tableState struct {
	live      int
	draining  bool
	drainedAt time.Time
	low       *outage
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

// setHealing sets whether the audit log and the store are being reopened. While it is set, no run starts.
func (d *runTable) setHealing(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.healing = on
}

// updateRoom replaces the reason why the disk has too little space. why gets the previous reason and returns
// the new one, or "" if the disk has enough space. updateRoom returns both states.
func (d *runTable) updateRoom(why func(was *outage) string) (was, now *outage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was = d.low
	d.low = nil
	if text := why(was); text != "" {
		d.low = &outage{since: d.cfg.Clock.Now(), why: text}
		if was != nil {
			d.low.since = was.since
		}
	}
	return was, d.low
}

// guest returns the executor and the handle of a run. The handle is nil before the run has begun.
func (d *runTable) guest(r *liveRun) (handle Live, executor string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return r.handle, r.executor
}

// setHandle sets the handle of a run and wakes the callers that wait for it.
func (d *runTable) setHandle(r *liveRun, handle Live) {
	d.mu.Lock()
	r.handle = handle
	d.mu.Unlock()
	close(r.ready)
}

// describe copies what the store knows of a resumed run.
func (d *runTable) describe(r *liveRun, row store.Run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.executor, r.created = row.Executor, row.Created
}

// arm sets the functions that stop a resumed run. It reports whether a stop was requested before.
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
	d.queue = append(d.queue, w)
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
	d.queue = slices.DeleteFunc(d.queue, func(w pausedRun) bool { return w.id == row.ID })
	return d.placeLocked(row.ID, row.Actor), nil
}

// waitIdle waits until no run is live, or ctx ends, and returns the number of live runs.
func (d *runTable) waitIdle(ctx context.Context) int {
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

// refuseNew makes the table refuse new runs.
func (d *runTable) refuseNew() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.draining {
		d.draining, d.drainedAt = true, d.cfg.Clock.Now()
	}
}

// stopAll stops the live runs of an executor, or all live runs if executor is empty.
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

// enqueue queues an answered run, which is resumed as soon as there is a place for it.
func (d *runTable) enqueue(id, actor, by string) {
	d.mu.Lock()
	if !slices.ContainsFunc(d.queue, func(w pausedRun) bool { return w.id == id }) {
		d.queue = append(d.queue, pausedRun{id: id, actor: actor, by: by})
	}
	d.mu.Unlock()
	d.wakeResumes()
}

// wakeResumes wakes the loop of runResumes.
func (d *runTable) wakeResumes() {
	select {
	case d.resumable <- struct{}{}:
	default:
	}
}

// dequeue gives a place among the live runs to the first queued run that may be resumed.
func (d *runTable) dequeue() (pausedRun, *liveRun) {
	g := d.policy.InForce()
	d.mu.Lock()
	defer d.mu.Unlock()
	if g == nil || d.cfg.Still || d.draining || d.healing || d.low != nil || d.cfg.Lock.State() != nil ||
		d.resuming >= maxResumes ||
		d.cfg.Recorder.Err() != nil {
		return pausedRun{}, nil
	}
	for i, w := range d.queue {
		if w.refusedBy == g || d.live[w.id] != nil || d.roomLocked(w.actor) != nil {
			continue
		}
		d.queue = slices.Delete(d.queue, i, i+1)
		d.resuming++
		return w, d.placeLocked(w.id, w.actor)
	}
	return pausedRun{}, nil
}

// releaseResume releases the slot of one resume; see maxResumes.
func (d *runTable) releaseResume() {
	d.mu.Lock()
	d.resuming--
	d.mu.Unlock()
	d.wakeResumes()
}

// lowLocked returns the refusal of new runs while the disk is nearly full, else nil.
func (d *runTable) lowLocked() error {
	if d.low == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrDiskLow, d.low.why)
}

// admit gives r a place among the live runs.
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
		return locked // Close takes mu later, and then stops every run that has a place
	}
	if err := d.roomLocked(r.actor); err != nil {
		return err
	}
	d.liveLocked(r)
	return nil
}

// roomLocked returns why there is no place for one more live run of actor, or nil.
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

// placeLocked adds a live run that is to be resumed.
func (d *runTable) placeLocked(id, actor string) *liveRun {
	r := &liveRun{id: id, actor: actor, resumed: true, created: d.cfg.Clock.Now(), stop: func() {},
		done: make(chan struct{}), ready: make(chan struct{})}
	d.liveLocked(r)
	return r
}

// occupy keeps a waiting run from being resumed until vacate. It returns nil if the run is live.
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
	d.wakeResumes()
}

// halt stops a run. If the run is being resumed and cannot be stopped yet, arm reports the stop later.
func (d *runTable) halt(r *liveRun) {
	d.mu.Lock()
	r.stopped = true
	stop := r.stop
	d.mu.Unlock()
	stop()
}

// drop removes r from the live runs and wakes the callers that wait for it.
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
	d.waiters.Wake(r.id)
	d.wakeResumes()
}

// liveRun returns a live run that actor may see, and its handle. The handle is nil if the run has not begun.
// A run that no caller has seen yet is not returned.
func (d *runTable) liveRun(actor Actor, id string) (*liveRun, Live) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.live[id]
	if r == nil || !actor.sees(r.actor) || r.handle == nil && !r.resumed {
		return nil, nil
	}
	return r, r.handle
}
