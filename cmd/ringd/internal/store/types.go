package store

import (
	"errors"
	"fmt"
	"time"
)

// State is the state of a run.
type State string

// States of a run, in the order of its life. The last six are final.
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
	Unknown   State = "unknown" // an effect may have happened, but its result is lost
)

// CallState is the state of a call.
type CallState string

// States of a call.
const (
	CallPending   CallState = "open"      // waits for an answer; nothing was performed
	CallExecuting CallState = "executing" // the act may be in progress
	CallClosed    CallState = "closed"    // it has a result, or was never executed
	CallUnknown   CallState = "unknown"   // the act may have happened, but the result is lost
)

// Answerer is the kind of party that may answer a call.
type Answerer string

// Answerers.
const (
	ByHost     Answerer = "host" // no answer: a provider of the host performs it
	ByApprover Answerer = "approver"
	ByHarness  Answerer = "harness"
)

// Head is a position of the audit log.
type Head struct {
	Seq  int64
	Hash string // 64 hex digits
}

// Run is the life of one program. Methods that return a Run return a copy.
type Run struct {
	ID         string
	Agent      string
	Actor      string
	Executor   string
	State      State
	Program    string // digest
	Generation int64
	Revision   string
	Outcome    []byte // JSON, at most MaxOutcome; nil until the run is final or has paused
	Audit      Head   // record that this state is based on
	Session    string // name of its session; an actor has one live run for each session
	Seq        int64  // of its last pause; zero if it has not paused
	Created    time.Time
	Updated    time.Time
}

// Call is one call of a bridge.
type Call struct {
	Run        string
	ID         string // unique within the run
	N          int64  // order within the run, from 1; set by OpenCall
	Bridge     string
	For        Answerer
	State      CallState
	Key        string // idempotency key Key(Run, ID, ArgsDigest); set by OpenCall
	ArgsDigest string
	Args       []byte // at most MaxArgs
	Result     []byte // at most MaxResult; nil until closed
	Reply      []byte // first answer, at most MaxResult; of an approver: the reason
	RepliedBy  string
	RepliedAt  time.Time
	Audit      Head

	// Of a call for an approver. They are kept when the call is approved and waits for the harness.
	Acts      Answerer // who performs it once it is approved: ByHost (also ""), or ByHarness
	From      []string // an approver must stand for one of these owners; empty means any approver
	Needs     int64    // number of approvals; zero means 1
	Expires   time.Time
	Verdict   Verdict // the decision; empty while the call waits
	DecidedBy string  // approver whose verdict decided
	DecidedAt time.Time
	Notified  time.Time

	Mark []byte // MAC of the writer that opened the call, at most MaxMark

	Wave    int64 // Seq of the last pause at which it was open; zero if none
	Started int64 // number of subagents started for it since that pause; see Spend
	// Tree and Spawned are parameters of OpenCall and are not stored with the call. Tree is the first run of
	// the tree, and Spawned the number of runs of the tree, stored with the pause of that run.
	Tree    string
	Spawned int64
	Created time.Time
	Updated time.Time
}

// Change holds values that a transition of a run stores. Zero fields leave the row unchanged.
type Change struct {
	Generation int64
	Revision   string
	Outcome    []byte
	Audit      Head
}

// Reply is an answer to an open call.
type Reply struct {
	Call   string // for AnswerAll
	By     string // actor
	Digest string // of the arguments it answers; empty skips the check
	Body   []byte // at most MaxResult
}

// Settled names the answer that counts.
type Settled struct {
	First bool // this one
	By    string
	At    time.Time
	Run   State // of the run afterwards: Answered if this was the last open call
}

// Verdict is the verdict of an approver.
type Verdict string

// Verdicts.
const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
)

// Approval is one approver's verdict on a call.
type Approval struct {
	Run     string // set by Approvals and Call
	Call    string
	By      string // actor; one verdict for each call
	As      string // owner that the approver stands for; one of the call's From, if that names any
	Verdict Verdict
	Reason  string    // at most MaxReason
	Digest  string    // of the arguments the approver has seen; must be that of the call, else ErrDigest
	At      time.Time // zero means now
	Mark    []byte    // MAC of the writer that took the verdict, at most MaxMark
}

