package interpreter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// Run is one program's life. It is safe for concurrent use, also after the end.
type Run struct {
	ring      *Ring
	id        string
	actor     string
	agentName string
	executor  string
	seed      [32]byte
	started   time.Time

	// Set before the run is live.
	bound  *generation
	agent  *agent
	limits profiles.Limits
	tree   *budget.Tree
	depth  int64
	stop   context.CancelCauseFunc
	// These write under a context that outlives the run's.
	write     func(Record, Durability) error
	openCall  func(Entry) (string, error)
	closeCall func(call string, end Recorded) error
	done      chan struct{}

	mu      sync.Mutex // never held while something is written or performed
	ended   bool       // no effect of the run may begin
	why     *ending    // why the ring ended it; nil: the program ended
	lost    bool       // an act with external power has no known result
	busy    int        // questions being answered
	idle    chan struct{}
	calls   map[string]*call // nil: asked, and not admitted
	order   int
	spent   budget.Spend
	waiting []string // the calls the guest waits on and can do nothing before
	pausing bool
	paused  bool
	denials []profiles.Decision
	console []executors.ConsoleEntry
	printed int64
	dropped int64
	events  events
	final   *View
}

// ending is why the ring ends a run.
type ending struct {
	state executors.State
	name  string // of the error
	text  string // for whoever reads the outcome; no text of the host
	fault string // for the record
}

// Error is the text of the cause.
func (e *ending) Error() string { return e.name + ": " + e.text }

func newRun(r *Ring, req StartRequest) *Run {
	return &Run{
		ring: r, id: req.ID, stop: func(error) {}, actor: req.Actor, agentName: req.Agent, executor: req.Executor,
		started: r.cfg.Now(), tree: &budget.Tree{}, done: make(chan struct{}), idle: make(chan struct{}),
		calls: map[string]*call{},
		spent: budget.Spend{Calls: map[string]int64{}, Open: map[string]int64{}},
	}
}

// bind ties the run to a generation in which its agent and executor are granted.
func (r *Run) bind(g *generation) {
	r.bound, r.agent = g, g.agentOf(r.agentName)
	r.limits = executorLimits(&r.agent.profile, r.executor)
}

// ID is the id of the request.
func (r *Run) ID() string { return r.id }

// Done is closed once the run has ended: its outcome is final, its record is
// written, and no provider works for it any more.
func (r *Run) Done() <-chan struct{} { return r.done }

// Cancel ends the run: from its return on no effect of the run begins. It does
// not wait for the end; see Done. By is the actor. A run that has ended stays as
// it is. The record is written even when ctx has ended.
func (r *Run) Cancel(ctx context.Context, by, reason string) {
	if !r.end(ending{state: executors.StateCancelled, name: "Cancelled", text: shape.Clip(reason, 200)}) {
		return
	}
	rec := r.record(RunCancelled)
	rec.Actor, rec.Detail = by, map[string]string{"reason": shape.Clip(reason, 200)}
	// The run has ended whether or not this is written; run_ended follows.
	_ = r.ring.cfg.Audit.Record(context.WithoutCancel(ctx), rec, Written)
}

// end stops the run; the first reason counts. It reports whether this was it.
func (r *Run) end(why ending) bool {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return false
	}
	r.endLocked(&why)
	children := r.childrenLocked()
	r.mu.Unlock()
	r.stop(&why)
	endAll(children)
	return true
}

// childrenLocked takes the subagents of all calls.
func (r *Run) childrenLocked() []*Run {
	var out []*Run
	for _, c := range r.calls {
		if c != nil {
			out = append(out, c.children...)
			c.children = nil
		}
	}
	return out
}

// endAll ends subagents whose call or parent has ended. No lock is held.
func endAll(children []*Run) {
	for _, child := range children {
		child.end(ending{state: executors.StateCancelled, name: "Cancelled", text: "the call that started it has ended"})
	}
}

