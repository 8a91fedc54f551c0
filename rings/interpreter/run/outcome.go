package run

import (
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// outcome joins what the executor says with what the ring knows. The ring's
// word counts: an executor cannot turn a run that was ended into a result.
func (r *Run) outcome(out executors.Outcome, err error) (v contract.View, fault string, claims []profiles.Decision) {
	r.printAll(out.Console)
	r.mu.Lock()
	defer r.mu.Unlock()
	own := newExplained(r.denials.List) // what the executor says comes behind it
	for _, d := range out.Denials {
		if !own.Explain(r.denials.List, d) {
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
	case err != nil:
		fault = err.Error()
		v.State, v.Error = endOfRun(err, &v)
	default:
		settleOutcome(out, *r.limits.ResultBytes, &v)
	}
	if r.lost {
		v.State = executors.StateUnknown
	}
	if v.State == executors.StateDenied && r.executor == profiles.ExecutorShell {
		v.ExitCode = profiles.ExitRefused
	}
	return v, fault, claims
}

// recordClaims records what an executor itself refused its program, for a call of the run
// or, where call is "", for the run.
func (r *Run) recordClaims(call, executor string, denials []profiles.Decision, beyond int64) error {
	c := guestClaims{Executor: executor, Denials: denials, Beyond: beyond, Full: r.bound.FullWords()}
	rec := r.Record("")
	rec.Call = call
	for _, rec := range c.Records(rec) {
		if err := r.Put(rec, contract.Written); err != nil {
			return fmt.Errorf("record what run %s was refused: %w", r.id, err)
		}
	}
	return nil
}

// keepSession commits the state that the run leaves. The outcome stands whether
// or not that can be done; v says why not.
func (r *Run) keepSession(out executors.Outcome, v *contract.View) {
	if r.session == "" {
		return
	}
	r.mu.Lock()
	own := r.why == nil && !r.lost
	r.mu.Unlock()
	bounds := r.bound.Sessions(r.host.InForce())
	v.SessionError = unkeptWhy(out, own, bounds)
	if v.SessionError == "" {
		err := r.kept.Session(contract.SessionState{Name: r.session, Agent: r.agentName, Actor: r.actor, Executor: r.executor,
			Engine: out.Engine, Snapshot: out.Snapshot, Run: r.id, Touched: r.two.Record(), At: r.host.Now()})
		if err != nil {
			v.SessionError = "the state could not be kept"
		}
	}
	if v.SessionError != "" {
		r.host.Forget(r.executor, out.Snapshot)
	}
}
