package life

import (
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/ends"
	"github.com/ringd/ringd/rings/interpreter/rules"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// outcome joins what the executor says with what the ring knows. The ring's
// word counts: an executor cannot turn a run that was ended into a result.
func (r *Run) outcome(out executors.Outcome, err error) (v View, fault string) {
	r.printAll(out.Console)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range out.Denials {
		if !ends.Explain(&r.denials, d) {
			r.denyLocked(d)
		}
	}
	v = r.viewLocked()
	v.State, v.Error, v.Attestation = out.State, out.Error, out.Attestation
	v.Usage = r.from.Plus(out.Usage, v.Usage.Calls)
	v.Dropped += out.Dropped
	v.ExitCode = out.ExitCode
	switch {
	case r.why != nil:
		v.State, fault = r.why.state, r.why.fault
		v.Error = &executors.ProgramError{Name: r.why.name, Message: r.why.text}
	case err != nil:
		fault = err.Error()
		v.State, v.Error = ends.OfRun(err, &v)
	default:
		r.settleLocked(out, &v)
	}
	if r.lost {
		v.State = executors.StateUnknown
	}
	if v.State == executors.StateDenied && r.executor == profiles.ExecutorShell {
		v.ExitCode = ends.ExitRefused
	}
	return v, fault
}

// settleLocked judges an outcome that the executor reports as the program's own.
func (r *Run) settleLocked(out executors.Outcome, v *View) {
	switch out.State {
	case executors.StateDone:
		if int64(len(out.Value)) > *r.limits.ResultBytes {
			v.State = executors.StateFailed
			v.Error = &executors.ProgramError{Name: rules.NameResultTooLarge, Message: "the result is larger than the limit"}
			return
		}
		if _, err := shape.Scan(out.Value); len(out.Value) > 0 && err != nil {
			v.State = executors.StateFailed
			v.Error = &executors.ProgramError{Name: ends.NameClosed, Message: "the guest handed over a result that is not valid"}
			return
		}
		v.Value, v.Error = out.Value, nil
	case executors.StateFailed:
		// A refusal that the program let through is a denial, if there was one:
		// the name alone is the program's word.
		if out.Error != nil && len(r.denials) > 0 && rules.IsRefusal(out.Error.Name) {
			v.State = executors.StateDenied
		}
	case executors.StateDenied, executors.StateLimit, executors.StateCancelled, executors.StateUnknown:
	default: // paused, too: nobody asked for it
		v.State = executors.StateFailed
		v.Error = &executors.ProgramError{Name: ends.NameClosed, Message: "the executor gave no outcome"}
	}
}

// keepSession commits the state that the run leaves. The outcome stands whether
// or not that can be done; v says why not.
func (r *Run) keepSession(out executors.Outcome, v *View) {
	if r.session == "" {
		return
	}
	r.mu.Lock()
	own := r.why == nil && !r.lost
	r.mu.Unlock()
	bounds := r.bound.Sessions(r.host.InForce())
	switch {
	case !own || out.State != executors.StateDone && out.State != executors.StateFailed:
		v.SessionError = "the run did not end by itself"
	case out.Snapshot == nil:
		if v.SessionError = shape.Clip(out.Unkept, 200); v.SessionError == "" {
			v.SessionError = "the executor gave no state"
		}
	case bounds == nil:
		v.SessionError = "the policy now in force grants no sessions"
	case int64(len(out.Snapshot)) > bounds.Bytes:
		v.SessionError = "the state is larger than the policy grants"
	default:
		err := r.kept.Session(SessionState{Name: r.session, Agent: r.agentName, Actor: r.actor, Executor: r.executor,
			Engine: out.Engine, Snapshot: out.Snapshot, Run: r.id, At: r.host.Now()})
		if err != nil {
			v.SessionError = "the state could not be kept"
		}
	}
}
