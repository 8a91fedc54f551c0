package contract

import (
	"errors"
	"fmt"
)

// QueueError is returned by a Journal if too many calls wait for approvers. Nothing of the
// call is kept, and the program gets the reason.
type QueueError struct{ Reason string }

// Error returns the reason.
func (e *QueueError) Error() string { return e.Reason }

// UnprovidedError says that an approved call of a paused run cannot begin here. Nothing of
// the run was loaded.
type UnprovidedError struct {
	Call    string
	Bridges []string // all bridges that cannot begin a call; the first is that of Call
	Err     error    // why Call cannot begin
}

// Error names the call, its bridge and the cause.
func (e *UnprovidedError) Error() string {
	return fmt.Sprintf("call %s is approved, and bridge %s cannot begin it: %v", e.Call, e.Bridges[0], e.Err)
}

// Unwrap returns the cause.
func (e *UnprovidedError) Unwrap() error { return e.Err }

// ErrNoProvider says that no provider here performs the bridge.
var ErrNoProvider = errors.New("no provider on this host performs it")

// States that a caller must tell apart.
var (
	// ErrEnded says that the run has ended: nothing of it can begin.
	ErrEnded = errors.New("the run has ended")
	// ErrNoCall says that no call of this id waits for an answer.
	ErrNoCall = errors.New("no such open call")
	// ErrAnswered says that the call has its answer. The first one wins.
	ErrAnswered = errors.New("the call is already answered")
	// ErrPaused says that the run is paused and kept. What settles it goes to the store.
	ErrPaused = errors.New("the run is paused")
	// ErrExpired says that the call could not be approved in time.
	ErrExpired = errors.New("the approval has expired")
	// ErrUnsettled says that a pause has an open call that nothing settles.
	ErrUnsettled = errors.New("an open call is not settled")
	// ErrSession says that this run may not use the state of the session.
	ErrSession = errors.New("not a session of this run")

	// ErrDigest says that the answer was given for other arguments.
	ErrDigest = errors.New("the digest is not that of the call")
	// ErrValue wraps the fault in the value of an answer. The call stays open.
	ErrValue = errors.New("not a valid result of this bridge")
	// ErrParent says that the parent run or call is not live, or may have no more subagents.
	ErrParent = errors.New("not an open call that may start a subagent")
)
