package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// StartRequest asks for a run.
type StartRequest struct {
	ID       string // unique among live runs
	Actor    string
	Agent    string
	Executor string
	Program  executors.Program
	Inputs   map[string]json.RawMessage // tagged values by name
	Parent   *pause.Parent              // of a subagent; nil for a first run
	// Session is the name that the state of the run is kept under at a clean end. If it is
	// empty, the state is not kept. SessionState is what the last run left; nil for a new
	// session.
	Session      string
	SessionState *contract.SessionState
	// Grants narrow what the policy grants to the agent, for this run. The grants of a parent run narrow it too.
	// Grants may be nil.
	Grants *profiles.Grants
}

// Start starts a run that is bound to the generation in force, narrowed by its grants. The
// run ends when ctx does, so ctx is that of the daemon and not of a request. The record
// run_started is written before the executor begins. Errors: *profiles.Denial (no policy,
// unknown agent, executor not granted, closed or unavailable, tier unavailable, sessions not
// granted, depth of the subagent tree), ErrClosed, ErrExists, ErrParent, ErrSession,
// profiles.ErrGrants, and faults, such as a record that could not be written. After any of
// them nothing ran.
func (r *Ring) Start(ctx context.Context, req StartRequest) (*Run, error) {
	if req.ID == "" {
		return nil, errors.New("start run: no id")
	}
	for name, v := range req.Inputs {
		if _, err := jsonvalue.Scan(v); err != nil {
			return nil, fmt.Errorf("start run: input %s: %w", jsonvalue.Clip(name, 40), err)
		}
	}
	run := run.New(&r.host, run.Subject{ID: req.ID, Actor: req.Actor, Agent: req.Agent, Executor: req.Executor,
		Program: req.Program, Parent: req.Parent, Session: req.Session})
	if err := run.DrawSeed(r.cfg.Random); err != nil {
		return nil, fmt.Errorf("start run %s: seed: %w", req.ID, err)
	}
	ctx = run.WithContext(ctx)
	g, err := r.register(ctx, run, req)
	if err != nil {
		run.Abandon(err)
		return nil, err
	}
	rec := run.Record(contract.RunStarted)
	rec.State, rec.Digest = string(contract.StateRunning), pause.Digest([]byte(req.Program.Source))
	rec.Detail = map[string]string{"executor": req.Executor, "program": jsonvalue.Clip(req.Program.Name, 200)}
	// The isolation that the policy asks for; run_ended has what the guest got.
	rec.Detail["min_tier"] = string(run.Bound().Agent(nil).MinTier)
	if req.Parent != nil {
		rec.Detail["parent"] = req.Parent.Run + "/" + req.Parent.Call
	}
	if req.Session != "" {
		rec.Detail["session"] = jsonvalue.Clip(req.Session, 200)
	}
	if err := run.Put(rec, contract.Written); err != nil {
		run.Abandon(err)
		return nil, fmt.Errorf("start run %s: record: %w", req.ID, err)
	}
	run.Begin()
	execution := run.Execution(g, req.Inputs, req.SessionState)
	executor := r.cfg.Executors[req.Executor]
	r.cfg.Go(func() { run.Execute(ctx, executor, execution) })
	return &Run{r, run}, nil
}

// register binds the run to the generation in force and makes it live, so that every later
// commit reaches it.
func (r *Ring) register(ctx context.Context, started *run.Run, req StartRequest) (*binding.Generation, error) {
	if err := r.waitForParent(ctx, req.Parent); err != nil {
		return nil, fmt.Errorf("start run %s: %w", req.ID, err)
	}
	host := r.has(ctx, req.Executor) // it may wait
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return nil, ErrClosed
	}
	if r.live[started.ID()] != nil {
		return nil, fmt.Errorf("start run %s: %w", req.ID, ErrExists)
	}
	g := r.gen.Load()
	if d := g.Start(req.Agent, host); d != nil {
		return nil, &profiles.Denial{Capability: "executor:" + req.Executor, Decision: *d}
	}
	var parent *run.Run
	var above *binding.Binding
	if req.Parent != nil {
		if parent = r.live[req.Parent.Run]; parent == nil {
			return nil, fmt.Errorf("start run %s: %w", req.ID, contract.ErrParent)
		}
		above = parent.Bound()
	}
	bound, err := binding.Bind(g, req.Agent, req.Executor, req.Grants, above)
	if err != nil {
		return nil, fmt.Errorf("start run %s: %w", req.ID, err)
	}
	started.Bind(bound.OnHost(host))
	if err := r.checkSession(g, bound, req); err != nil {
		return nil, err
	}
	if err := started.UseAtStart(len(req.Inputs)+len(req.Program.Stdin) > 0, req.SessionState); err != nil {
		return nil, err
	}
	if parent != nil {
		if err := parent.Family().Adopt(g, started); err != nil {
			return nil, err
		}
	}
	r.live[started.ID()] = started
	return g, nil
}

// has returns what this host has for an executor.
func (r *Ring) has(ctx context.Context, executor string) binding.Host {
	h := binding.Host{Name: executor, Executor: r.cfg.Executors[executor] != nil}
	if h.Executor && r.cfg.Tier != nil {
		h.Tier = r.cfg.Tier(ctx, executor)
		if r.cfg.Lacks != nil {
			h.Lacks, h.Remedy = r.cfg.Lacks()
		}
	}
	return h
}

// waitForParent waits while the parent of a run is on its way to a pause.
func (r *Ring) waitForParent(ctx context.Context, p *pause.Parent) error {
	if p == nil {
		return nil
	}
	r.mu.Lock()
	parent := r.live[p.Run]
	r.mu.Unlock()
	if parent == nil {
		return contract.ErrParent
	}
	return parent.WaitWhileStopping(ctx)
}

// checkSession refuses a session that the run may not have.
func (r *Ring) checkSession(g *binding.Generation, bound *binding.Binding, req StartRequest) error {
	s := req.SessionState
	wrong := func(text string) error { return fmt.Errorf("start run %s: %s: %w", req.ID, text, contract.ErrSession) }
	if req.Session == "" {
		if s != nil {
			return wrong("a state without a name")
		}
		return nil
	}
	bounds := bound.Sessions(g)
	if bounds == nil || r.cfg.Keeper == nil {
		rule := bound.First().Profile.Rule
		d := profiles.Decision{Code: profiles.CodeSessionNotGranted, Revision: g.Revision, Rule: &rule,
			Reason: "the policy grants agent " + req.Agent + " no state between runs"}
		if bounds != nil {
			d.Reason = "this host keeps no state between runs"
		}
		return &profiles.Denial{Capability: "session", Decision: d}
	}
	switch {
	case s == nil:
		return nil
	case s.Name != req.Session || s.Agent != req.Agent || s.Actor != req.Actor || s.Executor != req.Executor ||
		s.Engine == "" || len(s.Snapshot) == 0:
		return wrong("it is of another agent, actor or executor")
	case r.cfg.Now().Sub(s.At).Milliseconds() > bounds.AgeMillis:
		return wrong("it is older than the policy grants")
	}
	return nil
}
