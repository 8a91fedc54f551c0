package wire

import (
	"encoding/json"
	"time"

	"github.com/ringd/ringd/profiles"
)

// The conditions of Status. Each names a row of the fault table; none means
// that the generation in force is the last one pushed and everything serves.
const (
	ConditionNoPolicy         = "no_policy"         // no valid generation: everything is denied
	ConditionPushRejected     = "push_rejected"     // the last push was refused
	ConditionExecutorClosed   = "executor_closed"   // an executor rejected its profile
	ConditionRestartNeeded    = "restart_needed"    // something live could not take the new generation
	ConditionAuditUnavailable = "audit_unavailable" // audit or store cannot be written: nothing runs
	ConditionSyncLost         = "sync_lost"         // the sync directory is gone
	ConditionStale            = "stale"             // the staleness limit passed: everything is denied
	ConditionHeld             = "held"              // in force since before a restart, not yet seen again
	ConditionDraining         = "draining"          // new runs are refused
	// the disk of the state folder is nearly full: new runs are refused
	ConditionDiskLow = "disk_low"
	// the audit log cannot be archived as the configuration says, and grows
	ConditionNotArchived  = "audit_not_archived"
	ConditionGateway      = "gateway_unavailable" // the gateway of a policy has no upstream or no credential here
	ConditionRunsStuck    = "runs_stuck"          // runs whose calls are answered cannot go on
	ConditionLockdown     = "lockdown"            // an operator, or a signed order, closed everything
	ConditionOrderRefused = "lockdown_refused"    // a lockdown order in the sync folder is not obeyed
)

// Conditions lists the codes of all conditions.
func Conditions() []string {
	return []string{ConditionNoPolicy, ConditionPushRejected, ConditionExecutorClosed, ConditionRestartNeeded,
		ConditionAuditUnavailable, ConditionSyncLost, ConditionStale, ConditionHeld, ConditionDraining,
		ConditionDiskLow, ConditionNotArchived,
		ConditionGateway, ConditionRunsStuck, ConditionLockdown, ConditionOrderRefused}
}

// The states of a ring or an executor.
const (
	PartReady         = "ready"
	PartPlain         = "plain" // of the kernel ring: guests have no layers of it
	PartClosed        = "closed"
	PartRestartNeeded = "restart_needed"
	PartUnavailable   = "unavailable"
)

// Status is the answer of GET /v1/status: what is in force, and why the last
// push was refused.
type Status struct {
	Version    string           `json:"version"`
	Ready      bool             `json:"ready"` // new runs are taken
	Generation int64            `json:"generation"`
	Revision   string           `json:"revision"`
	Activated  *time.Time       `json:"activated,omitempty"`
	Signed     *Signed          `json:"signed,omitempty"` // the push in force; absent: it was not signed
	Closes     *time.Time       `json:"closes,omitempty"` // when the generation is closed unless a good push comes
	Conditions []Condition      `json:"conditions"`
	Rings      []Part           `json:"rings"`
	Executors  []Part           `json:"executors"`
	Egress     *Network         `json:"egress,omitempty"` // absent while nothing is in force
	LastPush   *Push            `json:"last_push,omitempty"`
	Lockdown   *Lockdown        `json:"lockdown,omitempty"` // while it holds
	Order      *Order           `json:"order,omitempty"`    // the signed lockdown order seen last, since the start
	Runs       RunCounts        `json:"runs"`
	AuditSeq   int64            `json:"audit_seq"`
	Exceptions []ExceptionState `json:"exceptions,omitempty"` // of the policy in force, the next to end first
	Shadow     *Shadow          `json:"shadow,omitempty"`     // absent where no candidate is looked for
}

// ExceptionState is a grant above a ceiling, of the policy in force.
type ExceptionState struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Owner   string    `json:"owner"`
	Lifts   []string  `json:"lifts"` // the layers that it exceeds: OrgPolicy acme
	Expires time.Time `json:"expires"`
	Ended   bool      `json:"ended"` // it grants nothing any more
}

// Condition is one thing that is not as it should be.
type Condition struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"` // when it is known
}

