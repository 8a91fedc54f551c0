package run

import (
	"errors"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// conclusion makes the outcome of a run final, from what its executor returned. It takes
// the lock of the run itself.
type conclusion struct {
	run *Run
	out executors.Outcome
	err error
}

// conclude waits for the calls that still work for the run, makes its outcome final and
// records it. A panic on the way fails the run, and goes on.
func (e *conclusion) conclude() {
	whole := false
	defer func() {
		if !whole {
			e.fail()
		}
	}()
	e.concludeOrPanic()
	whole = true
}

// fail ends a run whose outcome could not be made.
func (e *conclusion) fail() {
	r := e.run
	r.mu.Lock()
	v := r.viewLocked()
	v.State, v.Error = executors.StateFailed, &executors.ProgramError{Name: nameClosed, Message: textHostFault}
	if r.unknown {
		v.State = executors.StateUnknown
	}
	r.ended, r.final = true, &v
	r.setPhaseLocked(phaseRunning)
	r.mu.Unlock()
	r.leave(v.State)
}

func (e *conclusion) concludeOrPanic() {
	r := e.run
	r.mu.Lock()
	if r.phase == phasePaused {
		r.mu.Unlock()
		r.leave(executors.StatePaused)
		return
	}
	r.setPhaseLocked(phaseRunning)
	if !r.ended {
		r.endLocked(nil)
	}
	children := r.book.takeChildren()
	r.mu.Unlock()
	endAll(children)
	<-r.idle
	r.stop(errRun)
	open := e.closeLeft()
	v, fault, claims := e.outcome()
	if open != nil && v.State != executors.StateUnknown {
		v.State, v.Value, fault = executors.StateFailed, nil, open.Error()
		v.Error = &executors.ProgramError{Name: nameClosed, Message: "the end of a call could not be recorded"}
	}
	e.keepSession(&v)
	rec := r.Record(contract.RunEnded)
	rec.State, rec.Fault, rec.Detail = string(v.State), fault, detailOf(&v)
	rec.Decision = refusedBy(e.out.Denials, e.err, r.executor) // the import, or the command
	err := r.recordClaims("", r.executor, claims, e.out.Refused)
	if err = errors.Join(err, r.Put(rec, contract.Written)); err != nil && v.State != executors.StateUnknown {
		v.State, v.Value = executors.StateFailed, nil
		v.Error = &executors.ProgramError{Name: nameClosed, Message: "the end of the run could not be recorded"}
	}
	r.point("end_recorded")
	r.mu.Lock()
	r.final = &v
	r.mu.Unlock()
	r.leave(v.State)
}

// closeLeft closes the calls of a stopped guest, in a run that ended all the same.
func (e *conclusion) closeLeft() error {
	r := e.run
	r.mu.Lock()
	left := r.book.left()
	r.mu.Unlock()
	var errs []error
	for _, c := range left {
		if c.Settled != nil && c.Settled.Result != nil {
			continue // its end is committed
		}
		res := interruptedResult(contract.CallUnrun)
		if c.Settled != nil && c.Settled.Again {
			res.End = contract.CallUnknown
		}
		if _, err := (closing{r, c}).finish(res); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// outcome joins what the executor returned with what the ring knows. The ring wins: an
// executor cannot turn a run that was ended into a result. claims are refusals that only
// the executor knows of.
func (e *conclusion) outcome() (v contract.View, fault string, claims []profiles.Decision) {
	r, out := e.run, e.out
	r.printAll(out.Console, *r.limits.OutputBytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	unexplained := newUnexplained(r.denials.List) // before the refusals of the executor are added
	for _, d := range out.Denials {
		if !unexplained.Explain(r.denials.List, d) {
			r.denyLocked(d)
			claims = append(claims, d)
		}
	}
	r.denials.Beyond(out.Refused)
	v = r.viewLocked()
	v.State, v.Error, v.Attestation = out.State, out.Error, out.Attestation
	v.Usage = r.from.Plus(out.Usage, v.Usage.Calls)
	v.Dropped += out.Dropped
	v.ExitCode, v.Imports = out.ExitCode, importsOf(out.Imports)
	switch {
	case r.why != nil:
		v.State, fault = r.why.State, r.why.Fault
		v.Error = &executors.ProgramError{Name: r.why.Name, Message: r.why.Text}
	case e.err != nil:
		fault = e.err.Error()
		v.State, v.Error = endOfRun(e.err, &v)
	default:
		settleOutcome(out, *r.limits.ResultBytes, &v)
	}
	if r.unknown {
		v.State = executors.StateUnknown
	}
	if v.State == executors.StateDenied && r.executor == profiles.ExecutorShell {
		v.ExitCode = profiles.ExitRefused
	}
	return v, fault, claims
}

// keepSession commits the state that the run leaves to the next run of its session. If that
// fails, v says why, and the outcome stays as it is.
func (e *conclusion) keepSession(v *contract.View) {
	r, out := e.run, e.out
	if r.session == "" {
		return
	}
	r.mu.Lock()
	own := r.why == nil && !r.unknown
	r.mu.Unlock()
	v.SessionError = unkeptWhy(out, own, r.bound.Sessions(r.host.InForce()))
	if v.SessionError == "" {
		err := r.journal.Session(contract.SessionState{
			Name: r.session, Agent: r.agent, Actor: r.actor, Executor: r.executor,
			Engine: out.Engine, Snapshot: out.Snapshot, Run: r.id, Touched: r.powers.Record(), At: r.host.Now()})
		if err != nil {
			v.SessionError = "the state could not be kept"
		}
	}
	if v.SessionError != "" {
		r.host.Forget(r.executor, out.Snapshot)
	}
}
