package interpreter

import (
	"errors"
)

// States that a caller must tell apart. Those of package contract are the same values.
var (
	// ErrClosed: the ring was closed.
	ErrClosed = errors.New("interpreter ring is closed")
	// ErrExists: a live run has this id.
	ErrExists = errors.New("a live run has this id")
)

// ExecutorError says that one executor rejects its profile of a set. The ring
// has closed that executor; nothing else changed.
type ExecutorError struct {
	Name string
	Err  error
}

// Error names the executor and the cause.
func (e *ExecutorError) Error() string {
	return "executor " + e.Name + " rejects its profile: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExecutorError) Unwrap() error { return e.Err }

// Executor names the executor.
func (e *ExecutorError) Executor() string { return e.Name }
