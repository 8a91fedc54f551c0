package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// Config is what a Ring is made of. The maps are copied by New.
type Config struct {
	// Executors by name. A run on any other is refused as unavailable. The ring
	// closes them in Close.
	Executors map[string]executors.Executor
	// Tiers says which isolation an executor gives on this host. One that is
	// missing satisfies no policy that asks for a tier.
	Tiers map[string]profiles.Tier
	// Providers perform bridges, by the bridge's name.
	Providers map[string]Provider
	// Default performs the bridges that Providers does not name; nil refuses
	// their calls.
	Default Provider
	// Audit and Journal are required.
	Audit   Auditor
	Journal Journal
	// Keeper keeps pauses and sessions. Nil: a run that waits keeps its guest, and
	// no session can be had.
	Keeper Keeper
	// Conditions evaluates the conditions of approvals; nil: every one asks.
	Conditions Conditions
	// Point is told of every step after which a crash may leave something half
	// done; nil: nobody is. For tests of crashes.
	Point func(label string)
	// Go starts a goroutine that its owner waits for. Required.
	Go func(func())
	// Now and Random are required.
	Now    func() time.Time
	Random io.Reader
	// Generation gives the number of the generation that is being prepared; the
	// ring calls it in Prepare. Nil counts from 1.
	Generation func() int64
	// CheckValue checks a value of a provider or an answer against the tagged
	// encoding; its size, depth and JSON were checked before. Nil refuses every
	// value that uses the encoding's marker.
	CheckValue func(json.RawMessage) error
}

func (c *Config) check() error {
	switch {
	case c.Audit == nil:
		return errors.New("interpreter config: Audit is missing")
	case c.Journal == nil:
		return errors.New("interpreter config: Journal is missing")
	case c.Go == nil:
		return errors.New("interpreter config: Go is missing")
	case c.Now == nil:
		return errors.New("interpreter config: Now is missing")
	case c.Random == nil:
		return errors.New("interpreter config: Random is missing")
	}
	for name, e := range c.Executors {
		if e == nil || e.Name() != name {
			return errors.New("interpreter config: executor " + name + " has another name")
		}
	}
	for name, p := range c.Providers {
		if p == nil {
			return errors.New("interpreter config: provider of " + name + " is nil")
		}
	}
	return nil
}

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
}

// Journal commits what must survive the process: calls that wait for the
// harness, and calls with external power before they are performed. An error
// from it ends the run, closed.
type Journal interface {
	// OpenCall commits e and returns the call's idempotency key.
	OpenCall(ctx context.Context, e Entry) (key string, err error)
	// ExecuteCall commits that the act of a call begins which was approved. The
	// approval is used up by it.
	ExecuteCall(ctx context.Context, run, call string) error
	// CloseCall commits the end of a call that OpenCall committed.
	CloseCall(ctx context.Context, run, call string, end Recorded) error
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
	CallAnswered Kind = "call_answered"
	CallClosed   Kind = "call_closed"
)

// MaxFull bounds Record.Full as JSON text. A call whose arguments take more is
// refused, so an Auditor has to take records that are somewhat larger.
const MaxFull = 1<<20 - 64<<10

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
}

// refuseMarked is CheckValue when nobody can check.
func refuseMarked(v json.RawMessage) error {
	s, err := shape.Scan(v)
	if err == nil && s.Marked {
		err = errors.New("a tagged value, which this host cannot check")
	}
	return err
}