// Part is a ring or an executor.
type Part struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ready | plain | closed | restart_needed | unavailable
	Reason string `json:"reason,omitempty"`
	// Sessions are those of an executor that live between two runs, as Python's do.
	Sessions *LiveSessions `json:"sessions,omitempty"`
	// Canary is what a guest of an executor showed of the policy in force.
	Canary *Canary `json:"canary,omitempty"`
}

// LiveSessions are processes that wait for the next run of their session.
type LiveSessions struct {
	Live  int   `json:"live"`
	Bytes int64 `json:"bytes"` // of memory that they have taken, at most
}

// Network is what guests and runs have open, and what will change or cannot work.
type Network struct {
	Connections int64           `json:"connections"` // open now
	Next        []EgressExpiry  `json:"next"`        // rules that expire, soonest first, some of them
	Gateways    []EgressGateway `json:"gateways"`
}

// EgressExpiry is a rule or a gateway that grants nothing from At on.
type EgressExpiry struct {
	Agent string    `json:"agent"`
	Host  string    `json:"host"` // as the policy has it, or the name of the gateway
	At    time.Time `json:"at"`
}

// EgressGateway is a gateway of a policy on this host.
type EgressGateway struct {
	Agent      string `json:"agent"`
	Name       string `json:"name"`
	Credential string `json:"credential,omitempty"` // its name
	State      string `json:"state"`                // ready | unavailable
	Reason     string `json:"reason,omitempty"`
}

// The results of a push.
const (
	PushApplied   = "applied"
	PushUnchanged = "unchanged"
	PushRejected  = "rejected"
	PushWaiting   = "waiting" // for the end of a lockdown
)

// Push is the last push and its findings.
type Push struct {
	Digest   string       `json:"digest,omitempty"`
	Revision string       `json:"revision,omitempty"`
	Result   string       `json:"result"`         // applied | unchanged | rejected | waiting
	Code     string       `json:"code,omitempty"` // why a push was refused that has to be signed
	At       time.Time    `json:"at"`
	Message  string       `json:"message,omitempty"`
	Findings []Diagnostic `json:"findings"`
}

// Signed is what the keys of a push have signed, beside the set.
type Signed struct {
	Sequence int64     `json:"sequence"`
	Previous string    `json:"previous"` // the revision that it was made on top of
	Issuer   string    `json:"issuer"`
	Audience string    `json:"audience,omitempty"` // the hosts that it is for
	Issued   time.Time `json:"issued"`
	Expires  time.Time `json:"expires"`
	Reason   string    `json:"reason,omitempty"`
	Rollback bool      `json:"rollback,omitempty"`
	Signers  []Signer  `json:"signers"`
}

// Signer is a key whose signature holds, and in which roles it counts.
type Signer struct {
	Key   string   `json:"key"`
	Roles []string `json:"roles"`
}

// Diagnostic is one finding about the sources of a push.
type Diagnostic struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Severity string `json:"severity"` // error | warning
	// Related are the other places, where two disagree: the ceiling that a layer widens.
	Related []Place `json:"related,omitempty"`
}

// Place is a place in the sources of a push. Line and Column count from 1.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// RunCounts counts the runs that have not ended.
type RunCounts struct {
	Live   int `json:"live"`
	Paused int `json:"paused"` // none of the live ones: nothing of them is in memory
}

