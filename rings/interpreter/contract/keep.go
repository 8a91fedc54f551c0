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
	// KeepPause commits p, the outcome so far and the open calls, all or nothing. They are
	// durable when it returns nil.
	KeepPause(ctx context.Context, p pause.Record, v View) error
	// KeepSession commits the state that a run leaves to the next run of its session. After
	// an error the session is as it was before the run.
	KeepSession(ctx context.Context, s SessionState) error
}

// Touches is a Keeper that can also save, for a paused run, the powers that other runs of
// its tree have touched during the pause. When KeepTouched returns nil, the powers are
// durable. After an error, the use that touches the power must not happen. If the run has
// ended, that is no error.
type Touches interface {
	KeepTouched(ctx context.Context, run string, p profiles.Powers) error
}

// SessionState is the saved state of a session between two runs. It belongs to one agent and
// one actor, on one executor.
type SessionState struct {
	Name     string
	Agent    string
	Actor    string
	Executor string
	Engine   string // digest of the engine that made Snapshot
	Snapshot []byte // the caller has checked that it is authentic
	Run      string // the run that left it
	// Touched is what the runs of the session have touched of the three powers.
	Touched *ruleoftwo.Touched
	At      time.Time
}

// Settlement is the answer to an open call of a pause. With the zero Settlement, the call is
// refused.
type Settlement struct {
	Call string
	// Value or Error is the answer of the harness. The program gets the message Error in a
	// BridgeError.
	Value json.RawMessage
	Error *string
	// Approved says that the call has all approvals that its Terms require. Denied says that
	// an approver denied it, with Reason. By is the last approver.
	Approved bool
	Denied   bool
	Reason   string
	By       string
	// Result was recorded before a crash. The program gets it, and nothing is repeated.
	Result *Recorded
	// Again says that the call began before a crash and has no result. If its provider is
	// idempotent, the call is performed again. If not, the run ends as unknown.
	Again bool
}

// Recorded is the end of a call as the journal stores it, so that the program can get the same answer again. It
// encodes as JSON.
type Recorded struct {
	End   CallEnd         `json:"end"`
	Value json.RawMessage `json:"value,omitempty"` // absent: undefined
	Name  string          `json:"name,omitempty"`  // of the error that the program got
	Text  string          `json:"text,omitempty"`
}

// Harness is the provider of bridges that the harness performs. A call stays open until
// Run.Answer, or until the timeout of the bridge. The ring does not call it.
type Harness struct{}

// Call fails: a harness cannot be called.
func (Harness) Call(context.Context, Call) (json.RawMessage, error) {
	return nil, errors.New("the harness answers through the API")
}

// Idempotent is a Provider whose calls may be repeated with the same key: the second call
// has no further effect and the same result.
type Idempotent interface{ Idempotent() bool }

// readier is a Provider that knows in advance that a call could not begin.
type readier interface {
	// Ready returns nil, or why no call can begin now, such as a missing command.
	Ready() error
}

// Ready returns the reason why p cannot begin an approved call, or nil. If p is nil or is the
// harness, the reason is ErrNoProvider. An approved call that the harness performs already
// has its answer, so it needs no provider.
func Ready(p Provider) error {
	switch p := p.(type) {
	case nil, Harness:
		return ErrNoProvider
	case readier:
		return p.Ready()
	default:
		return nil
	}
}

// Ender is a Provider that keeps something open for a run between the calls of the run.
// RunEnded is called when the run has paused or ended, before its Done is closed and before
// the run may be resumed. RunEnded may be called more than once, and for runs that the
// provider does not know.
type Ender interface{ RunEnded(run string) }

// IsIdempotent reports whether a provider is Idempotent and says so. A nil provider is not.
func IsIdempotent(p Provider) bool {
	i, ok := p.(Idempotent)
	return ok && i.Idempotent()
}

// Conditions evaluates the conditions of approvals, and the guardrails on calls.
type Conditions interface {
	// Asks reports whether a call needs the approval whose condition is when. An error
	// counts as yes. It returns soon after ctx ends.
	Asks(ctx context.Context, when string, c profiles.Call) (bool, error)
	// Denies returns the reasons of a guardrail to refuse a call. Without reasons and error
	// the call may happen. It returns soon after ctx ends.
	Denies(ctx context.Context, rego string, c profiles.Call) ([]string, error)
}

// Spawned is what a run has used of its tree. It is committed with the pause of a run whose
// calls start subagents.
type Spawned struct {
	Total int64            // agents of the whole tree
	Calls map[string]int64 // subagents started, by call
}

// approved is one approval of a call. As long as a call has too few approvals, only the store has them.
type approved struct {
	By string
	As string
	At time.Time
}
