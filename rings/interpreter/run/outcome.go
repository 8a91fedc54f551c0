package run

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// nameClosed is the name of an error that a program cannot catch.
const nameClosed = "Closed"

// textHostFault is the text of a run that a panic or a fault of the host has ended.
const textHostFault = "the run was closed: a fault of the host"

// nameSessionUnusable is the name of the error of a run whose session cannot be restored.
const nameSessionUnusable = "SessionUnusable"

// ending says why the ring ends a run.
type ending struct {
	State executors.State
	Name  string // of the error
	Text  string // for the reader of the outcome, without text of the host
	Fault string // for the record
}

// Error is the text of the cause.
func (e *ending) Error() string { return e.Name + ": " + e.Text }

// closedEnding ends a run that cannot go on safely.
func closedEnding(text string, err error) ending {
	e := ending{State: executors.StateFailed, Name: nameClosed, Text: "the run was closed: " + text}
	if err != nil {
		e.Fault = err.Error()
	}
	return e
}

// settleOutcome checks an outcome that the executor reports as the program's own. Its
// value may have limit bytes. v is the state of the run, with its refusals.
func settleOutcome(out executors.Outcome, limit int64, v *contract.View) {
	failed := func(name, text string) {
		v.State, v.Error = executors.StateFailed, &executors.ProgramError{Name: name, Message: text}
	}
	switch out.State {
	case executors.StateDone:
		if int64(len(out.Value)) > limit {
			failed(profiles.ErrorResultTooLarge, "the result is larger than the limit")
			return
		}
		if _, err := jsonvalue.Scan(out.Value); len(out.Value) > 0 && err != nil {
			failed(nameClosed, "the guest handed over a result that is not valid")
			return
		}
		v.Value, v.Error = out.Value, nil
		v.Repr = out.Repr && len(out.Value) > 0 && out.Value[0] == '"' // it shows a value: text
	case executors.StateFailed:
		// The program did not catch the error of a refusal: that is a denial. A program can
		// throw an error of that name itself, so there must have been a refusal.
		if out.Error != nil && len(v.Denials) > 0 && profiles.IsRefusal(out.Error.Name) {
			v.State = executors.StateDenied
		}
	case executors.StateDenied, executors.StateLimit, executors.StateCancelled, executors.StateUnknown:
	default: // also paused: the ring has not asked for it
		failed(nameClosed, "the executor gave no outcome")
	}
}

// endOfRun returns the outcome of a program that did not run, or whose end is not known. If
// it was refused, v gets the decision.
func endOfRun(err error, v *contract.View) (executors.State, *executors.ProgramError) {
	failed := func(name, text string) (executors.State, *executors.ProgramError) {
		return executors.StateFailed, &executors.ProgramError{Name: name, Message: text}
	}
	var denial *profiles.Denial
	var gone *executors.SessionError
	switch {
	case errors.As(err, &denial):
		all := profiles.Refusals{List: v.Denials, More: v.DenialsMore}
		all.Add(denial.Decision, pause.MaxDenials)
		v.Denials, v.DenialsMore = all.List, all.More
		return executors.StateDenied,
			&executors.ProgramError{Name: profiles.ErrorCapabilityDenied, Message: denial.Decision.Reason}
	case errors.Is(err, errPanicked):
		return failed(nameClosed, textHostFault)
	case errors.Is(err, executors.ErrEngine): // of a session; a paused run stays paused
		return failed(nameSessionUnusable, jsonvalue.Clip(
			"the state of the session needs an engine that is not configured, or has to be dropped: "+err.Error(),
			400))
	case errors.As(err, &gone):
		return failed(nameSessionUnusable, jsonvalue.Clip(gone.Why, 400)+
			"; its content is lost: the session has to be dropped (DELETE /v1/sessions/NAME, ringd sessions drop "+
			"NAME), and its next run starts without a state")
	case errors.Is(err, executors.ErrSnapshot):
		return failed(nameSessionUnusable, "the state of the session cannot be restored: it has to be dropped")
	default:
		text := "the guest ended without an outcome"
		if why := executors.Why(err); why != "" {
			text += ": " + jsonvalue.Clip(why, maxWhy)
		}
		return failed(profiles.ErrorGuestLost, text)
	}
}

// maxWhy limits the reason why a guest was lost.
const maxWhy = 1 << 10

// endedByItself reports whether a run ended in a way that leaves a state for the next run.
// A program that did not catch a refusal did, too, if its executor could keep its state.
func endedByItself(out executors.Outcome) bool {
	return out.State == executors.StateDone || out.State == executors.StateFailed ||
		out.State == executors.StateDenied && out.Snapshot != nil
}

// unkeptWhy returns why a run leaves no state to the next run of its session, or "" if it leaves one. own says
// that the program ended by itself. limits are the session limits of the policies, and nil if they grant no
// sessions.
func unkeptWhy(out executors.Outcome, own bool, limits *profiles.Sessions) string {
	switch {
	case !own || !endedByItself(out):
		return "the run did not end by itself"
	case out.Snapshot == nil && out.Unkept != "":
		return jsonvalue.Clip(out.Unkept, 200)
	case out.Snapshot == nil:
		return "the executor gave no state"
	case limits == nil:
		return "the policy now in force grants no sessions"
	case int64(len(out.Snapshot)) > limits.Bytes:
		return "the state is larger than the policy grants"
	}
	return ""
}

// maxImport limits the name of a module.
const maxImport = 255

// moduleLetters are the letters of names of modules: a record separates them by commas.
const moduleLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/@:"

// importsOf returns the modules that a guest reports as imported by its program: at most
// contract.MaxImports, sorted, each once. It drops everything that is not a name.
func importsOf(reported []string) []string {
	var out []string
	for _, name := range reported {
		if name != "" && len(name) <= maxImport && strings.Trim(name, moduleLetters) == "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), contract.MaxImports):min(len(out), contract.MaxImports)]
}

// detailOf returns the details of the record of the end of a run.
func detailOf(v *contract.View) map[string]string {
	d := contract.Attested(v.Attestation)
	if v.Error != nil {
		d["error"] = jsonvalue.Clip(v.Error.Name, 80)
	}
	if v.Touched != nil && len(powers.List(v.Touched.Powers)) > 0 {
		d["touched"] = powers.Text(v.Touched.Powers)
	}
	if len(v.Imports) > 0 {
		d["imports"] = strings.Join(v.Imports, ",")
	}
	if v.ExitCode != 0 {
		d["exit_code"] = strconv.Itoa(v.ExitCode)
	}
	return d
}

// refusedBy returns the first refusal that the executor made itself, or the decision that
// the program was not started for, as the record of the end of the run has it. It is nil if
// there is none.
func refusedBy(denials []profiles.Decision, err error, executor string) *profiles.Decision {
	var d profiles.Decision
	var denial *profiles.Denial
	switch {
	case len(denials) > 0:
		d = denials[0]
	case errors.As(err, &denial):
		d = denial.Decision
	default:
		return nil
	}
	d.Reason = inert(d.Reason, maxReason)
	if executor == profiles.ExecutorShell { // the reason quotes the script
		d = profiles.Decision{Code: d.Code, Rule: d.Rule, Revision: d.Revision}
	}
	return &d
}
