package interpreter

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// Resume goes on with a paused run under its id, and ends it when ctx ends. The caller has
// made sure that no other process does the same. Each open call is decided again, under all
// that binds the run and the generation in force, and then settled once the program asks
// for it. A policy that no longer grants the agent or the executor ends the run. The record
// run_resumed is on disk before the executor begins.
//
// After these errors nothing ran and the pause is still valid: ErrUnsettled, ErrClosed,
// ErrExists, ErrParent (a subagent whose parent is neither live nor held), *profiles.Denial
// (no policy, executor closed or unavailable, tier unavailable), *contract.UnprovidedError
// (an approved call that is still granted cannot begin here), and faults. If the snapshot
// cannot be restored, Run.Err returns the error.
func (r *Ring) Resume(ctx context.Context, p pause.Record, settled []contract.Settlement) (*Run, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("resume run %s: %w", jsonvalue.Clip(p.Run, 40), err)
	}
	resumed, err := r.restore(ctx, &p, settled)
	if err != nil {
		return nil, fmt.Errorf("resume run %s: %w", p.Run, err)
	}
	host := r.has(ctx, p.Executor)
	if err := resumed.CheckProviders(host); err != nil {
		return nil, fmt.Errorf("resume run %s: %w", p.Run, err)
	}
	ctx = resumed.WithContext(ctx)
	g, never, err := r.rejoin(resumed, host)
	if err != nil {
		resumed.Abandon(err)
		return nil, err
	}
	rec := resumed.Record(contract.RunResumed)
	rec.State, rec.Detail = string(contract.StateRunning), map[string]string{"seq": strconv.FormatInt(p.Seq, 10)}
	if err := resumed.Put(rec, contract.Synced); err != nil {
		resumed.Abandon(err)
		return nil, fmt.Errorf("resume run %s: record: %w", p.Run, err)
	}
	if r.cfg.Point != nil {
		r.cfg.Point("resume_recorded")
	}
	resumed.Begin()
	if never != nil {
		r.cfg.Go(func() { resumed.Deny(*never) })
		return &Run{r, resumed.Run}, nil
	}
	execution := resumed.Execution(g)
	executor := r.cfg.Executors[p.Executor]
	r.cfg.Go(func() { resumed.Execute(ctx, executor, execution) })
	return &Run{r, resumed.Run}, nil
}

// restore makes a run of its pause that can go on, and waits while its parent is stopping.
func (r *Ring) restore(ctx context.Context, p *pause.Record, settled []contract.Settlement) (run.Resumption, error) {
	restored, err := run.Restore(&r.host, p)
	if err != nil {
		return run.Resumption{}, err
	}
	resumed, err := restored.Resume(p, settled)
	if err == nil {
		err = resumed.DrawSeed(r.cfg.Random)
	}
	if err == nil {
		err = r.waitForParent(ctx, p.Parent)
	}
	return resumed, err
}

// rejoin makes a resumed run live under the generation in force, in the place of a held
// one. never is why the run has to end.
func (r *Ring) rejoin(resumed run.Resumption, host binding.Host) (
	g *binding.Generation, never *profiles.Decision, err error,
) {
	r.mu.Lock()
	g = r.gen.Load()
	before := r.live[resumed.ID()]
	if err = r.freeLocked(resumed.Run, before); err == nil {
		never, err = resumed.Admit(g, host)
	}
	if err == nil {
		err = r.placeLocked(resumed.Run)
	}
	if err != nil {
		r.mu.Unlock()
		return nil, nil, err
	}
	if before != nil {
		before.Family().HandOver(resumed.Run)
	}
	r.live[resumed.ID()] = resumed.Run
	r.mu.Unlock()
	if before != nil {
		before.Leave()
	}
	return g, never, nil
}

// freeLocked returns an error if a run that was not live may not be: the ring is closed, or
// a run of this id is live and not held.
func (r *Ring) freeLocked(run, before *run.Run) error {
	if r.shut {
		return ErrClosed
	}
	if before != nil && !before.IsHeld() {
		return fmt.Errorf("resume run %s: %w", run.ID(), ErrExists)
	}
	return nil
}

