package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/schema/wire"
)

// maxResumes is the number of runs that are claimed and opened at a time. Once open, they count as live.
const maxResumes = 8

// runResumes resumes answered runs: those in the queue of the table on its own, and one on request.
type runResumes struct {
	cfg     *Config
	policy  *policy.State
	table   *runTable
	waiters *waiters
	health  *recordHealth
	budgets *requestBudgets
	views   *runViews
	parents *parentHolds
	starts  *runStarts
	ends    *runEnds
}

// loop resumes runs until ctx ends. It starts with the runs that were answered when the previous process
// ended.
func (d *runResumes) loop(ctx context.Context) {
	d.queueAnswered(ctx, func(store.Fault) bool { return true })
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.table.resumable:
		}
		for w, r := d.table.dequeue(); r != nil; w, r = d.table.dequeue() {
			d.cfg.Group.Go(func() {
				defer d.table.releaseResume()
				d.resumeNext(ctx, w, r)
			})
		}
	}
}

// maxAnswered is how many answered runs are read from the store at a time.
const maxAnswered = 1000

// queueAnswered queues the answered runs of the store whose fault is accepted by may. The queue is only a hint, and
// the store is authoritative.
func (d *runResumes) queueAnswered(ctx context.Context, may func(store.Fault) bool) {
	for skip := 0; ; skip += maxAnswered {
		left, err := d.cfg.Store.Answered(ctx, skip, maxAnswered)
		if err != nil {
			if ctx.Err() == nil {
				d.cfg.Metrics.Fault("store")
				d.cfg.Logger.Error("list answered runs", "error", err)
			}
			return
		}
		for _, p := range left {
			if live, _ := d.table.liveRun(Actor{All: true}, p.Run); live == nil && may(p.Fault) {
				d.table.enqueue(p.Run, p.Actor, self)
			}
		}
		if len(left) < maxAnswered {
			return
		}
	}
}

// resumeNext resumes a queued run. If the generation in force refuses it, the run waits for the next
// generation.
func (d *runResumes) resumeNext(ctx context.Context, w pausedRun, r *liveRun) {
	g := d.policy.InForce()
	err := d.resume(ctx, r, w.by)
	var denial *profiles.Denial
	if errors.As(err, &denial) && !errors.Is(err, ErrEnded) {
		w.refusedBy = g
		d.table.requeue(w)
	}
	var stuck *waiting.StuckError // giveBack has logged its cause
	if err != nil && ctx.Err() == nil && !errors.As(err, &stuck) {
		d.cfg.Logger.Warn("run not resumed", "run", r.id, "error", err)
	}
}

// ResumeRun retries an answered run that an error stopped. Errors: ErrNotFound, ErrEnded, ErrNotAnswered,
// *store.ClaimedError, *StuckError, ErrQuota, ErrTooFast, ErrDraining, ErrDiskLow, ErrUnavailable,
// *profiles.Denial, faults.
func (d *runResumes) ResumeRun(ctx context.Context, actor Actor, id string) (wire.Run, error) {
	if err := d.health.Writable(); err != nil {
		return wire.Run{}, err
	}
	row, err := d.views.row(ctx, actor, id)
	switch {
	case err != nil:
		return wire.Run{}, err
	case row.State.Final():
		return wire.Run{}, fmt.Errorf("run %s: %w", id, ErrEnded)
	case row.State == store.Paused:
		return wire.Run{}, fmt.Errorf("run %s: %w", id, ErrNotAnswered)
	case row.State != store.Answered:
		return wire.Run{}, d.claimedByOther(ctx, row)
	}
	own := bucketKey{actor.Name, bucketResumes}
	if err := d.budgets.checkBudget(ctx, own); err != nil {
		return wire.Run{}, err
	}
	r, err := d.table.claim(row)
	if err != nil {
		return wire.Run{}, err
	}
	if err := d.resume(ctx, r, actor.Name); err != nil {
		d.budgets.charge(own)
		return wire.Run{}, err
	}
	return d.views.GetRun(ctx, actor, id, 0)
}

