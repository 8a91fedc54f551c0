package run

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Run is one life of a run: from its start, or from a pause, to its end or to the next
// pause. It is safe for concurrent use, also after the end. The mutex of its lifecycle is
// the lock of the run, and guards the report, book, reach and callReach as well; the
// powers and the tree of the family, which subagents share, have locks of their own.
type Run struct {
	identity
	lifecycle
	report
	book   callBook
	family Family
	powers *powersAccount

	reach     binding.Reach // of guests
	callReach binding.Reach // of providers that work for calls
}

// New makes a run that is not live yet. It has to be bound, and then either executed or
// abandoned.
func New(h *Host, s Subject) *Run {
	r := &Run{
		identity: identity{host: h, id: s.ID, actor: s.Actor, agent: s.Agent, executor: s.Executor, program: s.Program,
			session: s.Session, started: h.Now()},
		lifecycle: lifecycle{done: make(chan struct{}), asking: make(chan struct{}, 1), stop: func(error) {},
			idle: make(chan struct{})},
		book:   newCallBook(),
		powers: newPowersAccount(h, s.ID),
	}
	r.report.lock = &r.mu
	r.family = Family{run: r, parent: s.Parent, root: s.ID, tree: budget.NewTree(0)}
	return r
}

// Family returns the place of the run in the tree of its subagents.
func (r *Run) Family() *Family { return &r.family }

// Bind binds the run to its policies.
func (r *Run) Bind(b *binding.Binding) {
	r.bound, r.limits = b, b.Limits(nil)
	r.powers.Bind(b)
}

// UseAtStart counts the powers that a run starts with, once it is bound: its files, its inputs if it gets any,
// and the powers that the runs of its session have touched. For a first run it also decides whether the rule of
// two allows them. For a subagent, [Family.Adopt] decides this. The error is a *profiles.Denial.
func (r *Run) UseAtStart(inputs bool, s *contract.SessionState) error {
	return r.powers.UseAtStart(inputs, r.family.parent != nil, s)
}

// WithContext returns the context that ends when the run does. The run writes under a
// context that outlives it.
func (r *Run) WithContext(ctx context.Context) context.Context {
	live, stop := context.WithCancelCause(ctx)
	r.stop = stop
	r.journal = newJournalWriter(context.WithoutCancel(ctx), r.id, r.host)
	r.powers.OnCommit(r.journal.Touched, func(err error) {
		r.end(closedEnding("the powers that it uses could not be recorded", err))
	})
	return live
}

// Begin makes the event that the run is running. Its record is written before.
func (r *Run) Begin() {
	r.powers.Begin()
	r.emitState(contract.StateRunning)
}

// Execution returns what the executor of a new run begins with: the program, in the state
// of a session if there is one.
func (r *Run) Execution(
	g *binding.Generation, inputs map[string]json.RawMessage, s *contract.SessionState,
) executors.Run {
	profile := r.bound.Agent(nil)
	run := executors.Run{Agent: &profile, Grants: r.bound.Handed(), Modules: g.Modules, Program: r.program,
		Inputs: inputs}
	if s != nil {
		run.Resume = &executors.Resume{Engine: s.Engine, Snapshot: s.Snapshot, Session: true}
	}
	return run
}

// Execute runs the program and concludes the run. A panic on the way ends the run, closed,
// and goes on to the caller.
func (r *Run) Execute(ctx context.Context, e executors.Executor, run executors.Run) {
	var out executors.Outcome
	err := errPanicked
	defer r.host.Turns.End(r) // at the very end: the run takes no turn any more
	defer func() { (&conclusion{run: r, out: out, err: err}).conclude() }()
	wall := budget.Wall(*r.limits.WallMillis, r.from.Plus(executors.Usage{}, nil).Wall)
	clock := budget.StartClock(r.host.Now, wall, func() {
		r.end(ending{State: executors.StateLimit, Name: profiles.ErrorTimeout, Text: "the wall clock limit is reached"})
	})
	defer clock.Stop()
	r.mu.Lock()
	r.clock = clock
	r.mu.Unlock()
	if at := r.bound.Deadline(); at != nil {
		deadline := time.AfterFunc(at.Sub(r.host.Now()), func() {
			r.end(ending{State: executors.StateDenied, Name: profiles.ErrorCapabilityRevoked, Text: textDeadline})
		})
		defer deadline.Stop()
	}
	run.ID, run.Actor, run.Limits, run.Seed = r.id, r.actor, r.limits, r.seed
	run.Revision, run.Session, run.Pause = r.bound.First().Revision, r.session != "", r.asking
	out, err = e.Run(ctx, run, &guestHost{run: r})
	p := pausing{r, out}
	if p.staysPaused(err) {
		return
	}
	if err == nil && out.State == executors.StatePaused {
		out, err = executors.Outcome{}, errPanicked // the outcome if keep panics
		p.keep()
		out, err = p.out, nil
	}
}

