package daemon

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/schema/wire"
)

// Actor identifies the caller. All lets it see and end the runs of every actor. Without All, the runs of
// other actors do not exist for it. The zero Actor may do nothing.
type Actor struct {
	Name string // for example uid:1000 or token:ci
	All  bool
}

// liveRun is a run that has not ended, or whose end is not on disk yet.
type liveRun struct {
	id       string
	actor    string
	executor string
	created  time.Time
	stop     context.CancelFunc // ends the run; for a resumed run guarded by runTable.mu, see halt
	stopped  bool               // stop was requested; guarded by runTable.mu
	gate     *records.Gate      // opens when the start is on disk
	handle   Live               // nil until started; guarded by runTable.mu
	kept     bool               // its start is committed before it begins
	resumed  bool               // it continues a stored run; guarded by runTable.mu
	ready    chan struct{}      // closed when handle is set, or will never be

	done  chan struct{} // closed when the end is on disk, or could not be stored
	final wire.Run      // set before done is closed
	err   error         // why the end could not be stored; set before done is closed
}

// startGrace is how long the start of a run waits for its end, so that both can be one commit.
const startGrace = 2 * time.Millisecond

// stdin returns nil if a program has no input.
func stdin(p wire.Program) []byte {
	if p.Stdin == "" {
		return nil
	}
	return []byte(p.Stdin)
}

// runStarts starts runs and commits their ends.
type runStarts struct {
	cfg     *Config
	policy  *policy.State
	table   *runTable
	health  *recordHealth
	budgets *requestBudgets
	views   *runViews
	parents *parentHolds
}

// StartRun starts a program under the generation in force. If it returns nil, the run is on disk and a crash
// does not lose it. If WaitMillis is set, it waits for the run to pause or end. If ctx ends meanwhile, the
// run continues, and it is stored. Other errors are *InvalidError, ErrNotFound and ErrEnded (the parent run),
// ErrParent, ErrDraining, ErrDiskLow, ErrQuota, ErrTooFast, ErrUnavailable, *profiles.Denial and faults.
// After any of them nothing runs.
func (d *runStarts) StartRun(ctx context.Context, actor Actor, req wire.RunRequest) (wire.Run, error) {
	if err := checkRunRequest(actor.Name, &req); err != nil {
		return wire.Run{}, err
	}
	if err := d.health.Writable(); err != nil {
		return wire.Run{}, err
	}
	if err := d.budgets.checkBudget(ctx, bucketKey{actor.Name, bucketDecisions}); err != nil {
		return wire.Run{}, err
	}
	id, err := d.newID()
	if err != nil {
		return wire.Run{}, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &liveRun{id: id, actor: actor.Name, executor: req.Executor, created: d.cfg.Clock.Now(),
		stop: stop, done: make(chan struct{}), ready: make(chan struct{})}
	if err := d.table.admit(r); err != nil {
		stop()
		return wire.Run{}, d.recordRefusal(ctx, audit.RequestRefused, r, req.Agent, err)
	}
	if err := d.start(ctx, running, actor, r, req); err != nil {
		d.table.drop(r, err)
		return wire.Run{}, d.recordRefusal(ctx, audit.RunRefused, r, req.Agent, err)
	}
	// No caller sees the run before its start, or its end, is on disk.
	waiting, cancel := context.WithTimeout(ctx, time.Duration(req.WaitMillis)*time.Millisecond)
	defer cancel()
	run, over, err := d.views.view(ctx, waiting, r)
	if err != nil || over && view.Ended(run.State) {
		return run, err
	}
	if over { // it waits, and may have been resumed meanwhile
		return d.views.GetRun(ctx, actor, id, 0)
	}
	if err := r.gate.Pass(ctx); err != nil {
		return wire.Run{}, err
	}
	return run, nil
}

// newID returns an id that cannot be guessed.
func (d *runStarts) newID() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(d.cfg.Random, b[:]); err != nil {
		return "", fmt.Errorf("choose the id of a run: %w", err)
	}
	return "r" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])), nil
}