// claimedByOther returns an error that names the owner of the claim on a run.
func (d *runResumes) claimedByOther(ctx context.Context, row store.Run) error {
	_, _, err := d.cfg.Store.Claim(ctx, row.ID, row.Seq, self)
	if err == nil { // the claim was released meanwhile, so its owner is unknown
		err = d.cfg.Store.Unclaim(ctx, row.ID, row.Seq, self, store.Fault{})
		if err == nil {
			err = &store.ClaimedError{Run: row.ID, Seq: row.Seq, By: self, At: row.Updated}
		}
	}
	var claimed *store.ClaimedError
	if errors.As(err, &claimed) {
		return claimed
	}
	return fmt.Errorf("run %s: %w", row.ID, ErrNotAnswered)
}

// resume claims an answered run and continues it. r has a place among the live runs, which resume gives back
// in every case. After an error nothing of the run was loaded or has begun, unless the error is ErrEnded.
func (d *runResumes) resume(ctx context.Context, r *liveRun, by string) error {
	began := d.cfg.Clock.Now()
	row, err := d.cfg.Store.Run(ctx, r.id)
	if err == nil && row.State != store.Answered {
		err = d.claimedByOther(ctx, row)
	}
	if err != nil {
		d.table.drop(r, err)
		return err
	}
	d.table.describe(r, row)
	if err := d.policy.Open(d.policy.InForce(), row.Executor); err != nil {
		d.table.drop(r, err)
		return err
	}
	p, calls, err := d.cfg.Store.Claim(ctx, row.ID, row.Seq, by)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		d.table.drop(r, err)
		return err
	}
	d.cfg.Point("claimed")
	ctx = context.WithoutCancel(ctx) // a claimed run begins, or its claim is released
	told := false
	defer func() {
		if !told { // a panic, which continues
			_ = d.giveBack(ctx, r, row, by, errPanicked)
		}
	}()
	var record pause.Record
	var settled []contract.Settlement
	if err == nil {
		record, err = d.unseal(p, row)
	}
	var words []store.Approval
	if err == nil {
		words, err = d.cfg.Store.Approvals(ctx, row.ID)
	}
	if err == nil {
		settled, err = d.cfg.Waiting.Keeper.Settlements(record, calls, words)
	}
	if err == nil {
		err = d.restart(ctx, r, record, settled)
	}
	told = true
	if err != nil {
		err = d.giveBack(ctx, r, row, by, err)
		if errors.Is(err, errOrphan) {
			_, err = d.ends.endStored(ctx, row, self, executors.StateCancelled,
				wire.RunError{Name: profiles.ErrorCancelled, Message: "the run that started it has ended"})
		}
		return err
	}
	d.cfg.Metrics.Paused("resumed")
	d.cfg.Metrics.Resumed(d.cfg.Clock.Now().Sub(began))
	d.waiters.Wake(r.id)
	d.cfg.Group.Go(func() { d.followResumed(ctx, r, row, by) })
	return nil
}

// unseal opens the record of a pause if this host has an engine for it.
func (d *runResumes) unseal(p store.Pause, row store.Run) (pause.Record, error) {
	if d.cfg.HasEngine != nil {
		if own, has := d.cfg.HasEngine(row.Executor, p.Engine); !has {
			return pause.Record{}, &waiting.EngineError{Digest: p.Engine, Own: own}
		}
	}
	return d.cfg.Waiting.Keeper.Open(p, row)
}

