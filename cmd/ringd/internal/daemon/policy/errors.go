package policy

import "errors"

// States that a caller must tell apart.
var (
	// ErrNotFound: no such run, call, agent or executor, or it belongs to
	// another actor.
	ErrNotFound = errors.New("not found")
	// ErrSuperseded: a newer push arrived before this one was compiled.
	ErrSuperseded = errors.New("a newer push came")
	// errCompiler: the compiler could not be run. The same push may succeed later.
	errCompiler = errors.New("the compiler could not be run")
	// errPrepare: a ring could not prepare the set. It may be able to later.
	errPrepare = errors.New("the set could not be prepared")
	// errLater: the push may be accepted at another time.
	errLater = errors.New("the push may be accepted later")
	// ErrRejected: the push was refused. Status has the findings.
	ErrRejected = errors.New("the push was refused")
)

// RejectedError is an ErrRejected with the reason.
type RejectedError struct{ Why string }

// Error says that the push was refused, and why.
func (e *RejectedError) Error() string { return ErrRejected.Error() + ": " + e.Why }

// Is reports whether target is ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

// InvalidError is a bad request. Field names the bad member. An empty Field means the whole request.
type InvalidError struct {
	Field string
	Text  string
}

// Error names the field and what is wrong with it.
func (e *InvalidError) Error() string {
	if e.Field == "" {
		return e.Text
	}
	return e.Field + ": " + e.Text
}
