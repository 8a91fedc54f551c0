package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// StartRequest asks for a run.
type StartRequest struct {
	ID       string // unique among live runs
	Actor    string
	Agent    string
	Executor string
	Program  executors.Program
	Inputs   map[string]json.RawMessage // tagged values by name
	Parent   *Parent                    // of a subagent; nil for a first run
	// Session names what the run's state is kept under at a clean end; "": it is
	// not kept. SessionState is what the last run left; nil: the session is new.
	Session      string
	SessionState *SessionState
}

// Parent names the open call that a run is started for. The run counts in the
// tree of the parent, and ends when the call or the parent does.
type Parent = pause.Parent

// wallGrace is how much longer than its wall limit the ring lets an executor
// take to end a run by itself.
const wallGrace = 2 * time.Second

// Start starts a run bound to the generation in force, which ends when ctx does,
// so ctx is the daemon's and not a request's. The record run_started is written
// before the executor begins. Errors: *profiles.Denial (no policy, unknown
// agent, executor not granted, closed or unavailable, tier unavailable, depth of
// the subagent tree), ErrClosed, ErrExists, ErrParent, and faults: the record
// could not be written. After any of them nothing ran.
func (r *Ring) Start(ctx context.Context, req StartRequest) (*Run, error) {
	if req.ID == "" {
		return nil, errors.New("start run: no id")
	}
	for name, v := range req.Inputs {
		if _, err := shape.Scan(v); err != nil {
			return nil, fmt.Errorf("start run: input %s: %w", shape.Clip(name, 40), err)
		}
	}
	run := newRun(r, req)
	if _, err := io.ReadFull(r.cfg.Random, run.seed[:]); err != nil {
		return nil, fmt.Errorf("start run %s: seed: %w", req.ID, err)
	}
	ctx, run.stop = context.WithCancelCause(ctx)
	keep := context.WithoutCancel(ctx)
	run.write = func(rec Record, d Durability) error { return r.cfg.Audit.Record(keep, rec, d) }
	run.openCall = func(e Entry) (string, error) { return r.cfg.Journal.OpenCall(keep, e) }
	run.closeCall = func(call string, end Recorded) error { return r.cfg.Journal.CloseCall(keep, run.id, call, end) }
	if err := r.register(run, req.Parent); err != nil {
		run.stop(err)
		return nil, err
	}
	rec := run.record(RunStarted)
	rec.State, rec.Digest = string(StateRunning), digest([]byte(req.Program.Source))
	rec.Detail = map[string]string{"executor": req.Executor, "program": shape.Clip(req.Program.Name, 200)}
	if req.Parent != nil {
		rec.Detail["parent"] = req.Parent.Run + "/" + req.Parent.Call
	}
	if err := run.put(rec, Written); err != nil {
		run.abandon()
		run.stop(err)
		return nil, fmt.Errorf("start run %s: record: %w", req.ID, err)
	}
	run.emitState(StateRunning)
	executor := r.cfg.Executors[req.Executor]
	r.cfg.Go(func() { run.life(ctx, executor, req) })
	return run, nil
}

// register binds the run to the generation in force and makes it live, so that
// every later commit reaches it.
func (r *Ring) register(run *Run, parent *Parent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return ErrClosed
	}
	if r.live[run.id] != nil {
		return fmt.Errorf("start run %s: %w", run.id, ErrExists)
	}
	g := r.gen.Load()
	if d := r.decideStart(g, run.agentName, run.executor); d != nil {
		return &profiles.Denial{Capability: "executor:" + run.executor, Decision: *d}
	}
	run.bind(g)
	if parent != nil {
		p := r.live[parent.Run]
		if p == nil {
			return fmt.Errorf("start run %s: %w", run.id, ErrParent)
		}
		if err := p.adopt(g, run, parent.Call); err != nil {
			return err
		}
	}
	r.live[run.id] = run
	return nil
}