// restart starts the run of a record again, under the generation in force.
func (d *runResumes) restart(ctx context.Context, r *liveRun, p pause.Record, s []contract.Settlement) error {
	if p.Parent != nil {
		let, err := d.parents.holdParent(ctx, Actor{All: true}, *p.Parent, 0)
		if errors.Is(err, ErrEnded) || errors.Is(err, policy.ErrNotFound) {
			return errOrphan
		}
		if err != nil {
			return err
		}
		defer let()
	}
	g, release := d.policy.Bind()
	defer release()
	if err := d.policy.Open(g, r.executor); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	gate := d.cfg.Journal.Expect(r.id)
	if d.table.arm(r, stop, gate) {
		stop()
		if err := d.policy.Open(g, r.executor); err != nil {
			return err
		}
		return errStopped
	}
	handle, err := d.cfg.Interpreter.Resume(running, p, s)
	if err != nil {
		return err
	}
	d.table.setHandle(r, handle)
	return nil
}

// followResumed commits the end of a resumed run. It commits the start just before the first act of the run.
// Until then a crash loses nothing.
func (d *runResumes) followResumed(ctx context.Context, r *liveRun, row store.Run, by string) {
	select {
	case <-r.handle.Done():
	case <-r.gate.Asked():
	}
	if err := r.handle.Err(); over(r.handle) && err != nil {
		_ = d.giveBack(ctx, r, row, by, err)
		return
	}
	_, err := d.cfg.Store.Begin(ctx, r.id, row.Seq, by, store.Change{})
	if err != nil {
		err = d.health.storeFailed("resume", r.id, err)
		r.stop()
	} else {
		d.cfg.Point("executing_kept")
	}
	r.gate.Open(err)
	<-r.handle.Done()
	d.starts.finish(ctx, r, err)
}

func over(l Live) bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

// giveBack releases the claim of a run that could not be resumed, and records why.
func (d *runResumes) giveBack(ctx context.Context, r *liveRun, row store.Run, by string, cause error) error {
	var denial *profiles.Denial
	why := waiting.Stuck(r.id, cause)
	rec := d.policy.Record(audit.ResumeRefused)
	rec.Actor, rec.Agent, rec.Run, rec.State = by, row.Agent, row.ID, string(store.Answered)
	rec.Detail = map[string]string{"sequence": fmt.Sprint(row.Seq)}
	out, fault := error(why), why.Fault()
	switch {
	case errors.Is(cause, errStopped): // the next daemon or generation resumes it
		fault, rec.Detail["reason"], out = store.Fault{}, cause.Error(), ErrDraining
	case errors.Is(cause, errOrphan): // the caller ends it next
		fault, rec.Detail["reason"] = store.Fault{}, cause.Error()
	case errors.As(cause, &denial):
		rec.Decision, out = audit.Decided(denial.Decision), cause
		fault = store.Fault{Code: string(denial.Decision.Code), Text: waiting.Clip(denial.Decision.Reason)}
	default:
		rec.Detail["code"] = why.Code
		rec.Fault = &audit.Fault{ID: r.id, Text: cause.Error()}
		d.cfg.Logger.Warn("run not resumed", "run", r.id, "code", why.Code, "error", cause)
	}
	if why.Lacks != nil && d.cfg.Still { // a missing flag must not let the run expire
		fault = store.Fault{}
	}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Written)
	if kept := d.cfg.Store.Unclaim(ctx, row.ID, row.Seq, by, fault); kept != nil {
		err = errors.Join(err, d.health.storeFailed("claim", r.id, kept))
	}
	d.cfg.Metrics.Paused("refused")
	r.final.State = string(executors.StatePaused) // as in the store
	d.table.drop(r, nil)
	if errors.Is(cause, errOrphan) {
		return errors.Join(cause, err)
	}
	return errors.Join(out, err)
}

// errPanicked: this process panicked while it opened a run.
var errPanicked = errors.New("a panic while it was opened")

// errStopped: all runs, or those of the executor, were stopped.
var errStopped = errors.New("the daemon stops its runs")

// errOrphan: the run is a subagent of a run that has ended.
var errOrphan = errors.New("the run that started it has ended")