// endLocked closes the door: what has not begun cannot begin, and what works is
// told to stop.
func (r *Run) endLocked(why *ending) {
	r.ended, r.why, r.paused, r.waiting = true, why, false, nil
	for _, c := range r.calls {
		if c != nil && c.cancel != nil {
			c.cancel(errRunEnded)
		}
	}
	if r.busy == 0 {
		close(r.idle)
	}
}

// life runs the program and concludes the run. A panic on the way ends the run,
// closed, and goes on to whoever started the goroutine.
func (r *Run) life(ctx context.Context, e executors.Executor, req StartRequest) {
	var out executors.Outcome
	err := errPanicked
	defer func() { r.conclude(out, err) }()
	wall := time.AfterFunc(millis(*r.limits.WallMillis)+wallGrace, func() {
		r.end(ending{state: executors.StateLimit, name: "Timeout", text: "the wall clock limit is reached"})
	})
	defer wall.Stop()
	profile := r.agent.profile
	out, err = e.Run(ctx, executors.Run{
		ID: r.id, Actor: r.actor, Agent: &profile, Revision: r.bound.revision,
		Modules: r.bound.modules, Program: req.Program, Inputs: req.Inputs,
		Limits: r.limits, Seed: r.seed,
	}, &host{run: r})
}

// conclude waits for what still works for the run and makes its outcome final.
func (r *Run) conclude(out executors.Outcome, err error) {
	r.mu.Lock()
	if !r.ended {
		r.endLocked(nil)
	}
	children := r.childrenLocked()
	r.mu.Unlock()
	endAll(children)
	<-r.idle
	r.stop(errRunEnded)
	v, fault := r.outcome(out, err)
	rec := r.record(RunEnded)
	rec.State, rec.Fault = string(v.State), fault
	if v.Error != nil {
		rec.Detail = map[string]string{"error": shape.Clip(v.Error.Name, 80)}
	}
	if len(out.Denials) > 0 {
		rec.Decision = &out.Denials[0] // the import that was refused
	}
	if werr := r.put(rec, Written); werr != nil && v.State != executors.StateUnknown {
		v.State, v.Value = executors.StateFailed, nil
		v.Error = &executors.ProgramError{Name: "Closed", Message: "the end of the run could not be recorded"}
	}
	r.mu.Lock()
	r.final = &v
	r.emitLocked(Event{Kind: EventState, State: v.State})
	r.mu.Unlock()
	r.ring.forget(r.id)
	close(r.done)
}

// abandon undoes register for a run that never began.
func (r *Run) abandon() {
	r.mu.Lock()
	if !r.ended {
		r.endLocked(nil)
	}
	r.mu.Unlock()
	r.ring.forget(r.id)
}

