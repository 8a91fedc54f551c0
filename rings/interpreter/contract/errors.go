package contract

import (
	"errors"
	"fmt"
)

// QueueError of a Journal: a call would be one too many of those that wait for
// approvers. Nothing of it is kept, and the program is told the reason.
type QueueError struct{ Reason string }

// Error gives the reason.
func (e *QueueError) Error() string { return e.Reason }

// UnprovidedError: an approved call of a paused run cannot begin here. Nothing of the
// run was loaded.
type UnprovidedError struct {
	Call    string
	Bridges []string // all that cannot; the first is that of Call
	Err     error    // why Call cannot
}

// Error names the call, its bridge and the cause.
func (e *UnprovidedError) Error() string {
	return fmt.Sprintf("call %s is approved, and bridge %s cannot begin it: %v", e.Call, e.Bridges[0], e.Err)
}

// Unwrap returns the cause.
func (e *UnprovidedError) Unwrap() error { return e.Err }

// ErrNoProvider: nothing here performs the bridge.
var ErrNoProvider = errors.New("nothing here performs it")

// States that a caller must tell apart.
var (
	// ErrEnded: the run has ended; nothing of it can begin.
	ErrEnded = errors.New("the run has ended")
	// ErrNoCall: no call of this id waits for an answer.
	ErrNoCall = errors.New("no such open call")
	// ErrAnswered: the call has its answer; the first one counts.
	ErrAnswered = errors.New("the call is already answered")
	// ErrPaused: the run is paused and kept; what settles it goes to the store.
	ErrPaused = errors.New("the run is paused")
	// ErrExpired: the time in which the call could be approved is over.
	ErrExpired = errors.New("the approval has expired")
	// ErrUnsettled: a pause has an open call that nothing settles.
	ErrUnsettled = errors.New("an open call is not settled")
	// ErrSession: the state of a session is not one that this run may have.
	ErrSession = errors.New("not a session of this run")

	// ErrDigest: the answer was given for other arguments.
	ErrDigest = errors.New("the digest is not that of the call")
	// ErrValue wraps what is wrong with the value of an answer. The call stays
	// open.
	ErrValue = errors.New("not a valid result of this bridge")
	// ErrParent: the parent run or call is not live, or may have no more subagents.
	ErrParent = errors.New("not an open call that may start a subagent")
)
