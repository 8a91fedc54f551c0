// Package wire owns the JSON types and error codes of the harness API and of `ringd run --json`. It
// has only data. The API server, the clients and the command line read and write it.
package wire

import (
	"encoding/json"
	"time"

	"github.com/ringd/ringd/profiles"
)

// RunRequest is the body of POST /v1/runs.
type RunRequest struct {
	Agent    string                     `json:"agent,omitempty"` // default "default"
	Executor string                     `json:"executor"`        // js, python, shell
	Program  Program                    `json:"program"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	// Parent makes the run a subagent. The run is counted in the limits of the call for which it is
	// started. When that call ends, the run ends.
	Parent *Parent `json:"parent,omitempty"`
	// Session is the name of a session. The run continues from the state that the last run of the
	// same agent, actor and session left, if that run ended well. If Session is empty, no state is
	// kept.
	Session string `json:"session,omitempty"`
	// Grants reduce what the policy grants the agent, for this run only. They never add anything.
	// If Grants is absent, the run has all grants of the policy.
	Grants *profiles.Grants `json:"grants,omitempty"`
	// WaitMillis is how many milliseconds the request waits for the run to end or pause. If the run
	// does so in that time, the answer has the outcome. With 0 the request returns at once. The
	// largest value is MaxWaitMillis.
	WaitMillis int64 `json:"wait_ms,omitempty"`
}

// Parent names the open call for which a subagent is started. A bridge command finds Run and Call
// in the variables RINGD_RUN and RINGD_CALL.
type Parent struct {
	Run  string `json:"run"`
	Call string `json:"call"`
}

// MaxWaitMillis is the longest a request may wait for a run or a revision.
const MaxWaitMillis = 60_000

// StateRunning is the state of a run that has neither paused nor ended. The
// other states are those of an outcome.
const StateRunning = "running"

// Program is source text.
type Program struct {
	Name     string `json:"name,omitempty"`
	Language string `json:"language,omitempty"`
	Source   string `json:"source"`
	// Stdin is the standard input, as text. Cwd is the folder in which the program starts, absolute
	// and clean. Both are only for scripts and Python programs. If Cwd is empty, the program starts
	// in the first folder that the policy lets it write. If there is none, it starts in the first
	// folder that it may read. If there is none either, it starts in an empty folder of its own.
	Stdin string `json:"stdin,omitempty"`
	Cwd   string `json:"cwd,omitempty"`
}

// Run is the answer of POST /v1/runs and GET /v1/runs/{id}: the outcome of the run as far as it is
// known. State is "running" until the run pauses or ends.
type Run struct {
	ID       string          `json:"id"`
	State    string          `json:"state"` // running | done|failed|denied|paused|limit|cancelled|unknown
	Agent    string          `json:"agent,omitempty"`
	Executor string          `json:"executor,omitempty"`
	Created  *time.Time      `json:"created,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	// Repr is true if the value is not JSON. Then Value is a text that shows the value, such as
	// Python's repr.
	Repr    bool           `json:"repr,omitempty"`
	Console []ConsoleEntry `json:"console"`
	Dropped int64          `json:"console_dropped_bytes,omitempty"`
	// Stdout and Stderr are what a script with its programs, or a Python program, wrote there.
	// ExitCode is the exit code of the script or program. If a script was denied something,
	// ExitCode is 126.
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
	Acted
	Error   *RunError `json:"error,omitempty"`
	Pending []Pending `json:"pending,omitempty"`
	// Queued is the number of calls that wait until fewer calls of their bridges are open.
	Queued int64 `json:"queued,omitempty"`
	// Denials lists the different denials, the oldest first, each with how often it happened.
	// DenialsMore is how many denials are not in the list, which is limited to 256.
	Denials     []profiles.Decision `json:"denials"`
	DenialsMore int64               `json:"denials_more,omitempty"`
	Usage       Usage               `json:"usage"`
	Attestation Attestation         `json:"attestation"`
	// Session is the session of the request. SessionError says why the state of the session was not
	// kept.
	Session      string `json:"session,omitempty"`
	SessionError string `json:"session_error,omitempty"`
	// RuleOfTwo is which of the three powers the run and its subagents have used. It is absent if
	// the rule of two does not apply to them.
	RuleOfTwo *RuleOfTwo `json:"rule_of_two,omitempty"`
	// PolicyPath is the path that was given to ringd run or ringd resume, while the run waits in a
	// state folder. It is only used in commands that are shown to people, and has no other effect.
	PolicyPath string `json:"policy_path,omitempty"`
	// LastEvent is the number of the newest event when the run paused or ended. A reader of the
	// events can continue after it.
	LastEvent int64 `json:"last_event,omitempty"`
}

// RuleOfTwo says which of the three powers a run has used: untrusted input, sensitive data and an
// external effect.
type RuleOfTwo struct {
	Touched []string `json:"touched"` // untrusted, sensitive, external
	// the first uses of each power: bridge:readMail, egress:api.example.com, files:read, inputs
	By map[string][]string `json:"by"`
}

// The times at which an approval for the start of a program was requested.
const (
	AskedBeforeStart = "before_start" // nothing of the script had run
	AskedHeld        = "held"         // the script had run partly; the script or the program was held meanwhile
)

