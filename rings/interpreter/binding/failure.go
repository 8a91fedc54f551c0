package binding

import (
	"errors"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Failure is an error of a Provider that the program is told of. Any other one
// fails the call without a word, except for a *profiles.Denial, of which it is told
// the code, the reason and what to ask for.
type Failure struct {
	Name string // of the error the program gets: TypeError
	Text string // what it is told, and nothing of the host
	Err  error  // for the record; nil: Text says it all

	// By is the decision that refused, for the record; nil: none did. Secret says
	// that Text quotes the program, and is not for the record.
	By     *profiles.Decision
	Secret bool
}

// Error is for the record.
func (f *Failure) Error() string {
	if f.Secret {
		return f.Name
	}
	if f.Err == nil {
		return f.Name + ": " + f.Text
	}
	return f.Name + ": " + f.Text + ": " + f.Err.Error()
}

// Unwrap is Err.
func (f *Failure) Unwrap() error { return f.Err }

// maxTold bounds what a program is told.
const maxTold = 4 << 10

// ProgramError is what a program may know of the error of a provider: the name and the text
// of its own error, and the decision when one refused.
func ProgramError(err error) (name, text string, by *profiles.Decision) {
	var no *profiles.Denial
	var f *Failure
	switch {
	case errors.As(err, &no):
		d := no.Decision
		d.Verdict = profiles.Deny
		text = string(d.Code) + ": " + d.Reason
		if len(d.Instead) > 0 {
			text += "; ask for " + strings.Join(d.Instead, ", ")
		}
		return profiles.ErrorCapabilityDenied, jsonvalue.Clip(text, maxTold), &d
	case errors.As(err, &f):
		return f.Name, jsonvalue.Clip(f.Text, maxTold), f.By
	default:
		return profiles.ErrorBridge, "failed", nil
	}
}
