package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Kind is the kind of a record. The list is closed: Append refuses any other.
type Kind string

// Kinds of records.
const (
	DaemonStarted  Kind = "daemon_started"
	daemonStopped  Kind = "daemon_stopped"
	StoreRecovered Kind = "store_recovered" // what a restart did with runs that were live
	PushApplied    Kind = "push_applied"
	PushRejected   Kind = "push_rejected"
	// PolicyRolledBack comes before the push_applied of a push that is marked as a rollback.
	PolicyRolledBack Kind = "policy_rolled_back"
	GenerationHeld   Kind = "generation_held"   // a restart restored the last generation
	GenerationEnded  Kind = "generation_ended"  // the staleness limit passed, and it was closed
	ExceptionEnded   Kind = "exception_expired" // its grants were removed, as a new generation
	ExecutorClosed   Kind = "executor_closed"
	ExecutorOpened   Kind = "executor_opened" // the push that closed it is gone
	// a part that must be restarted before it can take the generation in force
	RestartNeeded  Kind = "restart_needed"
	RequestRefused Kind = "request_refused" // by role or quota
	ActionDecided  Kind = "action_decided"  // POST /v1/decide; nothing ran
	RunAsked       Kind = "run_asked"
	RunRefused     Kind = "run_refused"
	RunStarted     Kind = "run_started"
	RunPaused      Kind = "run_paused"
	RunResumed     Kind = "run_resumed"
	RunCancelled   Kind = "run_cancelled" // an actor cancelled it; run_ended follows
	RunEnded       Kind = "run_ended"
	// an import that a program was refused, as its executor reports it; before run_paused or run_ended
	ImportDecided   Kind = "import_decided"
	RefusalsCounted Kind = "refusals_counted" // refusals that an executor reports and that have no own records
	CallDecided     Kind = "call_decided"
	CallQueued      Kind = "call_queued" // it waits until fewer calls of its bridge are open
	CallOpened      Kind = "call_opened"
	CallAnswered    Kind = "call_answered" // or approved, or denied
	CallBegun       Kind = "call_begun"    // before the act of an approved call
	GrantRevoked    Kind = "grant_revoked" // from one run
	CallClosed      Kind = "call_closed"
	CallApproved    Kind = "call_approved"    // by a person; it takes effect once there are enough approvals
	CallDenied      Kind = "call_denied"      // by a person
	ApprovalRefused Kind = "approval_refused" // a person's verdict that does not count
	ResumeRefused   Kind = "resume_refused"   // a paused run could not be resumed and stays paused
	RunExpired      Kind = "run_expired"      // it waited too long; run_ended follows
	SessionDropped  Kind = "session_dropped"
	GuestRefused    Kind = "guest_refused" // an act of a guest that the kernel refused, or its own guard
	// the same for a guest of ringd's own, which tests host or policy for no agent
	ProbeRefused Kind = "probe_refused"
	// whether a guest may start a program: allowed, denied or asked; before it starts
	ExecDecided     Kind = "exec_decided"
	FileDecided     Kind = "file_decided"     // the same for a file that a script opens
	VariableDecided Kind = "variable_decided" // the same for a variable that changes what programs do
	EgressDecided   Kind = "egress_decided"   // a target was refused, or allowed and not dialed yet
	EgressClosed    Kind = "egress_closed"    // the end of a connection
	EgressCounted   Kind = "egress_counted"   // number of equal refusals or connections without own records
	// a guest was not refused what a policy denies, or did not answer: the policy is refused
	CanaryFailed    Kind = "canary_failed"
	LockdownBegun   Kind = "lockdown_begun"   // a lockdown started, by whom and why
	LockdownLifted  Kind = "lockdown_lifted"  // before anything opens
	LockdownRefused Kind = "lockdown_refused" // a signed order that is not carried out, and why
	// an operator accepts the clock after it was ahead; before it counts
	ClockAccepted Kind = "clock_accepted"
	AuditDecided  Kind = "audit_decided"  // mode audit: an act that would have been refused, and happened
	ShadowDecided Kind = "shadow_decided" // a decision of a candidate that differs; without effect
	HostError     Kind = "host_error"     // an error of which the guest gets only an id
	LogCut        Kind = "log_cut"        // written by the log: a torn tail was cut
	LogClosed     Kind = "log_closed"     // written by the log: the last record before it closed
	// written by the log: a segment is in the archive and will be removed from the log
	AuditArchived Kind = "audit_archived"
	// written by the log: reopened after a failed write, with the cause
	LogReopened Kind = "log_reopened"
)

// Kinds returns all kinds of records.
func Kinds() []Kind {
	return []Kind{
		DaemonStarted, daemonStopped, StoreRecovered, PushApplied, PushRejected, PolicyRolledBack,
		GenerationHeld, GenerationEnded, ExceptionEnded, ExecutorClosed, ExecutorOpened, RestartNeeded, RequestRefused,
		ActionDecided,
		RunAsked, RunRefused, RunStarted, RunPaused, RunResumed, RunCancelled, RunEnded,
		ImportDecided, RefusalsCounted, CallDecided, CallQueued, CallOpened, CallAnswered, CallBegun, CallClosed,
		GrantRevoked,
		CallApproved, CallDenied,
		ApprovalRefused, ResumeRefused, RunExpired, SessionDropped, GuestRefused, ProbeRefused, ExecDecided,
		FileDecided, VariableDecided,
		EgressDecided, EgressClosed, EgressCounted, CanaryFailed, LockdownBegun, LockdownLifted, LockdownRefused,
		ClockAccepted, ShadowDecided, AuditDecided, HostError,
		LogCut, LogClosed, LogReopened, AuditArchived,
	}
}