// Approved is the result of an approval.
type Approved struct {
	First   bool // it counts; else the call was decided, or By had given this verdict before
	Verdict Verdict
	By      string // approver whose verdict decided; empty while Verdict is
	At      time.Time
	Count   int64 // number of approvals so far
	Needs   int64
	For     Answerer // who must answer next: ByHarness if the harness performs the call
	Run     State    // of the run afterwards: Answered if this was the last open call
}

// Pause is a waiting run, with the record to resume it from.
type Pause struct {
	Run      string
	Seq      int64  // 1 for the first, then one more for each
	Sealed   []byte // at most MaxSealed; nil in lists
	Revision string // of the policy; Sealed is bound to it
	KeyID    string
	Engine   string
	Expires  time.Time // zero means never
	Spawned  int64     // number of runs its tree has started

	// Set by the store.
	Agent    string
	Actor    string
	Executor string
	State    State
	Size     int64 // of Sealed
	Fault    Fault // why it could not be resumed; zero if it could
	Revoked  []string
	Created  time.Time
}

// Fault is the reason why a pause could not be resumed.
type Fault struct {
	Code string
	Text string
	At   time.Time
}

// Session is the state from which the next run of an actor and agent continues.
type Session struct {
	Actor    string
	Name     string
	Agent    string
	Executor string
	Was      int64  // Seq of the state it replaces; zero if there is none
	Seq      int64  // greater than Was
	Sealed   []byte // at most MaxSealed; nil in lists
	Revision string
	KeyID    string
	Engine   string
	Expires  time.Time // zero means never

	// Set by the store.
	Size    int64  // of Sealed
	Busy    string // the live run that uses it, or ""
	Created time.Time
	Updated time.Time
}

// Generation is one activation of a policy on this host.
type Generation struct {
	Number    int64
	Revision  string
	Set       []byte // the compiled set, canonical JSON, at most MaxSet
	Activated time.Time
	Fresh     time.Time // when the push was last seen as good
}

// Filter selects runs. Zero fields select all.
type Filter struct {
	Prefix string // of the id
	Agent  string
	Actor  string
	States []State
	Before time.Time // created before this time; for paging
	Limit  int       // zero means 100, at most 1000
}

// Recovered is one run that Recover ended or made Answered again.
type Recovered struct {
	Run   Run    // afterwards
	From  State  // before
	Lost  []Call // calls whose act may have happened; now unknown
	Unrun []Call // calls that were open and not executed; now closed
	Again []Call // calls whose act may have happened and is repeated with the same key
}

// Limits of the values in a row.
const (
	MaxID      = 256
	MaxOutcome = 8 << 20
	MaxArgs    = 1 << 20
	MaxResult  = 4 << 20
	MaxSet     = 64 << 20
	MaxSealed  = 96 << 20
	MaxReason  = 4 << 10
	maxMark    = 256
)

var (
	// ErrNotFound: no such run, call or generation.
	ErrNotFound = errors.New("not found")
	// ErrExists: there is a run or call with this id.
	ErrExists = errors.New("already exists")
	// ErrState: the row is in a state that does not allow the transition. Nothing changed.
	ErrState = errors.New("not possible in this state")
	// ErrTooLarge: a value is larger than its Max constant. Nothing changed.
	ErrTooLarge = errors.New("too large to store")
	// ErrDigest: the answer is for other arguments.
	ErrDigest = errors.New("the digest is not that of the call's arguments")
	// ErrExpired: the answer is too late.
	ErrExpired = errors.New("expired")
	// ErrApprover: the call does not accept an approval for this owner.
	ErrApprover = errors.New("not one who may approve this call")
	// ErrBusy: another live run uses the session.
	ErrBusy = errors.New("session is in use by another run")
)

// ClaimedError: another actor has claimed the pause.
type ClaimedError struct {
	Run string
	Seq int64
	By  string
	At  time.Time
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("pause %d of run %s was claimed by %s at %s", e.Seq, e.Run, e.By, e.At.Format(time.RFC3339))
}