// recordRefusal records why a run did not start, and returns cause.
func (d *runStarts) recordRefusal(ctx context.Context, k audit.Kind, r *liveRun, agent string, cause error) error {
	d.budgets.charge(bucketKey{r.actor, bucketDecisions})
	rec := d.policy.Record(k)
	rec.Actor, rec.Agent, rec.Run, rec.Capability = r.actor, agent, r.id, "executor:"+r.executor
	var denial *profiles.Denial
	var invalid *policy.InvalidError
	switch {
	case errors.As(cause, &denial):
		rec.Decision = audit.Decided(denial.Decision)
	case errors.Is(cause, records.ErrUnavailable):
		return cause
	case errors.Is(cause, ErrDraining),
		errors.Is(cause, ErrDiskLow),
		errors.Is(cause, ErrQuota),
		errors.Is(cause, ErrParent),
		errors.Is(cause, ErrSessionBusy),
		errors.Is(cause, policy.ErrNotFound),
		errors.Is(cause, ErrEnded),
		errors.As(cause, &invalid):
		rec.Detail = map[string]string{"reason": cause.Error()}
	default:
		rec.Fault = &audit.Fault{ID: r.id, Text: cause.Error()}
	}
	_, err := d.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written)
	return errors.Join(cause, err)
}

// start records the request, binds r to the generation in force and starts it. The start is committed while
// the guest works. Before that commit, no answer is returned and no call of the run leaves the host.
func (d *runStarts) start(ctx, running context.Context, actor Actor, r *liveRun, req wire.RunRequest) error {
	if req.Parent != nil {
		let, err := d.parents.holdParent(ctx, actor, pause.Parent(*req.Parent), 1)
		if err != nil {
			return fmt.Errorf("parent: %w", err)
		}
		defer let()
	}
	program := audit.Digest([]byte(req.Program.Source))
	rec := d.policy.Record(audit.RunAsked)
	rec.Actor, rec.Agent, rec.Run, rec.Digest = r.actor, req.Agent, r.id, program
	rec.Capability = "executor:" + req.Executor
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Written); err != nil {
		return err
	}
	row := store.Run{ID: r.id, Agent: req.Agent, Actor: r.actor, Executor: req.Executor, State: store.Started,
		Program: program, Session: req.Session}
	if err := d.bind(running, r, req, &row); err != nil {
		return err
	}
	kept := context.WithoutCancel(ctx)
	d.cfg.Group.Go(func() { d.follow(kept, r, row) })
	return nil
}

// bind starts r under the generation in force. No generation is committed in between.
func (d *runStarts) bind(running context.Context, r *liveRun, req wire.RunRequest, row *store.Run) (err error) {
	g, release := d.policy.Bind()
	defer release()
	if err := d.policy.Open(g, req.Executor); err != nil {
		return err
	}
	row.Generation, row.Revision = g.Number, g.Revision
	var session *contract.SessionState
	if req.Session != "" {
		if session, err = d.enterSession(running, r, *row); err != nil {
			return err
		}
	}
	r.gate = d.cfg.Journal.Expect(r.id)
	var parent *pause.Parent
	if req.Parent != nil {
		parent = &pause.Parent{Run: req.Parent.Run, Call: req.Parent.Call}
	}
	handle, err := d.cfg.Interpreter.Start(running, interpreter.StartRequest{
		ID: r.id, Actor: r.actor, Agent: req.Agent, Executor: req.Executor, Inputs: req.Inputs, Parent: parent,
		Program: executors.Program{
			Name:     req.Program.Name,
			Language: req.Program.Language,
			Source:   req.Program.Source,
			Stdin:    stdin(req.Program),
			Dir:      req.Program.Cwd,
		},
		Session: req.Session, SessionState: session, Grants: req.Grants,
	})
	if errors.Is(err, profiles.ErrGrants) {
		err = invalid("grants", strings.TrimPrefix(strings.TrimPrefix(err.Error(), "start run "+r.id+": "), "grants: "))
	} else if errors.Is(err, contract.ErrSession) {
		err = invalid("session", strings.TrimPrefix(err.Error(), "start run "+r.id+": "))
	}
	if err != nil && r.kept {
		d.leaveSession(running, r, err)
	}
	if errors.Is(err, contract.ErrParent) {
		return fmt.Errorf("%w: %w", ErrParent, err)
	}
	if err != nil {
		return err
	}
	d.table.setHandle(r, handle)
	return nil
}