// Known reports whether k is in the list.
func (k Kind) Known() bool { return slices.Contains(Kinds(), k) }

// Record is one record of the log. Kind is required, and other fields are omitted if they have no meaning.
// Append does not keep the Record or anything it points to.
type Record struct {
	Time       time.Time `json:"time"` // zero means the log's clock
	Kind       Kind      `json:"kind"`
	Generation int64     `json:"generation,omitempty"`
	Revision   string    `json:"revision,omitempty"`
	Actor      string    `json:"actor,omitempty"` // caller: uid:1000, token:ci, ringd
	Agent      string    `json:"agent,omitempty"`
	Run        string    `json:"run,omitempty"`
	Call       string    `json:"call,omitempty"`
	Capability string    `json:"capability,omitempty"` // bridge:spawnSubagent, import:requests
	State      string    `json:"state,omitempty"`      // of the run or call afterwards
	Decision   *Decision `json:"decision,omitempty"`
	Digest     string    `json:"digest,omitempty"` // of the arguments or the program; see Digest
	// arguments, or words of a program; only if the policy has audit: full
	Full   json.RawMessage   `json:"full,omitempty"`
	Fault  *Fault            `json:"fault,omitempty"`
	Detail map[string]string `json:"detail,omitempty"` // never argument values
	// Placed is called, unless it is nil, when the record has its sequence number, before it is on disk. It must
	// return at once.
	Placed func() `json:"-"`
}

// Claimed reports whether only a guest claims what r says, which the interpreter ring marks. The host decided
// nothing then.
func (r *Record) Claimed() bool { return r.Detail["source"] == "guest" }

// Decision is the recorded part of a profiles.Decision. It has no evidence, which can quote a program.
type Decision struct {
	Verdict profiles.Verdict `json:"verdict"`
	Code    profiles.Code    `json:"code"`
	Reason  string           `json:"reason,omitempty"`
	Rule    *profiles.Rule   `json:"rule,omitempty"`
	// Exception is the exception that allowed it, or "".
	Exception string `json:"exception,omitempty"`
}

// Fault is a failure of the host. The guest gets only the ID.
type Fault struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Decided returns the recorded part of d.
func Decided(d profiles.Decision) *Decision {
	return &Decision{Verdict: d.Verdict, Code: d.Code, Reason: d.Reason, Rule: d.Rule, Exception: d.Exception}
}

// Digest returns the digest of args that a record holds: "sha256:" and hex.
func Digest(args []byte) string {
	sum := sha256.Sum256(args)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Durability is how durable a record is when Append returns. The zero value waits for the disk.
type Durability uint8

const (
	// Synced: the record survives a power cut. It is used for acts with external effects, for pauses, and
	// before an answer takes effect.
	Synced Durability = iota
	// Written: the record survives the end of the process, even by kill -9. The log syncs it at its next
	// tick.
	Written
)

// Hash is the SHA-256 of a line.
type Hash [sha256.Size]byte

// String returns 64 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns 64 hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText accepts exactly 64 hex digits.
func (h *Hash) UnmarshalText(b []byte) error {
	var out Hash
	if hex.DecodedLen(len(b)) != len(out) || len(b)%2 != 0 {
		return fmt.Errorf("hash of %d characters: want 64", len(b))
	}
	if _, err := hex.Decode(out[:], b); err != nil {
		return fmt.Errorf("hash: %w", err)
	}
	*h = out
	return nil
}

// Head is a position in a log: the sequence and the hash of the last record. The zero Head is the empty log.
type Head struct {
	Seq  int64 `json:"seq"`
	Hash Hash  `json:"hash"`
}

// Entry is one record that was read back.
type Entry struct {
	Head
	Record Record `json:"record"`
}

// MaxRecord is the maximum size of a record in bytes.
const MaxRecord = 1 << 20

var (
	// ErrClosed: the log takes no more records, because it was closed or because a write or a sync failed.
	// The cause is wrapped too. Nothing may run.
	ErrClosed = errors.New("audit log is closed")
	// ErrDiskFull is the cause inside ErrClosed if the disk had no space.
	ErrDiskFull = errors.New("audit disk is full")
	// ErrTampered: the log on disk is not what was written. A line, a segment or the end of the log was
	// changed or is missing. An operator must act.
	ErrTampered = errors.New("audit log is not valid")
	// ErrInUse: another process writes this log.
	ErrInUse = errors.New("audit log is in use by another process")
	// ErrKey: the log was signed with another key.
	ErrKey = errors.New("audit log is signed by another key")
	// ErrFormat: the log has an unknown format.
	ErrFormat = errors.New("audit log has an unknown format")
	// ErrGap: segments were archived while the log was read, and their records were not yielded.
	ErrGap = errors.New("the log was archived while it was read, and the reader missed a part")
	// ErrRecord: the record is too large or has an unknown kind. The log is not affected, but the act must
	// not happen.
	ErrRecord = errors.New("audit record refused")
)
