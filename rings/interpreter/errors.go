package interpreter

import (
	"errors"
)

// Errors that a caller must tell apart. Others are in package contract.
var (
	// ErrClosed says that the ring was closed.
	ErrClosed = errors.New("interpreter ring is closed")
	// ErrExists says that a live run has this id.
	ErrExists = errors.New("a live run has this id")
)

// ExecutorError says that one executor rejects its profile of a set. The ring has closed
// that executor; nothing else has changed.
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

// Executor returns the name of the executor.
func (e *ExecutorError) Executor() string { return e.Name }
