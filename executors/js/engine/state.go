package engine

import (
	"encoding/json"
	"time"
)

// Status is the state of a program.
type Status int

// The statuses. The zero Status says that no program was started.
const (
	StatusNone     Status = iota
	StatusRunning         // jobs are left: call RunJobs
	StatusWaiting         // nothing can run before an open call is settled
	StatusDone            // Value holds the result
	StatusFailed          // Exception holds the uncaught error
	StatusDeadlock        // pending, with no job and no open call: nothing can ever happen
)

// State is the state of a program, and how it ended once it has.
type State struct {
	Status Status
	// Value is the result in the tagged encoding, with StatusDone.
	Value json.RawMessage
	// Exception is set with StatusFailed. A result that cannot be encoded is an ArgumentError here, a result
	// that is too large a ResultTooLarge.
	Exception *Exception
	// Unawaited, set once the program is done or has failed, are the calls whose promise nothing ever awaited,
	// and the open calls. The caller should end the run with an error that names the bridge.
	Unawaited []Call
	// Unhandled are rejections that nothing handles, at most 16 of them, oldest first. They can still become
	// handled while the program runs.
	Unhandled []Exception
}

// Call is one use of a bridge.
type Call struct {
	ID     int64 // from 1, in the order of the calls
	Bridge string
	// Args is the JSON array of all arguments in the tagged encoding, copied
	// when the program made the call. It is empty in State.Unawaited.
	Args json.RawMessage
}

// Answer settles a call. If Error is set, the program's promise is rejected. Otherwise it is fulfilled with
// Value, in the tagged encoding; if that is empty, with undefined.
type Answer struct {
	Value json.RawMessage
	Error *GuestError
}

// Usage is what a VM has used so far.
type Usage struct {
	Fuel         int64         // instructions of the meter; deterministic
	CPU          time.Duration // inside the guest
	PeakBytes    int64         // of linear memory
	ConsoleBytes int64         // passed to Options.Console
	DroppedBytes int64         // console text over the limit
	DroppedLines int64
	Calls        int64 // opened so far
	OpenCalls    int
}
