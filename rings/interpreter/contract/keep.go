package contract

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// Keeper keeps what outlives a guest. An error from KeepPause ends the run.
type Keeper interface {
	// KeepPause commits p, the outcome so far and the open calls, all or nothing.
	// It is durable when it returns nil.
	KeepPause(ctx context.Context, p pause.Record, v View) error
	// KeepSession commits the state that a run leaves to the next of its session.
	// After an error the session is as it was before the run.
	KeepSession(ctx context.Context, s SessionState) error
}

// Touches is a Keeper that notes, for a run that waits on disk, which powers the runs
// of its tree have touched since. It is durable when it returns nil; an error means
// that what touches them must not happen. A run that has ended is no error.
type Touches interface {
	KeepTouched(ctx context.Context, run string, p profiles.Powers) error
}

// SessionState is the interpreter of a session between two runs. It belongs to
// one agent and one actor, on one executor.
type SessionState struct {
	Name     string
	Agent    string
	Actor    string
	Executor string
	Engine   string // digest of the engine that made Snapshot
	Snapshot []byte // that it is authentic is the caller's affair
	Run      string // that left it
	// Touched is what the runs of the session have touched of three powers.
	Touched *ruleoftwo.Touched
	At      time.Time
}

// Settlement is how an open call of a pause was answered. The zero one settles
// nothing: the call is refused.
type Settlement struct {
	Call string
	// Value or Error is the harness's answer. Error is the message that the
	// program sees in a BridgeError.
	Value json.RawMessage
	Error *string
	// Approved says that the call has the approvals its Terms ask for, Denied that
	// one approver refused it, for Reason. By is who said so last.
	Approved bool
	Denied   bool
	Reason   string
	By       string
	// Result was recorded before a crash: it is delivered, and nothing repeated.
	Result *Recorded
	// Again says that the call was begun before a crash and has no result. It is
	// tried again if its provider is idempotent; else the run's end is unknown.
	Again bool
}

// Recorded is the end of a call as a journal keeps it: enough to tell a program
// the same once more. It encodes as JSON.
type Recorded struct {
	End   CallEnd         `json:"end"`
	Value json.RawMessage `json:"value,omitempty"` // absent: undefined
	Name  string          `json:"name,omitempty"`  // of the error the program got
	Text  string          `json:"text,omitempty"`
}

// Harness is the provider of bridges that the harness performs: a call stays
// open until Run.Answer, or until the bridge's timeout. The ring does not call it.
type Harness struct{}

// Call fails: a harness cannot be called.
func (Harness) Call(context.Context, Call) (json.RawMessage, error) {
	return nil, errors.New("the harness answers through the API")
}

// Idempotent is a Provider whose calls may be repeated with the same key: the
// second has no further effect and the same result.
type Idempotent interface{ Idempotent() bool }

// readier is a Provider that can tell ahead that a call could not begin.
type readier interface {
	// Ready returns nil, or why no call can begin now, such as a missing command.
	Ready() error
}

// Ready returns why p cannot begin a call that was approved: ErrNoProvider when p is
// nil or is the harness, which such a call does not wait for, else what p says.
func Ready(p Provider) error {
	switch p := p.(type) {
	case nil, Harness: // a call of the harness has its answer, and no provider
		return ErrNoProvider
	case readier:
		return p.Ready()
	default:
		return nil
	}
}

// Ender is a Provider that keeps something open for a run between its calls. It is
// told when a life of a run is over, paused or ended, before its Done is closed and
// before another life of it may begin. It may be told more than once, and of runs
// that it has never heard of.
type Ender interface{ RunEnded(run string) }

// IsIdempotent reports whether a provider says so; nil does not.
func IsIdempotent(p Provider) bool {
	i, ok := p.(Idempotent)
	return ok && i.Idempotent()
}

// Conditions evaluates the conditions of approvals, and the guardrails on calls.
type Conditions interface {
	// Asks reports whether a call needs the approval whose condition is when. An
	// error is a yes. It returns soon after ctx ends.
	Asks(ctx context.Context, when string, c profiles.Call) (bool, error)
	// Denies gives the reasons of a guardrail to refuse a call; none, and no error: it
	// may happen. It returns soon after ctx ends.
	Denies(ctx context.Context, rego string, c profiles.Call) ([]string, error)
}

// Spawned is what a run has used of its tree: what is committed with the pause
// of a run whose calls start subagents.
type Spawned struct {
	Total int64            // agents of the whole tree
	Calls map[string]int64 // subagents started, by call
}

// approved is one approval that a call has. The ring knows of none that is not
// enough; a store does.
type approved struct {
	By string
	As string
	At time.Time
}
