// Package wire owns the JSON types and error codes of the harness API and of
// `ringd run --json`. It holds data only; the API server, the clients and the
// command line read and write it.
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
	// Parent makes the run a subagent: it counts in the limits of the call that it
	// is started for, and ends when that call does.
	Parent *Parent `json:"parent,omitempty"`
	// Session names what the run goes on from: the state that the last run of this
	// agent and actor under the same name left, if it ended well. "": nothing is
	// kept.
	Session string `json:"session,omitempty"`
	// Grants narrow what the policy grants the agent, for this run; they never
	// widen it. Absent: nothing is narrowed.
	Grants *profiles.Grants `json:"grants,omitempty"`
	// WaitMillis makes the request return the outcome when the run ends or pauses
	// within this many milliseconds, instead of at once. 0: at once; at most
	// MaxWaitMillis.
	WaitMillis int64 `json:"wait_ms,omitempty"`
}

// Parent names the open call that a subagent is started for. A bridge command
// finds both in RINGD_RUN and RINGD_CALL.
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
	// Stdin is the standard input of a script or a Python program, as text; Cwd the
	// folder it starts in, absolute and clean. Of these executors alone. Without Cwd it
	// starts in the first folder that the policy lets it write, else read, else in an
	// empty one of its own.
	Stdin string `json:"stdin,omitempty"`
	Cwd   string `json:"cwd,omitempty"`
}

// Run is the answer of POST /v1/runs and GET /v1/runs/{id}: the outcome as far
// as it is known. State is "running" until the run pauses or ends.
type Run struct {
	ID       string          `json:"id"`
	State    string          `json:"state"` // running | done|failed|denied|paused|limit|cancelled|unknown
	Agent    string          `json:"agent,omitempty"`
	Executor string          `json:"executor,omitempty"`
	Created  *time.Time      `json:"created,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	// Repr says that Value is a text which shows a value that is not JSON, as Python's
	// repr does.
	Repr    bool           `json:"repr,omitempty"`
	Console []ConsoleEntry `json:"console"`
	Dropped int64          `json:"console_dropped_bytes,omitempty"`
	// Stdout and Stderr are what a script and its programs, or a Python program, wrote
	// there; ExitCode is its own, 126 when a script was refused something.
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
	// Ran are the words of the programs that were allowed to start, the first of them
	// in order, and RanMore how many came after.
	Ran     [][]string `json:"ran,omitempty"`
	RanMore int64      `json:"ran_more,omitempty"`
	// Imports are the modules that a Python program itself imported, as its guest says:
	// each once, in order, the first 512.
	Imports []string `json:"imports,omitempty"`
	// Asked are the programs whose start people were asked to approve, and the calls
	// that a program was held for meanwhile.
	Asked   []Asked   `json:"asked,omitempty"`
	Error   *RunError `json:"error,omitempty"`
	Pending []Pending `json:"pending,omitempty"`
	// Denials are the refusals that differ, oldest first, each with how often it
	// happened; DenialsMore counts those beyond the first 256.
	Denials     []profiles.Decision `json:"denials"`
	DenialsMore int64               `json:"denials_more,omitempty"`
	Usage       Usage               `json:"usage"`
	Attestation Attestation         `json:"attestation"`
	// Session is that of the request. SessionError says why its state was not kept.
	Session      string `json:"session,omitempty"`
	SessionError string `json:"session_error,omitempty"`
	// RuleOfTwo is what the run and its subagents have touched of three powers; absent:
	// no rule of two binds them.
	RuleOfTwo *RuleOfTwo `json:"rule_of_two,omitempty"`
	// PolicyPath is the path that ringd run or resume was given, while the run waits in a
	// state folder: a hint for a command that is shown, and nothing that counts.
	PolicyPath string `json:"policy_path,omitempty"`
	// LastEvent is the number of the newest event when the run paused or ended: what a
	// reader that knows this answer goes on after.
	LastEvent int64 `json:"last_event,omitempty"`
}

// RuleOfTwo is what a run has touched of untrusted input, sensitive data and an external
// effect.
type RuleOfTwo struct {
	Touched []string `json:"touched"` // untrusted, sensitive, external
	// the first uses that touched each: bridge:readMail, egress:api.example.com, files:read, inputs
	By map[string][]string `json:"by"`
}

// When people were asked about the start of a program.
const (
	AskedBeforeStart = "before_start" // nothing of the script had run
	AskedHeld        = "held"         // half way, and the script or the program was held meanwhile
)

// Asked is the start of a program that people were asked to approve.
type Asked struct {
	Call       string   `json:"call"`
	Capability string   `json:"capability"` // exec:/usr/bin/git, bridge:sendEmail
	Argv       []string `json:"argv"`       // of a program's start
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

// Pending is an open call that the run waits on. Args are what they were when
// the program called; what the call is answered or approved for.
type Pending struct {
	ID     string          `json:"id"`
	Bridge string          `json:"bridge"`
	Args   json.RawMessage `json:"args"`
	For    string          `json:"for"` // approver | harness
	Digest string          `json:"digest"`
	// ArgsBytes is how large the arguments are where a list leaves them out: args is null
	// there, and GET /v1/runs/{id}/calls/{call} has them.
	ArgsBytes int64 `json:"args_bytes,omitempty"`
	// Held says that the program waits in its process, which cannot be written down:
	// the run does not pause, and the call is answered while it is running.
	Held    bool       `json:"held,omitempty"`
	Expires *time.Time `json:"expires,omitempty"` // no approval counts from then on
	// From are the owners of which one must approve; empty: any approver may.
	From      []string   `json:"from,omitempty"`
	Count     int64      `json:"count,omitempty"`     // how many different approvers it takes
	Approvals []Approved `json:"approvals,omitempty"` // those that approved so far
	// Rule is the line of the policy that asks for the approval, once it is known.
	Rule *profiles.Rule `json:"rule,omitempty"`
	// Because says why the rule of two asks: what the call would bring to what the run
	// has touched.
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

// Approved is one approval that a call has.
type Approved struct {
	By string    `json:"by"`           // the actor
	As string    `json:"as,omitempty"` // in which capacity, one of Pending.From
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

// Attestation is what the run was bound to and what stood around it. Of a run
// that no guest was started for, Tier is "" and there are no layers.
type Attestation struct {
	Generation int64             `json:"generation"`
	Revision   string            `json:"revision"`
	Tier       string            `json:"tier"`
	Layers     map[string]string `json:"layers"` // layer: enforced | best-effort | unavailable
	// LandlockABI is the version of Landlock that was enforced; 0: none was.
	LandlockABI int `json:"landlock_abi"`
	// Profile is the digest of the kernel profile that was enforced; "": none was.
	Profile string `json:"profile"`
}

// Answers is the body of POST /v1/runs/{id}/answers.
type Answers struct {
	Answers []Answer `json:"answers"`
	// WaitMillis waits as in RunRequest, for the next pause or the end.
	WaitMillis int64 `json:"wait_ms,omitempty"`
}

// Answer settles one pending call: a value, or an error for the program.
type Answer struct {
	Call   string          `json:"call"`
	Digest string          `json:"digest,omitempty"` // when given, must be the pending call's
	Value  json.RawMessage `json:"value,omitempty"`
	Error  *AnswerError    `json:"error,omitempty"`
}

// AnswerError reaches the program as a BridgeError.
type AnswerError struct {
	Message string `json:"message"`
}

// ErrorBody is every error answer.
type ErrorBody struct {
	Error Error `json:"error"`
}

// Error is a coded failure.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}