// outcome joins what the executor says with what the ring knows. The ring's
// word counts: an executor cannot turn a run that was ended into a result.
func (r *Run) outcome(out executors.Outcome, err error) (v View, fault string) {
	if len(r.console) == 0 {
		for _, e := range out.Console {
			r.print(e)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range out.Denials {
		r.denyLocked(d)
	}
	v = r.viewLocked()
	v.State, v.Error, v.Attestation = out.State, out.Error, out.Attestation
	calls := v.Usage.Calls
	v.Usage, v.Usage.Calls = out.Usage, calls
	v.Dropped += out.Dropped
	switch {
	case r.why != nil:
		v.State, fault = r.why.state, r.why.fault
		v.Error = &executors.ProgramError{Name: r.why.name, Message: r.why.text}
	case err != nil:
		fault = err.Error()
		v.State, v.Error = failure(err, &v)
	default:
		r.settleLocked(out, &v)
	}
	if r.lost {
		v.State = executors.StateUnknown
	}
	return v, fault
}

// settleLocked judges an outcome that the executor reports as the program's own.
func (r *Run) settleLocked(out executors.Outcome, v *View) {
	switch out.State {
	case executors.StateDone:
		if int64(len(out.Value)) > *r.limits.ResultBytes {
			v.State = executors.StateFailed
			v.Error = &executors.ProgramError{Name: nameResultTooLarge, Message: "the result is larger than the limit"}
			return
		}
		if _, err := shape.Scan(out.Value); len(out.Value) > 0 && err != nil {
			v.State = executors.StateFailed
			v.Error = &executors.ProgramError{Name: "Closed", Message: "the guest handed over a result that is not valid"}
			return
		}
		v.Value, v.Error = out.Value, nil
	case executors.StateFailed:
		// A refusal that the program let through is a denial, if there was one:
		// the name alone is the program's word.
		if out.Error != nil && len(r.denials) > 0 && (out.Error.Name == nameDenied || out.Error.Name == nameRevoked) {
			v.State = executors.StateDenied
		}
	case executors.StateDenied, executors.StateLimit, executors.StateCancelled, executors.StateUnknown:
	default:
		v.State = executors.StateFailed
		v.Error = &executors.ProgramError{Name: "Closed", Message: "the executor gave no outcome"}
	}
}

// View returns how the run stands.
func (r *Run) View() View {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final != nil {
		v := *r.final
		v.Console, v.Denials = slices.Clone(v.Console), slices.Clone(v.Denials)
		v.Usage.Calls = maps.Clone(v.Usage.Calls)
		return v
	}
	return r.viewLocked()
}

func (r *Run) viewLocked() View {
	v := View{
		ID: r.id, Actor: r.actor, Agent: r.agentName, Executor: r.executor, Started: r.started,
		Generation: r.bound.number, Revision: r.bound.revision, State: StateRunning,
		Console: slices.Clone(r.console), Dropped: r.dropped, Denials: slices.Clone(r.denials),
		Usage: executors.Usage{Calls: maps.Clone(r.spent.Calls)}, LastEvent: r.events.seq,
	}
	if r.paused {
		v.State = executors.StatePaused
	}
	for _, c := range r.calls {
		if c != nil && c.state == callPending && !r.ended {
			v.Pending = append(v.Pending, Pending{ID: c.id, Bridge: c.bridge, Args: c.args, For: forHarness, Digest: c.digest})
		}
	}
	slices.SortFunc(v.Pending, func(a, b Pending) int { return cmp.Compare(r.calls[a.ID].n, r.calls[b.ID].n) })
	return v
}

// Settled waits until the run has ended or is paused, and returns the view. An
// error is ctx's.
func (r *Run) Settled(ctx context.Context) (View, error) {
	for {
		r.mu.Lock()
		settled, turned := r.final != nil || r.paused, r.events.turned()
		r.mu.Unlock()
		if settled {
			return r.View(), nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return View{}, context.Cause(ctx)
		}
	}
}

// record begins a record with what is known of the run.
func (r *Run) record(kind Kind) Record {
	g := r.ring.gen.Load()
	return Record{Kind: kind, Generation: g.number, Revision: g.revision, Actor: r.actor, Agent: r.agentName, Run: r.id}
}

// put writes a record, with the durability that a policy asks for at least: the
// run's own or the one now in force.
func (r *Run) put(rec Record, d Durability) error {
	now := r.ring.gen.Load().agentOf(r.agentName)
	if r.agent.profile.Audit == auditStrict || (now != nil && now.profile.Audit == auditStrict) {
		d = Synced
	}
	return r.write(rec, d)
}

// auditStrict is the value of profiles.Agent.Audit that syncs every record;
// auditFull the one of profiles.Bridge.Audit that records arguments.
const (
	auditStrict = "strict"
	auditFull   = "full"
	forHarness  = "harness"
)

// millis turns a limit into a duration, at most a year.
func millis(ms int64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(min(max(ms, 0), int64(year/time.Millisecond))) * time.Millisecond
}
