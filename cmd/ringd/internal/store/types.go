package store

import (
	"errors"
	"time"
)

// State is where a run stands.
type State string

// The states of a run, in the order of its life. The last six are final.
const (
	Asked     State = "asked"
	Started   State = "started"
	CallOpen  State = "call_open" // at least one call is open or executing
	Paused    State = "paused"
	Answered  State = "answered"
	Claimed   State = "claimed"
	Executing State = "executing" // resumed
	Done      State = "done"
	Denied    State = "denied"
	Failed    State = "failed"
	Limit     State = "limit"
	Cancelled State = "cancelled"
	Unknown   State = "unknown" // an effect may have happened; its result is lost
)

// CallState is where a call stands.
type CallState string

// The states of a call.
const (
	CallPending   CallState = "open"      // waits for an answer; nothing was done
	CallExecuting CallState = "executing" // the act may be under way
	CallClosed    CallState = "closed"    // it has a result, or was never executed
	CallUnknown   CallState = "unknown"   // the act may have happened; the result is lost
)

// Answerer says who may answer a call.
type Answerer string

// Who answers.
const (
	ByHost     Answerer = "host" // nobody: a provider of the host acts
	ByApprover Answerer = "approver"
	ByHarness  Answerer = "harness"
)

// Head is a position of the audit log.
type Head struct {
	Seq  int64
	Hash string // 64 hex digits
}

// Run is one program's life. Methods that return a Run return a copy.
type Run struct {
	ID         string
	Agent      string
	Actor      string
	Executor   string
	State      State
	Program    string // digest
	Generation int64
	Revision   string
	Outcome    []byte // JSON, at most MaxOutcome; nil until the run is final
	Audit      Head   // the record this state rests on
	Created    time.Time
	Updated    time.Time
}

// Call is one use of a bridge.
type Call struct {
	Run        string
	ID         string // unique within the run
	N          int64  // order within the run, from 1; OpenCall gives it
	Bridge     string
	For        Answerer
	State      CallState
	Key        string // idempotency key; OpenCall gives it: Key(Run, ID, ArgsDigest)
	ArgsDigest string
	Args       []byte // at most MaxArgs
	Result     []byte // at most MaxResult; nil until closed
	Reply      []byte // the first answer, at most MaxResult
	RepliedBy  string
	RepliedAt  time.Time
	Audit      Head
	Created    time.Time
	Updated    time.Time
}

// Change goes with an arrow of a run. Zero fields leave the row as it is.
type Change struct {
	Generation int64
	Revision   string
	Outcome    []byte
	Audit      Head
}

// Reply is an answer to an open call.
type Reply struct {
	By   string // the actor
	Body []byte // at most MaxResult
}

// Settled says whose answer counts.
type Settled struct {
	First bool // this one
	By    string
	At    time.Time
}

// Generation is one activation of a policy on this host.
type Generation struct {
	Number    int64
	Revision  string
	Set       []byte // the compiled set, canonical JSON, at most MaxSet
	Activated time.Time
	Fresh     time.Time // when the push was last seen to be good
}

// Filter chooses runs. Zero fields choose all.
type Filter struct {
	Agent  string
	Actor  string
	States []State
	Before time.Time // created before; for paging
	Limit  int       // 0: 100; at most 1000
}

// Recovered is one run that Recover ended.
type Recovered struct {
	Run   Run    // as it is now
	From  State  // as it was
	Lost  []Call // calls whose act may have happened, now unknown
	Unrun []Call // calls that were open and not executed, now closed
}

// Sizes a row may have.
const (
	MaxID      = 256
	MaxOutcome = 8 << 20
	MaxArgs    = 1 << 20
	MaxResult  = 4 << 20
	MaxSet     = 64 << 20
)

var (
	// ErrNotFound: no such run, call or generation.
	ErrNotFound = errors.New("not found")
	// ErrExists: a run or call with this id is there.
	ErrExists = errors.New("already exists")
	// ErrState: the arrow is not legal from the state the row is in. Nothing
	// changed.
	ErrState = errors.New("not possible in this state")
	// ErrTooLarge: a value is larger than its Max constant. Nothing changed.
	ErrTooLarge = errors.New("too large to store")
	// ErrFormat: the database or a record has a format this ringd does not know.
	ErrFormat = errors.New("unknown format")
	// ErrCorrupt: the database is damaged.
	ErrCorrupt = errors.New("store is damaged")
	// ErrInUse: another process holds the folder.
	ErrInUse = errors.New("store is in use by another process")
	// ErrClosed: the store was closed, or a commit failed and its cause is
	// wrapped beside it. Nothing may run.
	ErrClosed = errors.New("store is closed")
)