// Asked is the start of a program for which an approval was requested.
type Asked struct {
	Call       string   `json:"call"`
	Capability string   `json:"capability"` // exec:/usr/bin/git, bridge:sendEmail
	Argv       []string `json:"argv"`       // the arguments of the started program
	When       string   `json:"when"`       // before_start | held
}

// ConsoleEntry is one console line.
type ConsoleEntry struct {
	Seq   int64  `json:"seq"`
	Level string `json:"level"`
	Text  string `json:"text"`
}

// RunError is why a run failed.
type RunError struct {
	Name    string  `json:"name"`
	Message string  `json:"message"`
	Frames  []Frame `json:"frames,omitempty"`
}

// Frame is a place in the author's program.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// Acted is what the program of a run did itself: started, imported, asked to start.
type Acted struct {
	// Ran lists the programs that were allowed to start, each with its arguments, in order. The
	// list is limited. RanMore is how many starts came after the last one in the list.
	Ran     [][]string `json:"ran,omitempty"`
	RanMore int64      `json:"ran_more,omitempty"`
	// Imports lists the modules that a Python program itself imported, as its guest reported. Each
	// module is listed once, in order, and only the first 512.
	Imports []string `json:"imports,omitempty"`
	// Asked lists the starts of programs for which an approval was requested, and the calls for
	// which a program was held.
	Asked []Asked `json:"asked,omitempty"`
}

// Pending is an open call for which the run waits. Args are the arguments at the time of the call.
// An answer or an approval is for these arguments.
type Pending struct {
	ID     string          `json:"id"`
	Bridge string          `json:"bridge"`
	Args   json.RawMessage `json:"args"`
	For    string          `json:"for"` // approver | harness
	Digest string          `json:"digest"`
	// ArgsBytes is the size of the arguments if a list leaves them out. Then args is null, and GET
	// /v1/runs/{id}/calls/{call} returns the arguments.
	ArgsBytes int64 `json:"args_bytes,omitempty"`
	// Held is true if the program waits in its process, because no snapshot of the process can be
	// made. Then the run does not pause, and the call is answered while the run is running.
	Held    bool       `json:"held,omitempty"`
	Expires *time.Time `json:"expires,omitempty"` // approvals after this time are invalid
	// From lists the owners who may approve. If it is empty, any approver may.
	From      []string   `json:"from,omitempty"`
	Count     int64      `json:"count,omitempty"`     // how many different approvers are required
	Approvals []Approved `json:"approvals,omitempty"` // the approvals so far
	// Rule is the line of the policy that asks for the approval, once it is known.
	Rule *profiles.Rule `json:"rule,omitempty"`
	// Because says why the rule of two requires the approval: the power that the call would add to
	// the powers that the run has used.
	Because string `json:"because,omitempty"`
}

// AwaitsHarness reports whether a run that does not pause waits for its harness.
func (r Run) AwaitsHarness() bool {
	for _, p := range r.Pending {
		if r.State == StateRunning && p.Held && p.For == "harness" {
			return true
		}
	}
	return false
}

// Approved is one approval of a call.
type Approved struct {
	By string    `json:"by"`           // the actor
	As string    `json:"as,omitempty"` // the owner for whom the actor approved, one of Pending.From
	At time.Time `json:"at"`
}

// Usage is what a run used.
type Usage struct {
	CPUMillis      float64          `json:"cpu_ms"`
	WallMillis     float64          `json:"wall_ms"`
	HostWaitMillis float64          `json:"host_wait_ms"`
	PeakBytes      int64            `json:"peak_bytes"`
	Calls          map[string]int64 `json:"calls"`
}

// Attestation says to which policy the run was bound, and which isolation it had. If no guest was
// started for the run, Tier is empty and there are no layers.
type Attestation struct {
	Generation int64             `json:"generation"`
	Revision   string            `json:"revision"`
	Tier       string            `json:"tier"`
	Layers     map[string]string `json:"layers"` // layer: enforced | best-effort | unavailable
	// LandlockABI is the version of Landlock that was enforced. 0 means that Landlock was not
	// enforced.
	LandlockABI int `json:"landlock_abi"`
	// Profile is the digest of the kernel profile that was enforced. It is empty if none was
	// enforced.
	Profile string `json:"profile"`
}

// Answers is the body of POST /v1/runs/{id}/answers.
type Answers struct {
	Answers []Answer `json:"answers"`
	// WaitMillis is as in RunRequest: the request waits for the next pause or the end.
	WaitMillis int64 `json:"wait_ms,omitempty"`
}

// Answer settles one pending call: a value, or an error for the program.
type Answer struct {
	Call   string          `json:"call"`
	Digest string          `json:"digest,omitempty"` // if it is given, it must be the digest of the pending call
	Value  json.RawMessage `json:"value,omitempty"`
	Error  *AnswerError    `json:"error,omitempty"`
}

// AnswerError reaches the program as a BridgeError.
type AnswerError struct {
	Message string `json:"message"`
}

// ErrorBody is the body of every error answer.
type ErrorBody struct {
	Error Error `json:"error"`
}

// Error is a coded failure.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}
