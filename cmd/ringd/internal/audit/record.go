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

// Kind says what a record is about. The list is closed: Append refuses any
// other.
type Kind string

// The kinds of record.
const (
	DaemonStarted  Kind = "daemon_started"
	daemonStopped  Kind = "daemon_stopped"
	StoreRecovered Kind = "store_recovered" // what a restart made of runs that were live
	PushApplied    Kind = "push_applied"
	PushRejected   Kind = "push_rejected"
	// PolicyRolledBack comes before the push_applied of a push that says so of itself.
	PolicyRolledBack Kind = "policy_rolled_back"
	GenerationHeld   Kind = "generation_held"   // a restart took up the last generation again
	GenerationEnded  Kind = "generation_ended"  // the staleness limit passed: closed
	ExceptionEnded   Kind = "exception_expired" // what it granted was taken out, as a generation of its own
	ExecutorClosed   Kind = "executor_closed"
	ExecutorOpened   Kind = "executor_opened" // the push that had closed it is gone
	// what cannot take the generation in force before it is started again, and why
	RestartNeeded  Kind = "restart_needed"
	RequestRefused Kind = "request_refused" // by role or quota
	ActionDecided  Kind = "action_decided"  // POST /v1/decide: nothing ran
	RunAsked       Kind = "run_asked"
	RunRefused     Kind = "run_refused"
	RunStarted     Kind = "run_started"
	RunPaused      Kind = "run_paused"
	RunResumed     Kind = "run_resumed"
	RunCancelled   Kind = "run_cancelled" // someone asked for the end; run_ended follows
	RunEnded       Kind = "run_ended"
	// an import that a program was refused, as its executor says; before run_paused or run_ended
	ImportDecided   Kind = "import_decided"
	RefusalsCounted Kind = "refusals_counted" // those that an executor tells of, and that have no records of their own
	CallDecided     Kind = "call_decided"
	CallOpened      Kind = "call_opened"
	CallAnswered    Kind = "call_answered" // or approved, or denied
	CallBegun       Kind = "call_begun"    // the act of an approved call, before it
	GrantRevoked    Kind = "grant_revoked" // taken from one run
	CallClosed      Kind = "call_closed"
	CallApproved    Kind = "call_approved"    // a person allowed it; it takes effect when all approvals are there
	CallDenied      Kind = "call_denied"      // a person denied it
	ApprovalRefused Kind = "approval_refused" // a person's word that does not count
	ResumeRefused   Kind = "resume_refused"   // a paused run could not go on; it stays where it is
	RunExpired      Kind = "run_expired"      // it waited too long; run_ended follows
	SessionDropped  Kind = "session_dropped"
	GuestRefused    Kind = "guest_refused" // what a guest tried and the kernel refused, or its own guard
	// the same of a guest of ringd's own, which tries out host or policy for no agent
	ProbeRefused Kind = "probe_refused"
	// a guest may start a program, may not, or people are asked; before it starts
	ExecDecided     Kind = "exec_decided"
	FileDecided     Kind = "file_decided"     // the same, of a file that a script opens
	VariableDecided Kind = "variable_decided" // the same, of a variable that changes what programs do
	EgressDecided   Kind = "egress_decided"   // a target was refused, or allowed and not dialed yet
	EgressClosed    Kind = "egress_closed"    // what became of a connection
	EgressCounted   Kind = "egress_counted"   // what is refused, or allowed, alike and has no records of its own
	// a guest was not refused what a policy denies, or gave no answer: the policy is refused
	CanaryFailed    Kind = "canary_failed"
	LockdownBegun   Kind = "lockdown_begun"   // everything was closed, by whom and why
	LockdownLifted  Kind = "lockdown_lifted"  // before anything opens
	LockdownRefused Kind = "lockdown_refused" // a signed order that is not obeyed, and why
	// an operator says that the clock was ahead and is right now; before it counts
	ClockAccepted Kind = "clock_accepted"
	AuditDecided  Kind = "audit_decided"  // mode audit: what would have been refused, and happened
	ShadowDecided Kind = "shadow_decided" // a candidate would have decided otherwise; nothing came of it
	HostError     Kind = "host_error"     // what the guest only got an id for
	LogCut        Kind = "log_cut"        // written by the log: a torn tail was cut
	LogClosed     Kind = "log_closed"     // written by the log: the last record before it went closed
	// written by the log: a segment is in the archive and is about to go from the log
	AuditArchived Kind = "audit_archived"
	// written by the log: it goes on after a failed write, and why it was closed
	LogReopened Kind = "log_reopened"
)

