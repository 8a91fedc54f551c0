package run

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Run is one life of a run: from its start, or from a pause, to its end or to the
// next pause. It is safe for concurrent use, also after the end.
type Run struct {
	host      *Host
	id        string
	actor     string
	agentName string
	executor  string
	program   executors.Program
	parent    *pause.Parent
	session   string
	root      string // the first run of the tree
	seed      [32]byte
	started   time.Time

	// Set before the run is live.
	bound  *binding.Binding
	limits profiles.Limits
	tree   *budget.Tree
	two    *powersWatch
	depth  int64
	from   *pause.Record // that the run goes on from; nil: it was started
	floor  int64         // calls up to this number were made before
	asking chan struct{} // one value asks the executor to stop the program
	stop   context.CancelCauseFunc
	kept   journalWriter
	done   chan struct{}

	mu      sync.Mutex // never held while something is written or performed
	phase   phase
	changed chan struct{} // closed at the next change of phase; nil: nobody waits
	ended   bool          // no effect of the run may begin
	why     *ending       // why the ring ended it; nil: the program ended
	lost    bool          // an act with external power has no known result
	busy    int           // questions being answered
	idle    chan struct{} // closed once the run is over and nothing is busy
	quiet   bool          // idle is closed
	calls   map[string]*call
	order   int
	spent   budget.Spend
	acts    pause.Acts
	gone    bool          // acts of this life cannot be repeated: it is committed
	clock   *budget.Clock // of the wall clock limit
	waiting []string      // the calls the guest waits on and can do nothing before
	revoked map[string]bool
	reach   binding.Reach // of guests
	reached binding.Reach // of providers
	denials profiles.Refusals
	feed    Feed
	final   *contract.View
	err     error
}

// phase is what happens to the guest of a run.
type phase uint8

const (
	running phase = iota // it runs, or waits
	pausing              // it was asked to stop; nothing is settled
	keeping              // it has stopped; the pause is being committed
	held                 // there is none: only subagents live
	over                 // there is none, and the run is paused
)

// New makes a run that is not live yet: it has to be bound, and either lives or
// is abandoned.
func New(h *Host, id, actor, agent, executor string) *Run {
	return &Run{
		host: h, id: id, two: newPowersWatch(powersHost{InForce: h.InForce, Narrowed: h.Narrowed, Go: h.Go}, id), root: id, stop: func(error) {}, actor: actor, agentName: agent, executor: executor,
		started: h.Now(), tree: budget.NewTree(0), done: make(chan struct{}), idle: make(chan struct{}),
		asking: make(chan struct{}, 1), calls: map[string]*call{}, revoked: map[string]bool{},
		spent: budget.Spend{Calls: map[string]int64{}, Open: map[string]int64{}},
	}
}

// Bind ties the run to what binds it.
func (r *Run) Bind(b *binding.Binding) {
	r.bound, r.limits = b, b.Limits(nil)
	r.two.Bind(b)
}

// Bound is what binds the run.
func (r *Run) Bound() *binding.Binding { return r.bound }

// Executor names what the run runs on.
func (r *Run) Executor() string { return r.executor }

// Parent is that of a subagent, or nil.
func (r *Run) Parent() *pause.Parent { return r.parent }

// Begin tells that the run runs, once its record is written.
func (r *Run) Begin() {
	r.two.Live()
	r.emitState(contract.StateRunning)
}

// Started says what a new run is made of.
func (r *Run) Started(p executors.Program, parent *pause.Parent, session string) {
	r.program, r.parent, r.session = p, parent, session
}

// Draw takes the seed of the guest's random numbers.
func (r *Run) Draw(random io.Reader) error {
	_, err := io.ReadFull(random, r.seed[:])
	return err
}

// point tells who tests crashes where the run is.
func (r *Run) point(label string) {
	if r.host.Point != nil {
		r.host.Point(label)
	}
}

// ID is the id of the request.
func (r *Run) ID() string { return r.id }

// Done is closed once this life of the run is over: its outcome is final and its
// record is written, or it is paused and kept; no provider works for it any more.
// View tells which.
func (r *Run) Done() <-chan struct{} { return r.done }

// Err is, once Done is closed, why a resumed run did not begin: it is the
// executor's, as executors.ErrEngine, executors.ErrSnapshot, or that no guest
// could be started. Nothing was settled, and the pause stands. Else it is nil.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Cancel ends the run: from its return on no effect of the run begins. It does
// not wait for the end; see Done. By is the actor. A run that has ended stays as
// it is, and so does one whose pause is being committed or is kept: View tells,
// once Done is closed. The record is written even when ctx has ended.
func (r *Run) Cancel(ctx context.Context, by, reason string) {
	if !r.end(ending{State: executors.StateCancelled, Name: profiles.ErrorCancelled, Text: jsonvalue.Clip(reason, 200)}) {
		return
	}
	rec := r.Record(contract.RunCancelled)
	rec.Actor, rec.Detail = by, map[string]string{"reason": jsonvalue.Clip(reason, 200)}
	// The run has ended whether or not this is written; run_ended follows.
	_ = r.host.Audit.Record(context.WithoutCancel(ctx), rec, contract.Written)
}

