package wire

import (
	"encoding/json"
	"time"

	"github.com/ringd/ringd/profiles"
)

// The conditions of Status. Each names a row of the fault table. If there is none, the
// policy pushed last is in force, and everything works.
const (
	ConditionNoPolicy         = "no_policy"         // no valid generation: everything is denied
	ConditionPushRejected     = "push_rejected"     // the last push was refused
	ConditionExecutorClosed   = "executor_closed"   // an executor rejected its profile
	ConditionRestartNeeded    = "restart_needed"    // a live guest or executor could not apply the new generation
	ConditionAuditUnavailable = "audit_unavailable" // audit or store cannot be written: nothing runs
	ConditionSyncLost         = "sync_lost"         // the sync directory is gone
	ConditionStale            = "stale"             // no good push came in the allowed time: everything is denied
	ConditionHeld             = "held"              // in force since before a restart; the push has not been read since
	ConditionDraining         = "draining"          // new runs are refused
	// the disk of the state folder is nearly full: new runs are refused
	ConditionDiskLow = "disk_low"
	// the audit log cannot be archived as the configuration says, and grows
	ConditionNotArchived  = "audit_not_archived"
	ConditionGateway      = "gateway_unavailable" // the gateway of a policy has no upstream or no credential here
	ConditionRunsStuck    = "runs_stuck"          // runs whose calls are answered cannot be resumed
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
	PartPlain         = "plain" // of the kernel ring: guests have none of its layers
	PartClosed        = "closed"
	PartRestartNeeded = "restart_needed"
	PartUnavailable   = "unavailable"
)

// Status is the answer of GET /v1/status: what is in force, and why the last push was
// rejected.
type Status struct {
	Version    string           `json:"version"`
	Ready      bool             `json:"ready"` // new runs are accepted
	Generation int64            `json:"generation"`
	Revision   string           `json:"revision"`
	Activated  *time.Time       `json:"activated,omitempty"`
	Signed     *Signed          `json:"signed,omitempty"` // the push in force; absent: the push was not signed
	Closes     *time.Time       `json:"closes,omitempty"` // when everything will be denied if no good push comes
	Conditions []Condition      `json:"conditions"`
	Rings      []Part           `json:"rings"`
	Executors  []Part           `json:"executors"`
	Egress     *Network         `json:"egress,omitempty"` // absent if no policy is in force
	LastPush   *Push            `json:"last_push,omitempty"`
	Lockdown   *Lockdown        `json:"lockdown,omitempty"` // absent if there is no lockdown
	Order      *Order           `json:"order,omitempty"`    // the last signed lockdown order since the start
	Runs       RunCounts        `json:"runs"`
	AuditSeq   int64            `json:"audit_seq"`
	Exceptions []ExceptionState `json:"exceptions,omitempty"` // of the policy in force, sorted by the time they end
	Shadow     *Shadow          `json:"shadow,omitempty"`     // absent if there is no folder for a candidate
}

// ExceptionState is an exception of the policy in force: a temporary grant above a
// ceiling.
type ExceptionState struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Owner   string    `json:"owner"`
	Lifts   []string  `json:"lifts"` // the layers whose ceiling it exceeds: OrgPolicy acme
	Expires time.Time `json:"expires"`
	Ended   bool      `json:"ended"` // the exception has ended and grants nothing
}

// Condition is one thing that does not work as it should.
type Condition struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"` // since when the condition is known
}

// Part is a ring or an executor.
type Part struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ready | plain | closed | restart_needed | unavailable
	Reason string `json:"reason,omitempty"`
	// Sessions are the processes of an executor that stay between two runs of a session,
	// as those of Python do.
	Sessions *LiveSessions `json:"sessions,omitempty"`
	// Canary is the result of the canary of an executor for the policy in force.
	Canary *Canary `json:"canary,omitempty"`
}

// LiveSessions are processes that wait for the next run of their session.
type LiveSessions struct {
	Live  int   `json:"live"`
	Bytes int64 `json:"bytes"` // the sum of the largest memory that each has used
}

// Network says which connections of guests and runs are open, which rules will expire,
// and which gateways do not work.
type Network struct {
	Connections int64           `json:"connections"` // connections that are open now
	Next        []EgressExpiry  `json:"next"`        // some of the rules that expire, the soonest first
	Gateways    []EgressGateway `json:"gateways"`
}

// EgressExpiry is a rule or a gateway that grants nothing from At on.
type EgressExpiry struct {
	Agent string    `json:"agent"`
	Host  string    `json:"host"` // the host in the policy, or the name of the gateway
	At    time.Time `json:"at"`
}

