package binding

import (
	"errors"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Failure is an error of a provider that the program gets to know. Any other error fails the
// call without a text, except for a *profiles.Denial: of that the program gets the code, the
// reason and what it may do instead.
type Failure struct {
	Name string // of the error the program gets: TypeError
	Text string // for the program, without text of the host
	Err  error  // for the record; nil if Text is enough

	// By is the decision that refused, for the record; may be nil. Secret says that Text
	// quotes the program and is not for the record.
	By     *profiles.Decision
	Secret bool
}

// Error returns the text for the record.
func (f *Failure) Error() string {
	if f.Secret {
		return f.Name
	}
	if f.Err == nil {
		return f.Name + ": " + f.Text
	}
	return f.Name + ": " + f.Text + ": " + f.Err.Error()
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// maxProgramText limits the text that a program gets.
const maxProgramText = 4 << 10

// ProgramError returns what a program may know of the error of a provider: the name and the
// text of its own error, and the decision if one refused.
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
		return profiles.ErrorCapabilityDenied, jsonvalue.Clip(text, maxProgramText), &d
	case errors.As(err, &f):
		return f.Name, jsonvalue.Clip(f.Text, maxProgramText), f.By
	default:
		return profiles.ErrorBridge, "failed", nil
	}
}