// placeLocked puts a subagent back into the tree of its parent.
func (r *Ring) placeLocked(run *run.Run) error {
	parent := run.Family().Parent()
	if parent == nil {
		return nil
	}
	p := r.live[parent.Run]
	if p == nil {
		return fmt.Errorf("resume run %s: %w", run.ID(), contract.ErrParent)
	}
	return p.Family().Readopt(run)
}

// Hold makes a paused run live without a guest, so that subagents can be started for its
// open calls and count in its tree. A run that is held already is returned. It stays held
// until its last subagent is over, or until Release, Cancel or Resume. A caller that starts
// a subagent of a held run commits Spawned with the pause. Errors: ErrClosed, ErrExists (it
// is live), ErrParent (its own parent is neither live nor held), and faults.
func (r *Ring) Hold(ctx context.Context, p pause.Record) (*Run, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("hold run %s: %w", jsonvalue.Clip(p.Run, 40), err)
	}
	held, err := run.Restore(&r.host, &p)
	if err == nil {
		err = r.waitForParent(ctx, p.Parent)
	}
	if err != nil {
		return nil, fmt.Errorf("hold run %s: %w", p.Run, err)
	}
	// It has no guest. Its calls are decided as on the host that it would go on on.
	held.Bind(held.Bound().OnHost(r.has(ctx, p.Executor)))
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.live[p.Run]
	if before != nil && before.IsHeld() {
		return &Run{r, before}, nil
	}
	err = r.freeLocked(held, before)
	if err == nil {
		err = r.placeLocked(held)
	}
	if err != nil {
		return nil, err
	}
	held.Hold()
	r.live[p.Run] = held
	return &Run{r, held}, nil
}

// holdPaused keeps a paused run live without a guest, as long as subagents of its open calls live.
func (r *Ring) holdPaused(paused *run.Run, p *pause.Record) {
	if !paused.Family().Any(func(*run.Run) bool { return true }) { // it adopts none any more
		return
	}
	next, err := run.Restore(&r.host, p)
	if err != nil {
		return // cannot happen: its policies were read when it was started
	}
	next.Bind(next.Bound().OnHost(paused.Bound().Host()))
	r.endProviders(p.Run) // the next life of the run may be resumed at once
	r.mu.Lock()
	defer r.mu.Unlock()
	paused.Family().HandOver(next)
	if next.Family().Any(r.livesLocked) {
		next.Hold()
		r.live[p.Run] = next
	}
}

// release ends the hold of a run of which no subagent lives.
func (r *Ring) release(held *run.Run) {
	r.mu.Lock()
	free := r.live[held.ID()] == held && held.Family().LetGo(r.livesLocked)
	r.mu.Unlock()
	if free {
		held.Leave()
	}
}

func (r *Ring) livesLocked(run *run.Run) bool { return r.live[run.ID()] == run }

// Idempotent reports whether a call of the bridge that may have been performed is tried
// again. An act of a guest is: the guest gets the answer once more.
func (r *Ring) Idempotent(bridge string) bool {
	return pause.IsAct(bridge) || contract.IsIdempotent(r.provider(bridge))
}

// CheckReply checks an answer to a call of a paused run, as Run.Answer would: its size, its
// form and the schema of the result in the policy now in force. Errors: *profiles.Denial if
// that policy does not grant the bridge, ErrValue.
func (r *Ring) CheckReply(agent, executor, bridge string, value json.RawMessage) error {
	gr, d := r.gen.Load().DecideBridge(agent, executor, bridge, 0)
	if gr == nil {
		return &profiles.Denial{Capability: "bridge:" + jsonvalue.Clip(bridge, 80), Decision: d}
	}
	if _, flaw := gr.ResultRule().Check(value, r.cfg.CheckValue); flaw != nil {
		return fmt.Errorf("answer bridge %s: %s: %w", jsonvalue.Clip(bridge, 80),
			jsonvalue.Clip(flaw.Text+": "+flaw.Fault, 400), contract.ErrValue)
	}
	return nil
}
