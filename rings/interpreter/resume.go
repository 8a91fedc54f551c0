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

// Resume goes on with a paused run under its id, and ends it when ctx ends. The
// caller has made sure that nobody else does. Each open call is decided again,
// under all that binds the run and the generation in force, and then settled, once
// the program asks for it. A policy that no longer grants the agent or the
// executor ends the run. The record run_resumed is on disk before the executor
// begins. Errors, after which nothing ran and the pause stands: ErrUnsettled,
// ErrClosed, ErrExists, ErrParent (a subagent whose parent is neither live nor
// held), *profiles.Denial (no policy, executor closed or unavailable, tier
// unavailable), *Unprovided (an approved call that is still granted cannot begin
// here), and faults. A snapshot that cannot be restored shows in Run.Err.
func (r *Ring) Resume(ctx context.Context, p pause.Record, settled []contract.Settlement) (*Run, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("resume run %s: %w", jsonvalue.Clip(p.Run, 40), err)
	}
	run, err := run.Restore(&r.host, &p)
	if err == nil {
		err = run.GoOn(&p, settled)
	}
	if err == nil {
		err = run.Draw(r.cfg.Random)
	}
	if err == nil {
		err = r.parentStill(ctx, p.Parent)
	}
	if err != nil {
		return nil, fmt.Errorf("resume run %s: %w", p.Run, err)
	}
	host := r.has(ctx, p.Executor)
	if err := run.Provided(host); err != nil {
		return nil, fmt.Errorf("resume run %s: %w", p.Run, err)
	}
	ctx = run.Under(ctx)
	g, never, err := r.rejoin(run, host)
	if err != nil {
		run.Abandon(err)
		return nil, err
	}
	rec := run.Record(contract.RunResumed)
	rec.State, rec.Detail = string(contract.StateRunning), map[string]string{"seq": strconv.FormatInt(p.Seq, 10)}
	if err := run.Put(rec, contract.Synced); err != nil {
		run.Abandon(err)
		return nil, fmt.Errorf("resume run %s: record: %w", p.Run, err)
	}
	if r.cfg.Point != nil {
		r.cfg.Point("resume_recorded")
	}
	run.Begin()
	if never != nil {
		r.cfg.Go(func() { run.Refuse(*never) })
		return &Run{r, run}, nil
	}
	er := run.Resumed(g)
	executor := r.cfg.Executors[p.Executor]
	r.cfg.Go(func() { run.Live(ctx, executor, er) })
	return &Run{r, run}, nil
}

// rejoin makes a resumed run live under the generation in force, in the place of
// a held one. never is why the run has to end.
func (r *Ring) rejoin(run *run.Run, host binding.Host) (g *binding.Generation, never *profiles.Decision, err error) {
	r.mu.Lock()
	g = r.gen.Load()
	before := r.live[run.ID()]
	if err = r.freeLocked(run, before); err == nil {
		never, err = run.MayGoOn(g, host)
	}
	if err == nil {
		err = r.placeLocked(run)
	}
	if err != nil {
		r.mu.Unlock()
		return nil, nil, err
	}
	if before != nil {
		before.HandOver(run)
	}
	r.live[run.ID()] = run
	r.mu.Unlock()
	if before != nil {
		before.Leave()
	}
	return g, never, nil
}

// freeLocked reports whether a run that was not live may be.
func (r *Ring) freeLocked(run, before *run.Run) error {
	if r.shut {
		return ErrClosed
	}
	if before != nil && !before.IsHeld() {
		return fmt.Errorf("resume run %s: %w", run.ID(), ErrExists)
	}
	return nil
}

// placeLocked finds the place of a run in the tree of its parent.
func (r *Ring) placeLocked(run *run.Run) error {
	parent := run.Parent()
	if parent == nil {
		return nil
	}
	p := r.live[parent.Run]
	if p == nil {
		return fmt.Errorf("resume run %s: %w", run.ID(), contract.ErrParent)
	}
	return p.Readopt(run)
}

// Hold makes a paused run live without a guest, so that subagents can be started
// for its open calls and count in its tree. A run that is held already is
// returned. It stays until its last subagent is over, or Release, Cancel or
// Resume. Who starts a subagent of a held run commits Spawned with the pause.
// Errors: ErrClosed, ErrExists (it is live), ErrParent (its own parent is neither
// live nor held), and faults.
func (r *Ring) Hold(ctx context.Context, p pause.Record) (*Run, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("hold run %s: %w", jsonvalue.Clip(p.Run, 40), err)
	}
	run, err := run.Restore(&r.host, &p)
	if err == nil {
		err = r.parentStill(ctx, p.Parent)
	}
	if err != nil {
		return nil, fmt.Errorf("hold run %s: %w", p.Run, err)
	}
	// It has no guest, and its calls are decided as on the host that it would go on on.
	run.Bind(run.Bound().On(r.has(ctx, p.Executor)))
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.live[p.Run]
	if before != nil && before.IsHeld() {
		return &Run{r, before}, nil
	}
	err = r.freeLocked(run, before)
	if err == nil {
		err = r.placeLocked(run)
	}
	if err != nil {
		return nil, err
	}
	run.Hold()
	r.live[p.Run] = run
	return &Run{r, run}, nil
}

// rest holds a run that is paused while subagents of its open calls live.
func (r *Ring) rest(started *run.Run, p *pause.Record) {
	if !started.Any(func(*run.Run) bool { return true }) { // it adopts none any more
		return
	}
	next, err := run.Restore(&r.host, p)
	if err != nil {
		return // its policies were read when it was started
	}
	next.Bind(next.Bound().On(started.Bound().Host()))
	r.tell(p.Run) // what follows it may be resumed at once
	r.mu.Lock()
	defer r.mu.Unlock()
	started.HandOver(next)
	if next.Any(r.livesLocked) {
		next.Hold()
		r.live[p.Run] = next
	}
}

// release ends a hold of which no subagent lives.
func (r *Ring) release(run *run.Run) {
	r.mu.Lock()
	free := r.live[run.ID()] == run && run.Letting(r.livesLocked)
	r.mu.Unlock()
	if free {
		run.Leave()
	}
}

func (r *Ring) livesLocked(run *run.Run) bool { return r.live[run.ID()] == run }

// Idempotent reports whether a call of the bridge that may have been performed
// is tried again. That people approved an act of a guest is told again.
func (r *Ring) Idempotent(bridge string) bool {
	return pause.IsAct(bridge) || contract.IsIdempotent(r.provider(bridge))
}

// CheckReply checks an answer to a call of a paused run, as Run.Answer would: its
// size, its form and the schema of the result in the policy now in force. Errors:
// *profiles.Denial when that does not grant the bridge, ErrValue.
func (r *Ring) CheckReply(agent, executor, bridge string, value json.RawMessage) error {
	gr, d := r.gen.Load().Now(agent, executor, bridge, 0)
	if gr == nil {
		return &profiles.Denial{Capability: "bridge:" + jsonvalue.Clip(bridge, 80), Decision: d}
	}
	if _, flaw := gr.Takes().Judge(value, r.cfg.CheckValue); flaw != nil {
		return fmt.Errorf("answer bridge %s: %s: %w", jsonvalue.Clip(bridge, 80), jsonvalue.Clip(flaw.Text+": "+flaw.Fault, 400), contract.ErrValue)
	}
	return nil
}