// RunSummary is one run of a list.
type RunSummary struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Agent    string    `json:"agent"`
	Actor    string    `json:"actor"`
	Executor string    `json:"executor"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// MinRunPrefix is how many letters the beginning of an id has at least that
// stands for a run.
const MinRunPrefix = 4

// RunList is the answer of GET /v1/runs, newest first. Next, when not empty, is
// the "before" of the next page.
type RunList struct {
	Runs []RunSummary `json:"runs"`
	Next string       `json:"next,omitempty"`
}

// The types of an Event.
const (
	EventState    = "state"
	EventConsole  = "console"
	EventCall     = "call"
	EventDecision = "decision"
	EventGap      = "gap" // the reader was too slow, or asked for what is gone
)

// Event is one server-sent event of a run: its "data" line. Seq is its "id",
// Type its "event". Exactly the field named by Type is set.
type Event struct {
	Seq      int64              `json:"seq"`
	Type     string             `json:"type"`
	Run      string             `json:"run"`
	State    string             `json:"state,omitempty"`
	Console  *ConsoleEntry      `json:"console,omitempty"`
	Call     *CallEvent         `json:"call,omitempty"`
	Decision *profiles.Decision `json:"decision,omitempty"`
	Missed   int64              `json:"missed,omitempty"` // gap: events that were not sent
}

// Final reports whether e is the last event of its run.
func (e Event) Final() bool {
	if e.Type != EventState {
		return false
	}
	switch e.State {
	case "done", "failed", "denied", "limit", "cancelled", "unknown":
		return true
	default:
		return false
	}
}

// CallEvent is one step of a bridge call: it holds no argument values.
type CallEvent struct {
	ID     string `json:"id"`
	Bridge string `json:"bridge"`
	State  string `json:"state"`           // opened, pending or closed
	Error  string `json:"error,omitempty"` // the name of the error that the program got
	Digest string `json:"digest,omitempty"`
}

// Profile is what one agent may do in one executor, under one revision.
type Profile struct {
	Revision string                     `json:"revision"`
	Agent    string                     `json:"agent"`
	Executor string                     `json:"executor"`
	Policy   string                     `json:"policy"`
	MinTier  profiles.Tier              `json:"min_tier"`
	JS       *profiles.JS               `json:"js,omitempty"`
	Python   *profiles.Python           `json:"python,omitempty"`
	Shell    *profiles.Shell            `json:"shell,omitempty"`
	Bridges  map[string]profiles.Bridge `json:"bridges"`
	Files    profiles.Files             `json:"files"`
	Egress   profiles.Egress            `json:"egress"`
	Limits   profiles.Limits            `json:"limits"`
	// Sessions bounds the states that are kept between runs; absent: none is.
	Sessions *profiles.Sessions `json:"sessions,omitempty"`
}

// Approvals is the answer of GET /v1/approvals.
type Approvals struct {
	Approvals []WaitingCall `json:"approvals"`      // in turns: the newest of each agent and actor, then the next
	More      bool          `json:"more,omitempty"` // more wait than are listed
	Next      string        `json:"next,omitempty"` // after of the next page
}

// WaitingCall is a call that waits for a person.
type WaitingCall struct {
	Run     string    `json:"run"`
	Agent   string    `json:"agent"`
	Actor   string    `json:"actor"`
	Created time.Time `json:"created"`
	Pending Pending   `json:"pending"`
}

// ApprovalAnswer is the body of POST /v1/approvals/{run}/{call}. It counts for
// the call with this digest only.
type ApprovalAnswer struct {
	Verdict string `json:"verdict"`          // allow | deny
	Reason  string `json:"reason,omitempty"` // the program sees that of a deny, which needs one
	Digest  string `json:"digest"`           // of the pending call that was shown
	// As is the capacity to approve in: an owner of Pending.From that the daemon's
	// configuration gives to the caller. "": the first one that it gives.
	As string `json:"as,omitempty"`
}

// Revocation is the body of POST /v1/runs/{id}/revoke.
type Revocation struct {
	// Grants are taken from the run, for good: "bridge:NAME", "host:NAME",
	// "import:NAME", "exec:PATH".
	Grants []string `json:"grants"`
}

// Session is the kept state of an interpreter between runs.
type Session struct {
	Name    string    `json:"name"`
	Agent   string    `json:"agent"`
	Actor   string    `json:"actor"`
	Bytes   int64     `json:"bytes"` // of the sealed state
	Updated time.Time `json:"updated"`
	Expires time.Time `json:"expires,omitzero"`
	Run     string    `json:"run,omitempty"` // that has it now
}

// SessionList is the answer of GET /v1/sessions.
type SessionList struct {
	Sessions []Session `json:"sessions"`
}

// Action is one action of POST /v1/decide: an object with one of the keys shell,
// import, egress, bridge, file, exec and variable.
type Action = json.RawMessage

// Health is the answer of GET /healthz and GET /readyz.
type Health struct {
	Status string `json:"status"` // ok
	// Lockdown is true while everything is closed by an operator.
	Lockdown bool `json:"lockdown,omitempty"`
}