// Exceed ends the run for a limit that is not its policy's, which text names.
func (r *Run) Exceed(text string) {
	r.end(ending{State: executors.StateLimit, Name: profiles.ErrorBudgetExceeded, Text: jsonvalue.Clip(text, 200)})
}

// end stops the run; the first reason counts. It reports whether this was it.
func (r *Run) end(why ending) bool {
	r.mu.Lock()
	if r.ended || r.phase == keeping || r.phase == over {
		r.mu.Unlock()
		return false
	}
	r.endLocked(&why)
	children, wasHeld := r.childrenLocked(), r.phase == held
	r.mu.Unlock()
	r.stop(&why)
	endAll(children)
	if wasHeld {
		r.depart(executors.StateCancelled)
	}
	return true
}

// childrenLocked takes the subagents of all calls.
func (r *Run) childrenLocked() []*Run {
	var out []*Run
	for _, c := range r.calls {
		if c != nil {
			out = append(out, c.Children...)
			c.Begun += int64(len(c.Children))
			c.Children = nil
		}
	}
	return out
}

// endAll ends subagents whose call or parent has ended. No lock is held.
func endAll(children []*Run) {
	for _, child := range children {
		child.end(ending{State: executors.StateCancelled, Name: profiles.ErrorCancelled, Text: "the call that started it has ended"})
	}
}

// endLocked closes the door: what has not begun cannot begin, and what works is
// told to stop.
func (r *Run) endLocked(why *ending) {
	r.ended, r.why, r.waiting = true, why, nil
	for _, c := range r.calls {
		if c != nil && c.Cancel != nil {
			c.Cancel(errRun)
		}
	}
	r.shiftLocked(r.phase)
	r.quietLocked()
}

