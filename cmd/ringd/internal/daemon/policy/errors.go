package policy

import "errors"

// States that a caller must tell apart.
var (
	// ErrNotFound: no such run, call, agent or executor, or it belongs to
	// another actor.
	ErrNotFound = errors.New("not found")
	// ErrSuperseded: a newer push came before this one was compiled.
	ErrSuperseded = errors.New("a newer push came")
	// errCompiler: the compiler could not be run; the same push may succeed later.
	errCompiler = errors.New("the compiler could not be run")
	// errPrepare: a ring could not prepare the set; it may be able to later.
	errPrepare = errors.New("the set could not be prepared")
	// errLater: the push may be taken at another time.
	errLater = errors.New("the push may be taken later")
	// ErrRejected: the push was refused; Status has the findings.
	ErrRejected = errors.New("the push was refused")
)

// InvalidError is a request that cannot be understood. Field names the member,
// "" the whole.
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