// decideStart says why a run may not start, or nil.
func (r *Ring) decideStart(g *generation, name, executor string) *profiles.Decision {
	if !g.open {
		d := g.refusal()
		return &d
	}
	a := g.agentOf(name)
	if a == nil {
		d := g.refusal()
		return &d
	}
	deny := func(code profiles.Code, format string, args ...any) *profiles.Decision {
		rule := a.profile.Rule
		return &profiles.Decision{Code: code, Reason: fmt.Sprintf(format, args...), Rule: &rule, Revision: g.revision}
	}
	if !granted(&a.profile, executor) {
		return deny(profiles.CodeExecutorNotGranted, "the policy does not grant the executor %s to agent %s", shape.Clip(executor, 40), name)
	}
	if r.cfg.Executors[executor] == nil {
		d := deny(profiles.CodeExecutorUnavailable, "this host has no executor %s", executor)
		d.Rule, d.Instead = &a.profile.ExecutorsRule, []string{seeDoctor}
		return d
	}
	if reason, closed := g.closed[executor]; closed {
		return deny(profiles.CodeClosed, "the executor %s is closed: %s", executor, reason)
	}
	if least := a.profile.MinTier; least != "" && !tierRank(r.cfg.Tiers[executor]).satisfies(tierRank(least)) {
		d := deny(profiles.CodeTierUnavailable, "the policy asks for tier %s, the executor %s has %q here", least, executor, r.cfg.Tiers[executor])
		d.Rule, d.Instead = &a.profile.MinTierRule, []string{seeDoctor}
		return d
	}
	return nil
}

// seeDoctor is the remedy for what a host lacks.
const seeDoctor = "run it on a host that has it; `ringd doctor` lists what this one enforces"

// granted reports whether the profile has the executor.
func granted(a *profiles.Agent, executor string) bool {
	switch executor {
	case profiles.ExecutorJS:
		return a.JS != nil
	case profiles.ExecutorPython:
		return a.Python != nil
	case profiles.ExecutorShell:
		return a.Shell != nil
	default:
		return false
	}
}

// rank is a tier's place from weak to strong; 0 is unknown.
type rank int

// satisfies reports whether r is at least as strong as least. An unknown tier
// satisfies nothing, and nothing satisfies an unknown tier.
func (r rank) satisfies(least rank) bool { return least > 0 && r >= least }

func tierRank(t profiles.Tier) rank {
	order := [...]profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS,
		profiles.TierContainer, profiles.TierMicroVM, profiles.TierRemote}
	return rank(slices.Index(order[:], t) + 1)
}

// executorLimits are the limits of one executor in a profile.
func executorLimits(a *profiles.Agent, executor string) profiles.Limits {
	switch {
	case executor == profiles.ExecutorJS && a.JS != nil:
		return budget.Effective(a.Limits, a.JS.Limits)
	case executor == profiles.ExecutorPython && a.Python != nil:
		return budget.Effective(a.Limits, a.Python.Limits)
	case executor == profiles.ExecutorShell && a.Shell != nil:
		return budget.Effective(a.Limits, a.Shell.Limits)
	default:
		return budget.Effective(profiles.Limits{}, profiles.Limits{})
	}
}

// adopt makes child a subagent of the run, started for one of its open calls,
// which must pass under g, the generation in force, too.
func (r *Run) adopt(g *generation, child *Run, call string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[call]
	if r.ended || c == nil || !c.working() || !budget.Spawns(c.limits) {
		return fmt.Errorf("start run %s: call %s of run %s: %w", child.id, shape.Clip(call, 40), r.id, ErrParent)
	}
	other, no := r.stillGranted(g, c)
	if no != nil {
		return &profiles.Denial{Capability: "bridge:" + c.bridge, Decision: no.decision}
	}
	l := budget.Stricter(c.limits, other.Limits)
	switch {
	case int64(len(c.children)) >= min(c.agents, l.SpawnPerCall), !r.tree.Within(l.TotalSpawn):
		return fmt.Errorf("start run %s: call %s of run %s: %w", child.id, shape.Clip(call, 40), r.id, ErrParent)
	case r.depth+1 > l.Depth:
		return &profiles.Denial{Capability: "bridge:" + c.bridge, Decision: profiles.Decision{
			Code: profiles.CodeBridgeDepth, Rule: &other.Rule, Revision: g.revision,
			Reason: fmt.Sprintf("%s may start subagents %d levels deep", c.bridge, l.Depth)}}
	}
	c.children = append(c.children, child)
	child.depth, child.tree = r.depth+1, r.tree
	return nil
}