// shiftLocked moves to a phase and tells who waits for that.
func (r *Run) shiftLocked(to phase) {
	r.phase = to
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// quietLocked closes idle when nothing works for the run and nothing will.
func (r *Run) quietLocked() {
	if r.busy == 0 && !r.quiet && (r.ended || r.phase == keeping) {
		r.quiet = true
		close(r.idle)
	}
}

// Live runs the program and concludes the run. A panic on the way ends the run,
// closed, and goes on to whoever started the goroutine.
func (r *Run) Live(ctx context.Context, e executors.Executor, run executors.Run) {
	var out executors.Outcome
	err := errPanicked
	defer r.host.Turns.End(r) // once it is over, and takes none any more
	defer func() { r.conclude(out, err) }()
	clock := budget.Tick(r.host.Now, budget.Wall(*r.limits.WallMillis, r.from.Plus(executors.Usage{}, nil).Wall), func() {
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
	out, err = e.Run(ctx, run, &host{run: r})
	if r.unbegun(err) {
		return
	}
	if err == nil && out.State == executors.StatePaused {
		paused := out
		out, err = executors.Outcome{}, errPanicked
		out, err = r.keepPause(paused)
	}
}

// conclude waits for what still works for the run and makes its outcome final. A
// panic on the way fails the run, and goes on.
func (r *Run) conclude(out executors.Outcome, err error) {
	told := false
	defer func() {
		if !told {
			r.fail()
		}
	}()
	r.concludeWhole(out, err)
	told = true
}

// fail makes a run over whose end could not be made.
func (r *Run) fail() {
	r.mu.Lock()
	v := r.viewLocked()
	v.State, v.Error = executors.StateFailed, &executors.ProgramError{Name: nameClosed, Message: "the run was closed: a fault of the host"}
	if r.lost {
		v.State = executors.StateUnknown
	}
	r.ended, r.final = true, &v
	r.shiftLocked(running)
	r.mu.Unlock()
	r.depart(v.State)
}

func (r *Run) concludeWhole(out executors.Outcome, err error) {
	r.mu.Lock()
	if r.phase == over {
		r.mu.Unlock()
		r.depart(executors.StatePaused)
		return
	}
	r.shiftLocked(running)
	if !r.ended {
		r.endLocked(nil)
	}
	children := r.childrenLocked()
	r.mu.Unlock()
	endAll(children)
	<-r.idle
	r.stop(errRun)
	left := r.closeLeft()
	v, fault, claims := r.outcome(out, err)
	if left != nil && v.State != executors.StateUnknown {
		v.State, v.Value, fault = executors.StateFailed, nil, left.Error()
		v.Error = &executors.ProgramError{Name: nameClosed, Message: "the end of a call could not be recorded"}
	}
	r.keepSession(out, &v)
	rec := r.Record(contract.RunEnded)
	rec.State, rec.Fault, rec.Detail = string(v.State), fault, detailOf(&v)
	rec.Decision = refusedBy(out.Denials, err, r.executor) // the import, or the command
	werr := r.recordClaims("", r.executor, claims, out.Refused)
	if werr = errors.Join(werr, r.Put(rec, contract.Written)); werr != nil && v.State != executors.StateUnknown {
		v.State, v.Value = executors.StateFailed, nil
		v.Error = &executors.ProgramError{Name: nameClosed, Message: "the end of the run could not be recorded"}
	}
	r.point("end_recorded")
	r.mu.Lock()
	r.final = &v
	r.mu.Unlock()
	r.depart(v.State)
}

// depart tells how this life of the run is over and takes it off the live ones.
func (r *Run) depart(s executors.State) {
	r.mu.Lock()
	if r.final == nil {
		v := r.viewLocked()
		v.State = s
		r.final = &v
	}
	r.emitLocked(Event{Kind: EventState, State: s})
	r.final.LastEvent = r.feed.Last
	r.mu.Unlock()
	r.stop(errRun)
	r.host.Gone(r)
	close(r.done)
}

// Abandon undoes a run that never began: its subagents end.
func (r *Run) Abandon(why error) {
	r.mu.Lock()
	if !r.ended {
		r.endLocked(nil)
	}
	children := r.childrenLocked()
	r.mu.Unlock()
	endAll(children)
	r.stop(why)
	r.host.Gone(r)
}

// Close ends a run because the host ends.
func (r *Run) Close() {
	r.end(ending{State: executors.StateCancelled, Name: profiles.ErrorCancelled, Text: "ringd is closing"})
}

// View returns how the run stands.
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
	v := contract.View{
		ID: r.id, Actor: r.actor, Agent: r.agentName, Executor: r.executor, Started: r.started, Session: r.session,
		Generation: r.bound.Generation(), Revision: r.bound.First().Revision, State: contract.StateRunning,
		Console: slices.Clone(r.feed.Console), Dropped: r.feed.Dropped, Denials: slices.Clone(r.denials.List), DenialsMore: r.denials.More,
		Usage: executors.Usage{Calls: maps.Clone(r.spent.Calls)}, LastEvent: r.feed.Last, Touched: r.two.View(),
		Ran: r.acts.Ran[:len(r.acts.Ran):len(r.acts.Ran)], RanMore: r.acts.More, Asked: r.acts.Asked[:len(r.acts.Asked):len(r.acts.Asked)],
	}
	if r.phase == held {
		v.State = executors.StatePaused
	}
	for _, c := range r.calls {
		if c != nil && c.Open() && !r.ended {
			v.Pending = append(v.Pending, c.Pending())
		}
	}
	slices.SortFunc(v.Pending, func(a, b contract.Pending) int { return cmp.Compare(r.calls[a.ID].N, r.calls[b.ID].N) })
	return v
}

// Settled waits until the run has ended or is paused, or has a call that its harness
// has to answer while the program is held, and returns the view. An error is ctx's.
func (r *Run) Settled(ctx context.Context) (contract.View, error) {
	for {
		r.mu.Lock()
		settled, turned := r.final != nil || r.phase == held || r.heldByLocked(pause.ForHarness), r.feed.Turned()
		r.mu.Unlock()
		if settled {
			return r.View(), nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return contract.View{}, context.Cause(ctx)
		}
	}
}

// Record begins a record with what is known of the run.
func (r *Run) Record(kind contract.Kind) contract.Record {
	g := r.host.InForce()
	return contract.Record{Kind: kind, Generation: g.Number, Revision: g.Revision, Actor: r.actor, Agent: r.agentName, Run: r.id}
}

// Put writes a record, with the durability that a policy asks for at least: one
// that binds the run or the one now in force.
func (r *Run) Put(rec contract.Record, d contract.Durability) error {
	if r.bound.Strict(r.host.InForce()) {
		d = contract.Synced
	}
	return r.kept.Write(rec, d)
}

// Under gives the run the context that it ends with, and writes under one that
// outlives it.
func (r *Run) Under(ctx context.Context) context.Context {
	live, stop := context.WithCancelCause(ctx)
	r.stop, r.kept = stop, newJournalWriter(context.WithoutCancel(ctx), r.id, r.host.Audit, r.host.Journal, r.host.Keeper)
	r.two.Under(r.kept.Touched, func(err error) { r.end(closedEnding("what it touches could not be noted", err)) })
	return live
}
