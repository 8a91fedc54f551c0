package store

import (
	"errors"
	"fmt"
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
	Outcome    []byte // JSON, at most MaxOutcome; nil until the run is final or has paused
	Audit      Head   // the record this state rests on
	Session    string // name of the session it goes on with; one live run of an actor at a time
	Seq        int64  // of its last pause; 0: it has not paused
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
	Reply      []byte // the first answer, at most MaxResult; of an approver: the reason
	RepliedBy  string
	RepliedAt  time.Time
	Audit      Head

	// Of a call for an approver; kept when it is approved and waits for the
	// harness, which acts.
	Acts      Answerer // who acts once it is approved: ByHost (also ""), or ByHarness
	From      []string // capacities of which an approver must have one; none: any approver
	Needs     int64    // approvals it takes; 0: 1
	Expires   time.Time
	Verdict   Verdict // how it was decided; "" while it waits
	DecidedBy string  // whose word did
	DecidedAt time.Time
	Notified  time.Time

	Mark []byte // who opened the call vouches with it; at most MaxMark

	Wave    int64 // Seq of the last pause it was open at; 0: none
	Started int64 // subagents that were started for it since that pause; see Spend
	// Tree and Spawned are for OpenCall and are not kept with the call: how many
	// runs the tree has whose first run is Tree, for the pause of that one.
	Tree    string
	Spawned int64
	Created time.Time
	Updated time.Time
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
	Call   string // AnswerAll: which
	By     string // the actor
	Digest string // of the arguments it answers; "": not compared
	Body   []byte // at most MaxResult
}

// Settled says whose answer counts.
type Settled struct {
	First bool // this one
	By    string
	At    time.Time
	Run   State // of the run, afterwards: Answered when this was the last one
}

// Verdict is what an approver says.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
)

// Approval is one approver's word on a call.
type Approval struct {
	Run     string // Approvals fills it in, and Call
	Call    string
	By      string // the actor; one word a call
	As      string // the capacity; one of the call's From, when that names any
	Verdict Verdict
	Reason  string    // at most MaxReason
	Digest  string    // of the arguments the approver has seen: those of the call, or ErrDigest
	At      time.Time // zero: now
	Mark    []byte    // who takes the word vouches with it; at most MaxMark
}

// Approved is what an approval came to.
type Approved struct {
	First   bool // it counts; else the call was decided, or By had said so before
	Verdict Verdict
	By      string // whose word decided it; "" while Verdict is ""
	At      time.Time
	Count   int64 // approvals so far
	Needs   int64
	For     Answerer // who is waited for now: ByHarness when the harness acts
	Run     State    // of the run, afterwards: Answered when this was the last one
}

// Pause is a run that waits, and how to go on with it.
type Pause struct {
	Run      string
	Seq      int64  // the first is 1, each is one more than the last
	Sealed   []byte // at most MaxSealed; nil in lists
	Revision string // Sealed is bound to it
	KeyID    string
	Engine   string
	Expires  time.Time // zero: never
	Spawned  int64     // runs its tree has started

	// Set by the store.
	Agent    string
	Actor    string
	Executor string
	State    State
	Size     int64 // of Sealed
	Fault    Fault // why it could not be resumed, when it could not
	Revoked  []string
	Created  time.Time
}

// Fault is why a pause could not be resumed.
type Fault struct {
	Code string
	Text string
	At   time.Time
}

// Session is the state an actor's runs of one agent go on with.
type Session struct {
	Actor    string
	Name     string
	Agent    string
	Executor string
	Was      int64  // Seq of the one it replaces; 0: there is none
	Seq      int64  // above Was
	Sealed   []byte // at most MaxSealed; nil in lists
	Revision string
	KeyID    string
	Engine   string
	Expires  time.Time // zero: never

	// Set by the store.
	Size    int64  // of Sealed
	Busy    string // the live run that goes on with it, or ""
	Created time.Time
	Updated time.Time
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
	Prefix string // of the id
	Agent  string
	Actor  string
	States []State
	Before time.Time // created before; for paging
	Limit  int       // 0: 100; at most 1000
}

// Recovered is one run that Recover ended, or made Answered again.
type Recovered struct {
	Run   Run    // as it is now
	From  State  // as it was
	Lost  []Call // calls whose act may have happened, now unknown
	Unrun []Call // calls that were open and not executed, now closed
	Again []Call // calls whose act may have happened and is asked for again, with the same key
}

// Sizes a row may have.
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
	// ErrExists: a run or call with this id is there.
	ErrExists = errors.New("already exists")
	// ErrState: the arrow is not legal from the state the row is in. Nothing
	// changed.
	ErrState = errors.New("not possible in this state")
	// ErrTooLarge: a value is larger than its Max constant. Nothing changed.
	ErrTooLarge = errors.New("too large to store")
	// ErrDigest: the arguments are others than those the answer is for.
	ErrDigest = errors.New("the digest is not that of the call's arguments")
	// ErrExpired: it comes too late.
	ErrExpired = errors.New("expired")
	// ErrApprover: the call does not take an approval in this capacity.
	ErrApprover = errors.New("not one who may approve this call")
	// ErrBusy: another live run goes on with the session.
	ErrBusy = errors.New("session is in use by another run")
)

// ClaimedError: somebody else has claimed the pause.
type ClaimedError struct {
	Run string
	Seq int64
	By  string
	At  time.Time
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("pause %d of run %s was claimed by %s at %s", e.Seq, e.Run, e.By, e.At.Format(time.RFC3339))
}
