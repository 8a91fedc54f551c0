// Package contract is what an interpreter ring is made of and what its runs take and
// give: who performs, records, commits and keeps, and the values that cross. It
// does nothing. The ring and the lives of its runs share it.
package contract

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Provider performs the calls of a bridge. It is called concurrently, once for a
// call, after the call's record is written.
type Provider interface {
	// Call performs c and returns its result as a tagged value. It returns soon
	// after ctx ends. The text of an error never reaches the program.
	Call(ctx context.Context, c Call) (json.RawMessage, error)
}

// Call is one admitted call.
type Call struct {
	Run    string
	ID     string // unique in the run
	Agent  string
	Actor  string
	Bridge string
	// Args is the list of arguments, tagged; a list of exactly one is that
	// argument itself.
	Args json.RawMessage
	// Key is the same for the same call however often it is tried.
	Key string
	// Deciders give what the run may reach, in force at the moment they are asked
	// for: each of them has to allow it. None, or nil: nothing.
	Deciders func() []*profiles.Decider
	// Claims puts on record what such a guest says that it refused itself, which Act was
	// not asked of. Without the record the call fails.
	Claims func(executor string, denials []profiles.Decision, beyond int64) error
	// Guest is what a guest of another executor runs under that the provider starts
	// for the call; false: the policy in force, or one that binds the run, does not
	// grant it. Program, inputs and Seed are the provider's to set.
	Guest func(executor string) (executors.Run, bool)
	// Act decides what such a guest wants to do itself, as an act of the run: it is
	// recorded, counted and, where the policy asks people, held. Call of the question
	// is not read. A denial is an answer; after an error the guest must be ended. It
	// may be called concurrently, until Call has returned.
	Act func(ctx context.Context, q executors.Question) (executors.Answer, error)
}

// Journal commits what must survive the process: calls that wait for the
// harness, and calls with external power before they are performed. An error
// from it ends the run, closed.
type Journal interface {
	// OpenCall commits e and returns the call's idempotency key. A *QueueError refuses
	// the call and ends nothing.
	OpenCall(ctx context.Context, e Entry) (key string, err error)
	// ExecuteCall commits that the act of a call begins which was approved. The
	// approval is used up by it.
	ExecuteCall(ctx context.Context, run, call string) error
	// CloseCall commits the end of a call that OpenCall committed.
	CloseCall(ctx context.Context, run, call string, end Recorded) error
}

// Pacer bounds how fast the calls of one agent, in all its runs, bring bytes on disk.
type Pacer interface {
	// Wait returns once the agent may bring n bytes more. The error is ctx's.
	Wait(ctx context.Context, agent string, n int) error
	// Owe counts n bytes that come in any case: the next that Wait waits for them too.
	Owe(agent string, n int)
}

// Entry is an open call.
type Entry struct {
	Run       string
	Call      string
	Bridge    string
	For       string // "harness", "approver", or "" when a provider of the host acts
	Executing bool   // the act begins as soon as the entry is committed
	Args      json.RawMessage
	Digest    string // of Args: "sha256:" and hex

	// For an approver: what the approval takes, and whether the harness performs
	// the call once it is approved, which then waits for the harness.
	From    []string // owners, of which one must approve; empty: any approver
	Count   int64    // different approvers
	Expires time.Time
	Harness bool

	// Of a call that may start subagents: how many agents the tree whose first run
	// is Tree has, with those of this call.
	Tree    string
	Spawned int64
}

// CallEnd is how a call ended.
type CallEnd string

// The ends of a call.
const (
	CallDone    CallEnd = "done"    // it has a result
	CallFailed  CallEnd = "failed"  // it has none, and nobody waits for one
	CallUnrun   CallEnd = "unrun"   // it was never performed
	CallUnknown CallEnd = "unknown" // it may have been performed; the result is lost
)

// Auditor writes records.
type Auditor interface {
	// Record returns nil once r is as durable as d asks. An error means that the
	// act r is about must not happen.
	Record(ctx context.Context, r Record, d Durability) error
}

// Durability is what has happened to a record when Record returns. The zero
// value is the stricter one.
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
	CallOpened   Kind = "call_opened"  // the intent, before the act
	CallBegun    Kind = "call_begun"   // the act of an approved call, before it
	CallAnswered Kind = "call_answered"
	CallClosed   Kind = "call_closed"

	// Of what a guest does itself, before it does: allowed, refused, or asked of
	// people, which calls of the kinds above follow.
	ExecDecided     Kind = "exec_decided"
	FileDecided     Kind = "file_decided"
	VariableDecided Kind = "variable_decided"

	// Of what an executor itself refused its program, as the guest says: beside
	// ExecDecided and FileDecided.
	ImportDecided   Kind = "import_decided"
	EgressDecided   Kind = "egress_decided"
	GuestRefused    Kind = "guest_refused"
	RefusalsCounted Kind = "refusals_counted" // those that have no records of their own
)

// SourceGuest is what a record has in Detail under "source" that rests on the word of a
// guest alone.
const SourceGuest = "guest"

// MaxClaims is how many refusals a run, up to its end or its pause, has on record one by
// one that rest on the word of its guest. Those beyond are counted.
const MaxClaims = 100

// Record is one event of a run. It never holds argument values, unless the
// policy says so for the bridge (Full).
type Record struct {
	Kind       Kind
	Generation int64  // now in force
	Revision   string // now in force
	Actor      string
	Agent      string
	Run        string
	Call       string
	Capability string // bridge:spawnSubagent
	State      string // of the run or the call after this
	Decision   *profiles.Decision
	Digest     string          // of the program or the arguments
	Full       json.RawMessage // the arguments, when the bridge is audited in full
	Fault      string          // text of the host, which the program does not see
	Detail     map[string]string
	// Action is what was decided, for who decides it under another policy as well; nil:
	// nothing was. It is never written down.
	Action *profiles.Action `json:"-"`
}
