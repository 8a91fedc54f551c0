// Package contract has the interfaces by which the interpreter ring performs calls, writes
// records, and saves pauses, and the types of their arguments. The ring and its runs call
// the interfaces. The daemon and the bridges implement them.
package contract

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Provider performs the calls of a bridge. It is called concurrently, once for a call, after
// the record of the call is written.
type Provider interface {
	// Call performs c and returns its result as a tagged value. It returns soon after ctx
	// ends. The text of an error never reaches the program.
	Call(ctx context.Context, c Call) (json.RawMessage, error)
}

// Call is one admitted call.
type Call struct {
	Run    string
	ID     string // unique in the run
	Agent  string
	Actor  string
	Bridge string
	// Args is the list of arguments, tagged. A list of exactly one argument is that argument
	// itself.
	Args json.RawMessage
	// Key is the idempotency key. It is the same each time the call is tried.
	Key string
	// Deciders returns the deciders that are in force for the run now. A connection needs
	// the allowance of each of them. If there is none, or Deciders is nil, nothing may be
	// reached.
	Deciders func() []*profiles.Decider
	// Claims records denials that the provider's guest made itself, without a question to
	// Act. If they cannot be recorded, the call fails.
	Claims func(executor string, denials []profiles.Decision, beyond int64) error
	// Guest is for a provider that starts a guest of another executor for the call. It
	// returns the limits and grants of that guest. It returns false if the policy in force,
	// or one that binds the run, does not grant the executor. The provider sets the program,
	// the inputs and the seed.
	Guest func(executor string) (executors.Run, bool)
	// Act decides an act of such a guest as an act of the run. The act is recorded and
	// counted. If the act needs an approval, Act waits for it. The field Call of the question
	// is not read. A denial is an answer, not an error. After an error the guest must be
	// ended. Act may be called concurrently, until Call has returned.
	Act func(ctx context.Context, q executors.Question) (executors.Answer, error)
}

// Journal commits what must survive the process: calls that wait for the harness, and calls
// with external power before they are performed. If a method returns an error, the run ends.
type Journal interface {
	// OpenCall commits e and returns the idempotency key of the call. A *QueueError refuses
	// the call and ends nothing.
	OpenCall(ctx context.Context, e Entry) (key string, err error)
	// ExecuteCall commits that a call that was approved begins. That uses the approval up.
	ExecuteCall(ctx context.Context, run, call string) error
	// CloseCall commits the end of a call that OpenCall committed.
	CloseCall(ctx context.Context, run, call string, end Recorded) error
}

// Pacer limits how fast the calls of one agent, in all its runs, write bytes to disk.
type Pacer interface {
	// Wait returns once the agent may write n bytes more. The error is that of ctx.
	Wait(ctx context.Context, agent string, n int) error
	// Owe counts n bytes that are written in any case: the next Wait waits for them too.
	Owe(agent string, n int)
}

// Entry is an open call as the journal has it.
type Entry struct {
	Run       string
	Call      string
	Bridge    string
	For       string // "harness", "approver", or "" when a provider of the host acts
	Executing bool   // the act begins as soon as the entry is committed
	Args      json.RawMessage
	Digest    string // of Args: "sha256:" and hex

	// The terms of the approval that the call waits for, and whether the harness performs the
	// call, which waits for the harness once it is approved.
	From    []string // owners, of which one must approve; empty allows any approver
	Count   int64    // different approvers
	Expires time.Time
	Harness bool

	// For a call that may start subagents: the first run of its tree, and how many agents the
	// tree has with those of this call.
	Tree    string
	Spawned int64
}

// CallEnd says how a call ended.
type CallEnd string

// The ends of a call.
const (
	CallDone    CallEnd = "done"    // it has a result
	CallFailed  CallEnd = "failed"  // it has no result and will not get one
	CallUnrun   CallEnd = "unrun"   // it was never performed
	CallUnknown CallEnd = "unknown" // it may have been performed; the result is lost
)

// Auditor writes records.
type Auditor interface {
	// Record returns nil once r is as durable as d asks. After an error the act that r is
	// about must not happen.
	Record(ctx context.Context, r Record, d Durability) error
}

// Durability says how safe a record is when Record returns. The zero value is the strictest.
type Durability uint8

// The durabilities.
const (
	Synced  Durability = iota // it survives a power cut
	Written                   // it survives the end of the process
)

// Kind says what a record is about.
type Kind string

// The kinds that this ring writes.
const (
	RunStarted   Kind = "run_started"
	RunPaused    Kind = "run_paused"
	RunResumed   Kind = "run_resumed"
	RunCancelled Kind = "run_cancelled"
	RunEnded     Kind = "run_ended"
	CallDecided  Kind = "call_decided" // refused: nothing happens
	CallQueued   Kind = "call_queued"  // it waits until fewer of its bridge are open
	CallOpened   Kind = "call_opened"  // the intent, before the act
	CallBegun    Kind = "call_begun"   // the act of an approved call, before it
	CallAnswered Kind = "call_answered"
	CallClosed   Kind = "call_closed"

	// Acts of a guest, before they happen: allowed, refused, or asked about. Records of the
	// kinds above follow if people are asked.
	ExecDecided     Kind = "exec_decided"
	FileDecided     Kind = "file_decided"
	VariableDecided Kind = "variable_decided"

	// Refusals of an executor itself, as its guest reports them, like ExecDecided and
	// FileDecided.
	ImportDecided   Kind = "import_decided"
	EgressDecided   Kind = "egress_decided"
	GuestRefused    Kind = "guest_refused"
	RefusalsCounted Kind = "refusals_counted" // refusals that have no records of their own
)

// SourceGuest is the value of "source" in Detail of a record that only a guest vouches for.
const SourceGuest = "guest"

// MaxClaims is how many refusals of one run have records of their own if only the guest reports them. It is
// counted from the start or resume of the run to its end or pause. Further refusals are only counted.
const MaxClaims = 100

// Record is one event of a run. It never holds the values of arguments, unless the policy
// asks for that for the bridge (Full).
type Record struct {
	Kind       Kind
	Generation int64  // now in force
	Revision   string // now in force
	Actor      string
	Agent      string
	Run        string
	Call       string
	Capability string // bridge:spawnSubagent
	State      string // of the run or the call after this event
	Decision   *profiles.Decision
	Digest     string          // of the program or the arguments
	Full       json.RawMessage // the arguments, when the bridge is audited in full
	Fault      string          // text of the host, which the program does not see
	Detail     map[string]string
	// Action is what was decided, for a decision under another policy as well; nil if
	// nothing was decided. It is never written to disk.
	Action *profiles.Action `json:"-"`
	// Placed is called, unless it is nil, when the record has its place among the others, before it is on disk. It
	// must return at once.
	Placed func() `json:"-"`
}