// Cancel ends the run for the actor by: once it returns no effect of the run begins. It
// does not wait for the end; see Done. It does nothing to a run that has ended, or whose
// pause is being committed or is kept: View says so, once Done is closed. The record is
// written even if ctx has ended.
func (r *Run) Cancel(ctx context.Context, by, reason string) {
	reason = jsonvalue.Clip(reason, 200)
	if !r.end(ending{State: executors.StateCancelled, Name: profiles.ErrorCancelled, Text: reason}) {
		return
	}
	rec := r.Record(contract.RunCancelled)
	rec.Actor, rec.Detail = by, map[string]string{"reason": reason}
	// The run has ended whether or not this is written; the record run_ended follows.
	_ = r.host.Audit.Record(context.WithoutCancel(ctx), rec, contract.Written)
}

// Exceed ends the run because of a limit of the host, which text names.
func (r *Run) Exceed(text string) {
	r.end(ending{State: executors.StateLimit, Name: profiles.ErrorBudgetExceeded, Text: jsonvalue.Clip(text, 200)})
}

// Close ends the run because the host ends.
func (r *Run) Close() {
	r.end(ending{State: executors.StateCancelled, Name: profiles.ErrorCancelled, Text: "ringd is closing"})
}

// Abandon undoes a run that never began. Its subagents end.
func (r *Run) Abandon(why error) {
	r.mu.Lock()
	if !r.ended {
		r.endLocked(nil)
	}
	children := r.book.takeChildren()
	r.mu.Unlock()
	endAll(children)
	r.stop(why)
	r.host.Gone(r)
}

// end ends the run. If it is called several times, the first reason is used. It reports whether this call was the
// first.
func (r *Run) end(why ending) bool {
	r.mu.Lock()
	if r.ended || r.phase == phaseKeeping || r.phase == phasePaused {
		r.mu.Unlock()
		return false
	}
	r.endLocked(&why)
	children, wasHeld := r.book.takeChildren(), r.phase == phaseHeld
	r.mu.Unlock()
	r.stop(&why)
	endAll(children)
	if wasHeld {
		r.leave(executors.StateCancelled)
	}
	return true
}

// endLocked ends the run: a call that has not begun cannot begin, and a call that is being
// performed is stopped.
func (r *Run) endLocked(why *ending) {
	r.ended, r.why, r.book.waiting = true, why, nil
	r.book.cancelAll(errRun)
	r.setPhaseLocked(r.phase)
	r.closeIdleLocked()
}

// leave makes this life of the run over: the last event, out of the live runs, and Done.
func (r *Run) leave(s executors.State) {
	r.mu.Lock()
	if r.final == nil {
		v := r.viewLocked()
		v.State = s
		r.final = &v
	}
	r.feed.Add(Event{Kind: EventState, State: s})
	r.final.LastEvent = r.feed.Last
	r.mu.Unlock()
	r.stop(errRun)
	r.host.Gone(r)
	close(r.done)
}

// View returns the state of the run, or its outcome.
func (r *Run) View() contract.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final != nil {
		v := *r.final
		v.Console, v.Denials, v.Pending = slices.Clone(v.Console), slices.Clone(v.Denials), slices.Clone(v.Pending)
		v.Usage.Calls = maps.Clone(v.Usage.Calls)
		return v
	}
	return r.viewLocked()
}

func (r *Run) viewLocked() contract.View {
	acts := r.book.acts.Clone()
	v := contract.View{
		RunInfo: contract.RunInfo{ID: r.id, Actor: r.actor, Agent: r.agent, Executor: r.executor,
			Generation: r.bound.Generation(), Revision: r.bound.First().Revision, Started: r.started,
			Session: r.session},
		State:   contract.StateRunning,
		Console: slices.Clone(r.feed.Console), Dropped: r.feed.Dropped,
		Denials: slices.Clone(r.denials.List), DenialsMore: r.denials.More,
		Usage: executors.Usage{Calls: maps.Clone(r.book.spent.Calls)}, LastEvent: r.feed.Last, Touched: r.powers.View(),
		Acted: contract.Acted{Ran: acts.Ran, RanMore: acts.More, Asked: acts.Asked},
	}
	if r.phase == phaseHeld {
		v.State = executors.StatePaused
	}
	if !r.ended {
		v.Pending, v.Queued = r.book.pending(), int64(len(r.book.queue))
	}
	return v
}

// Settled waits until the run has ended or is paused, or has a call that its harness has to
// answer while the program is held. The error is that of ctx.
func (r *Run) Settled(ctx context.Context) (contract.View, error) {
	for {
		r.mu.Lock()
		settled := r.final != nil || r.phase == phaseHeld || r.book.holdsProgramFor(pause.ForHarness)
		wake := r.feed.SettledWake()
		r.mu.Unlock()
		if settled {
			return r.View(), nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return contract.View{}, context.Cause(ctx)
		}
	}
}

// Leave makes this life of a paused run over.
func (r *Run) Leave() { r.leave(executors.StatePaused) }