// follow commits the start of r and its end. Waiting callers see only what is on disk.
func (d *runStarts) follow(ctx context.Context, r *liveRun, row store.Run) {
	if r.kept {
		r.gate.Open(nil)
		<-r.handle.Done()
		d.finish(ctx, r, nil)
		return
	}
	select {
	case <-r.handle.Done():
		d.commitWhole(ctx, r, row)
		return
	case <-r.gate.Asked():
	case <-d.cfg.Clock.After(startGrace):
	}
	err := d.cfg.Store.Start(ctx, row)
	if err != nil {
		err = d.health.storeFailed("start", r.id, err)
		r.stop()
	}
	r.gate.Open(err)
	<-r.handle.Done()
	d.finish(ctx, r, err)
}

// finish commits the end of run r. If the start of r could not be committed (unkept), finish commits nothing.
// A pause of r is on disk already. If all calls of the pause are answered already, finish queues the run for
// a resume.
func (d *runStarts) finish(ctx context.Context, r *liveRun, unkept error) {
	r.final = view.Run(r.handle.View(), r.created)
	paused := r.final.State == string(executors.StatePaused)
	err := unkept
	if err == nil && !paused {
		d.cfg.Point("end_recorded")
		if err = d.commitEnd(ctx, &r.final); err != nil {
			err = d.health.storeFailed("end", r.id, err)
		} else {
			d.cfg.Point("end_kept")
		}
	}
	d.table.drop(r, err)
	if err != nil || !paused {
		return
	}
	row, err := d.cfg.Store.Run(ctx, r.id)
	if err != nil {
		d.cfg.Logger.Error("read a paused run", "run", r.id, "error", err)
		return
	}
	if row.State == store.Answered {
		d.table.enqueue(r.id, r.actor, self)
	}
}

// commitWhole commits start and end of a run at once, because the run ended before any caller asked for it.
func (d *runStarts) commitWhole(ctx context.Context, r *liveRun, row store.Run) {
	r.final = view.Run(r.handle.View(), r.created)
	raw, err := view.Outcome(&r.final)
	if err == nil {
		row.State, row.Outcome = store.State(r.final.State), raw
		err = d.cfg.Store.Start(ctx, row)
	}
	if err != nil {
		err = d.health.storeFailed("end", r.id, err)
	}
	r.gate.Open(err)
	d.table.drop(r, err)
}

// commitEnd commits the outcome of a run whose start is on disk.
func (d *runStarts) commitEnd(ctx context.Context, out *wire.Run) error {
	raw, err := view.Outcome(out)
	if err != nil {
		return err
	}
	_, err = d.cfg.Store.Advance(ctx, out.ID, store.State(out.State), store.Change{Outcome: raw})
	return err
}

// enterSession commits that a run has the session, and returns the state that it continues from. A new
// session has the state nil. No other run has the session until this one ends.
func (d *runStarts) enterSession(ctx context.Context, r *liveRun, row store.Run) (*contract.SessionState, error) {
	err := d.cfg.Store.Start(ctx, row)
	if errors.Is(err, store.ErrBusy) {
		return nil, fmt.Errorf("session %s: %w", row.Session, ErrSessionBusy)
	}
	if err != nil {
		return nil, d.health.storeFailed("start", row.ID, err)
	}
	r.kept = true
	state, err := d.cfg.Waiting.Keeper.OpenSession(ctx, row.Actor, row.Session, row.Agent, row.Executor)
	switch {
	case errors.Is(err, waiting.ErrSession):
		err = invalid("session", err.Error())
	case err != nil:
		d.cfg.Logger.Error("open a session", "run", row.ID, "session", row.Session, "error", err)
		err = waiting.Stuck(row.ID, err)
	}
	if err != nil {
		d.leaveSession(ctx, r, err)
	}
	return state, err
}

// leaveSession ends a stored run that did not start.
func (d *runStarts) leaveSession(ctx context.Context, r *liveRun, cause error) {
	state := executors.StateFailed
	var denial *profiles.Denial
	if errors.As(cause, &denial) {
		state = executors.StateDenied
	}
	out := wire.Run{
		ID:       r.id,
		State:    string(state),
		Executor: r.executor,
		Created:  &r.created,
		Console:  []wire.ConsoleEntry{},
		Denials:  []profiles.Decision{},
		Error:    &wire.RunError{Name: "NotStarted", Message: "the run did not start"},
	}
	if err := d.commitEnd(context.WithoutCancel(ctx), &out); err != nil {
		d.cfg.Logger.Error("end a run that did not start", "run", r.id, "error", d.health.storeFailed("end", r.id, err))
	}
}