// Kinds are all kinds of record.
func Kinds() []Kind {
	return []Kind{
		DaemonStarted, daemonStopped, StoreRecovered, PushApplied, PushRejected, PolicyRolledBack,
		GenerationHeld, GenerationEnded, ExceptionEnded, ExecutorClosed, ExecutorOpened, RestartNeeded, RequestRefused,
		ActionDecided,
		RunAsked, RunRefused, RunStarted, RunPaused, RunResumed, RunCancelled, RunEnded,
		ImportDecided, RefusalsCounted, CallDecided, CallOpened, CallAnswered, CallBegun, CallClosed, GrantRevoked,
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

// Record is one line of the log. Kind is required; the rest is left out where
// it has no meaning. Append does not keep the Record or anything it points to.
type Record struct {
	Time       time.Time `json:"time"` // zero: Append takes the log's clock
	Kind       Kind      `json:"kind"`
	Generation int64     `json:"generation,omitempty"`
	Revision   string    `json:"revision,omitempty"`
	Actor      string    `json:"actor,omitempty"` // who asks: uid:1000, token:ci, ringd
	Agent      string    `json:"agent,omitempty"`
	Run        string    `json:"run,omitempty"`
	Call       string    `json:"call,omitempty"`
	Capability string    `json:"capability,omitempty"` // bridge:spawnSubagent, import:requests
	State      string    `json:"state,omitempty"`      // of the run or call after this
	Decision   *Decision `json:"decision,omitempty"`
	Digest     string    `json:"digest,omitempty"` // of the arguments or the program: Digest
	// the arguments, or the words of a program, only when policy says audit: full
	Full   json.RawMessage   `json:"full,omitempty"`
	Fault  *Fault            `json:"fault,omitempty"`
	Detail map[string]string `json:"detail,omitempty"` // never argument values
}

// Claimed reports whether r rests on the word of a guest alone, which the interpreter ring
// marks so. Nothing of the host was decided then.
func (r *Record) Claimed() bool { return r.Detail["source"] == "guest" }

// Decision is the part of a profiles.Decision that is recorded: not the
// evidence, which can quote what a program said.
type Decision struct {
	Verdict profiles.Verdict `json:"verdict"`
	Code    profiles.Code    `json:"code"`
	Reason  string           `json:"reason,omitempty"`
	Rule    *profiles.Rule   `json:"rule,omitempty"`
	// Exception is the exception that it stood by; "": none.
	Exception string `json:"exception,omitempty"`
}

// Fault is a failure of the host. The guest is told ID and nothing else.
type Fault struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Decided takes from d what a record keeps.
func Decided(d profiles.Decision) *Decision {
	return &Decision{Verdict: d.Verdict, Code: d.Code, Reason: d.Reason, Rule: d.Rule, Exception: d.Exception}
}

// Digest is what a record holds instead of args: "sha256:" and hex.
func Digest(args []byte) string {
	sum := sha256.Sum256(args)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Durability says what has happened to a record when Append returns. The zero
// value waits for the disk.
type Durability uint8

const (
	// Synced: the record survives a power cut. For an act with external power, a
	// pause, and before an answer takes effect.
	Synced Durability = iota
	// Written: the record survives the end of the process, by kill -9 too; the
	// log syncs it at its next tick.
	Written
)

// Hash is SHA-256 of a line.
type Hash [sha256.Size]byte

// String is 64 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes 64 hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 hex digits and nothing else.
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

// Head is a position of a log: the last record's sequence and hash. The zero
// Head is the empty log.
type Head struct {
	Seq  int64 `json:"seq"`
	Hash Hash  `json:"hash"`
}

// Entry is one record as it was read back.
type Entry struct {
	Head
	Record Record `json:"record"`
}

// MaxRecord is the size in bytes of the largest record Append takes.
const MaxRecord = 1 << 20

var (
	// ErrClosed: the log takes no more records, because it was closed or because
	// a write or a sync failed; the cause is wrapped beside it. Nothing may run.
	ErrClosed = errors.New("audit log is closed")
	// ErrDiskFull is the cause inside ErrClosed when the disk had no room.
	ErrDiskFull = errors.New("audit disk is full")
	// ErrTampered: the log on disk is not what was written: a line, a segment or
	// the end of the log was changed or is gone. Only a person may go on.
	ErrTampered = errors.New("audit log is not valid")
	// ErrInUse: another process writes this log.
	ErrInUse = errors.New("audit log is in use by another process")
	// ErrKey: the log was signed by another key than the one given.
	ErrKey = errors.New("audit log is signed by another key")
	// ErrFormat: the log is of a format this ringd does not know.
	ErrFormat = errors.New("audit log has an unknown format")
	// ErrGap: segments were archived while the log was read, and their records are not
	// among those that were yielded.
	ErrGap = errors.New("the log was archived while it was read, and the reader missed a part")
	// ErrRecord: the record is too large or its kind is unknown. The log is well;
	// the act must not happen.
	ErrRecord = errors.New("audit record refused")
)