// EgressGateway is a gateway of a policy on this host.
type EgressGateway struct {
	Agent      string `json:"agent"`
	Name       string `json:"name"`
	Credential string `json:"credential,omitempty"` // the name of the credential
	State      string `json:"state"`                // ready | unavailable
	Reason     string `json:"reason,omitempty"`
}

// The results of a push.
const (
	PushApplied   = "applied"
	PushUnchanged = "unchanged"
	PushRejected  = "rejected"
	PushWaiting   = "waiting" // the push waits for the end of a lockdown
)

// Push is the last push and its findings.
type Push struct {
	Digest   string       `json:"digest,omitempty"`
	Revision string       `json:"revision,omitempty"`
	Result   string       `json:"result"`         // applied | unchanged | rejected | waiting
	Code     string       `json:"code,omitempty"` // why a push that must be signed was rejected
	At       time.Time    `json:"at"`
	Message  string       `json:"message,omitempty"`
	Findings []Diagnostic `json:"findings"`
}

// Signed is what the keys of a push have signed in addition to the set.
type Signed struct {
	Sequence int64     `json:"sequence"`
	Previous string    `json:"previous"` // the revision that this push follows
	Issuer   string    `json:"issuer"`
	Audience string    `json:"audience,omitempty"` // the hosts for which the push is meant
	Issued   time.Time `json:"issued"`
	Expires  time.Time `json:"expires"`
	Reason   string    `json:"reason,omitempty"`
	Rollback bool      `json:"rollback,omitempty"`
	Signers  []Signer  `json:"signers"`
}

// Signer is a key with a valid signature, and the roles in which the signature is valid.
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
	// Related lists other places that belong to the finding, such as the ceiling that a
	// layer exceeds.
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
	Paused int `json:"paused"` // not included in Live: a paused run uses no memory
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

// MinRunPrefix is the smallest number of letters that can be given instead of a whole
// run id.
const MinRunPrefix = 4

// RunList is the answer of GET /v1/runs, newest first. If Next is not empty, it is the
// value of "before" for the next page.
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
	EventGap      = "gap" // the reader was too slow, or asked for events that are no longer kept
)

// Event is one server-sent event of a run: the "data" line of the event. Seq is the "id"
// of the event, and Type its "event". Exactly the field named by Type is set.
type Event struct {
	Seq      int64              `json:"seq"`
	Type     string             `json:"type"`
	Run      string             `json:"run"`
	State    string             `json:"state,omitempty"`
	Console  *ConsoleEntry      `json:"console,omitempty"`
	Call     *CallEvent         `json:"call,omitempty"`
	Decision *profiles.Decision `json:"decision,omitempty"`
	Missed   int64              `json:"missed,omitempty"` // gap: how many events were not sent
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

// CallEvent is one step of a bridge call. It has no argument values.
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
	// Sessions limits the states that are kept between runs. If it is absent, no state
	// is kept.
	Sessions *profiles.Sessions `json:"sessions,omitempty"`
}

// Approvals is the answer of GET /v1/approvals.
type Approvals struct {
	Approvals []WaitingCall `json:"approvals"`      // in turns: the newest of each agent and actor, then the next
	More      bool          `json:"more,omitempty"` // there are more calls than those in the list
	Next      string        `json:"next,omitempty"` // the value of after for the next page
}

// WaitingCall is a call that waits for a person.
type WaitingCall struct {
	Run     string    `json:"run"`
	Agent   string    `json:"agent"`
	Actor   string    `json:"actor"`
	Created time.Time `json:"created"`
	Pending Pending   `json:"pending"`
}

// ApprovalAnswer is the body of POST /v1/approvals/{run}/{call}. The answer is valid
// only for the call whose digest is Digest.
type ApprovalAnswer struct {
	Verdict string `json:"verdict"`          // allow | deny
	Reason  string `json:"reason,omitempty"` // required for deny: the program gets this text
	Digest  string `json:"digest"`           // the digest of the call that the approver saw
	// As is the owner for whom the caller approves. The daemon's configuration must give
	// this owner to the caller. If Pending.From is not empty, the owner must be in it.
	// If As is empty, the first owner of Pending.From that the configuration gives to
	// the caller is used.
	As string `json:"as,omitempty"`
}

// Revocation is the body of POST /v1/runs/{id}/revoke.
type Revocation struct {
	// Grants lists the grants that the run loses permanently: "bridge:NAME",
	// "host:NAME", "import:NAME", "exec:PATH".
	Grants []string `json:"grants"`
}

// Session is the state of an interpreter that is kept between runs.
type Session struct {
	Name    string    `json:"name"`
	Agent   string    `json:"agent"`
	Actor   string    `json:"actor"`
	Bytes   int64     `json:"bytes"` // of the sealed state
	Updated time.Time `json:"updated"`
	Expires time.Time `json:"expires,omitzero"`
	Run     string    `json:"run,omitempty"` // the run that uses the session now
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
