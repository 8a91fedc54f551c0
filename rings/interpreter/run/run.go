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
)

// ending is why the ring ends a run.
type ending struct {
	State executors.State
	Name  string // of the error
	Text  string // for whoever reads the outcome; no text of the host
	Fault string // for the record
}

// Error is the text of the cause.
func (e *ending) Error() string { return e.Name + ": " + e.Text }

// closedEnding is the ending of a run that cannot go on safely.
func closedEnding(text string, err error) ending {
	e := ending{State: executors.StateFailed, Name: nameClosed, Text: "the run was closed: " + text}
	if err != nil {
		e.Fault = err.Error()
	}
	return e
}

// settleOutcome judges an outcome that the executor reports as the program's own, whose
// value may have limit bytes. v is the run as it stands, with what was refused.
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
		// A refusal that the program let through is a denial, if there was one:
		// the name alone is the program's word.
		if out.Error != nil && len(v.Denials) > 0 && profiles.IsRefusal(out.Error.Name) {
			v.State = executors.StateDenied
		}
	case executors.StateDenied, executors.StateLimit, executors.StateCancelled, executors.StateUnknown:
	default: // paused, too: nobody asked for it
		failed(nameClosed, "the executor gave no outcome")
	}
}

// endedByItself tells an end that leaves a state for the next run: of a program that let a
// refusal through, too, where its executor could keep it.
func endedByItself(out executors.Outcome) bool {
	return out.State == executors.StateDone || out.State == executors.StateFailed ||
		out.State == executors.StateDenied && out.Snapshot != nil
}

// unkeptWhy says why a run leaves no state to the next of its session; "": it does. own
// says that nobody else ended it, bounds are what the policies grant; nil: nothing.
func unkeptWhy(out executors.Outcome, own bool, bounds *profiles.Sessions) string {
	switch {
	case !own || !endedByItself(out):
		return "the run did not end by itself"
	case out.Snapshot == nil && out.Unkept != "":
		return jsonvalue.Clip(out.Unkept, 200)
	case out.Snapshot == nil:
		return "the executor gave no state"
	case bounds == nil:
		return "the policy now in force grants no sessions"
	case int64(len(out.Snapshot)) > bounds.Bytes:
		return "the state is larger than the policy grants"
	}
	return ""
}

// maxImport bounds the name of a module.
const maxImport = 255

// importsOf are the modules that a guest says its program has imported: names, each
// once and in order, at most contract.MaxImports. What is no name is left out.
func importsOf(said []string) []string {
	var out []string
	for _, name := range said {
		if name != "" && len(name) <= maxImport && strings.Trim(name, letters) == "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), contract.MaxImports):min(len(out), contract.MaxImports)]
}

// letters are those of the names of modules: a record separates them by commas.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/@:"

// detailOf is what the record of the end of a run says beside its state.
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

// refusedBy is the first of what the executor itself refused a program, or why it was not
// started, as the record of its end has it; nil: nothing.
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
	if d.Reason = inert(d.Reason, maxReason); executor == profiles.ExecutorShell { // its reason quotes the script
		d = profiles.Decision{Code: d.Code, Rule: d.Rule, Revision: d.Revision}
	}
	return &d
}
