package contract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// StateRunning is the state of a run that has not ended and is not paused.
const StateRunning executors.State = "running"

// RunInfo says which run a View shows.
type RunInfo struct {
	ID         string
	Actor      string
	Agent      string
	Executor   string
	Generation int64 // bound at the start
	Revision   string
	Started    time.Time
	Session    string
}

// View is the state of a run: the outcome as far as it is known. It is a copy.
type View struct {
	RunInfo
	State    executors.State // StateRunning, StatePaused or the state at the end
	Value    json.RawMessage // tagged; nil unless done
	Repr     bool            // Value is text that shows a value which is not JSON
	ExitCode int             // of a shell script or a Python program; 126 if a script was refused
	Acted
	Console     []executors.ConsoleEntry
	Dropped     int64 // bytes of console output over the limit
	Error       *executors.ProgramError
	Pending     []Pending
	Queued      int64               // calls that wait until fewer of their bridges are open
	Denials     []profiles.Decision // at most pause.MaxDenials that differ, oldest first, each with its count
	DenialsMore int64               // refusals that found Denials full
	Imports     []string            // modules that the program imported itself, as its guest says; at most MaxImports
	Usage       executors.Usage     // Calls: admitted, by bridge; the rest once ended
	Attestation executors.Attestation
	LastEvent   int64 // number of the newest event
	// Touched is what the run and its subagents have touched of the three powers; nil if no
	// rule of two binds them.
	Touched *ruleoftwo.Touched
	// SessionError says why the state of the session was not kept. It is empty while the run
	// goes on, and if the state was kept.
	SessionError string
}

// MaxImports limits View.Imports.
const MaxImports = 512

// Pending is an open call that waits for an answer.
type Pending struct {
	ID     string
	Bridge string
	Args   json.RawMessage // as a provider would get them
	For    string          // "harness", "approver"
	Digest string
	Held   bool // no snapshot can be taken of its program: the run goes on running
	// The fields below are those of a call that waits for an approver.
	Expires   time.Time
	From      []string // owners, of which one must approve; empty allows any approver
	Count     int64
	Rule      *profiles.Rule // that asks for the approval; nil if it is not known
	Because   string         // why the rule of two asks for the approval; empty if a policy always does
	Approvals []approved     // none from the ring; a store knows them
}

// Reply settles a pending call with a tagged value or with an error. The program gets the
// message of the error in a BridgeError.
type Reply struct {
	Call   string
	Digest string // if given, must be that of the pending call
	By     string // the actor
	Value  json.RawMessage
	Error  *string
}

// ValidCallID reports whether the id that a guest gave a call is fit for records and messages.
func ValidCallID(id string) bool {
	if id == "" || len(id) > 32 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Attested returns the details of a record about the isolation of a guest: its layers by
// their state. It returns none if there was no guest.
func Attested(a executors.Attestation) map[string]string {
	out := map[string]string{}
	if a.Tier == "" {
		return out
	}
	out["tier"] = string(a.Tier)
	if a.LandlockABI > 0 {
		out["landlock_abi"] = strconv.Itoa(a.LandlockABI)
	}
	if a.Profile != "" {
		out["profile"] = a.Profile
	}
	by := map[string][]string{}
	for layer, state := range a.Layers {
		by[state] = append(by[state], layer)
	}
	for state, layers := range by {
		slices.Sort(layers)
		out[state] = strings.Join(layers, " ")
	}
	return out
}

// Acted is what the guests of a run did themselves.
type Acted struct {
	// Ran are the first programs that the guests of the run were allowed to start, and RanMore counts the later
	// ones. Asked are the acts that people were asked to approve.
	Ran     [][]string
	RanMore int64
	Asked   []pause.Asked
}
