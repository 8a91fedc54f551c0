package daemon

import (
	"errors"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/pauses"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
)

// States that a caller must tell apart. Everything else that a method returns
// is a *profiles.Denial, an *InvalidError or a fault.
var (
	// ErrNotFound: no such run, call, agent or executor, or it belongs to
	// another actor.
	ErrNotFound = policy.ErrNotFound
	// ErrDraining: the daemon ends; it takes no new runs.
	ErrDraining = errors.New("the daemon is draining: no new runs are taken")
	// ErrQuota: too many live runs, of this actor or in all.
	ErrQuota = errors.New("too many live runs")
	// ErrUnavailable: the audit log or the store cannot be written; nothing runs
	// until they can be again.
	ErrUnavailable = records.ErrUnavailable
	// ErrEnded: the run has ended.
	ErrEnded = errors.New("the run has ended")
	// ErrAnswered: the call has its answer; the first one counts.
	ErrAnswered = errors.New("the call is already answered")
	// ErrDigest: the answer was given for other arguments than the pending call's.
	ErrDigest = errors.New("the digest is not that of the pending call")
	// ErrParent: the call that a run was to be started for is not open, starts no
	// subagents, or may start no more of them.
	ErrParent = errors.New("the parent is not an open call that may start a subagent")
	// ErrRole: the call waits for someone else: an approver, not the harness.
	ErrRole = errors.New("the call does not wait for this role")
	// ErrNotAnswered: the run waits for answers, or for nothing; it cannot be
	// resumed.
	ErrNotAnswered = errors.New("the run is not one whose calls are answered")
	// ErrSessionBusy: another run has the session.
	ErrSessionBusy = errors.New("another run has the session")
	// ErrSuperseded: a newer push came before this one was compiled.
	ErrSuperseded = policy.ErrSuperseded
	// ErrRejected: the push was refused; Status has the findings.
	ErrRejected = policy.ErrRejected
)

// InvalidError is a request that cannot be understood.
type InvalidError = policy.InvalidError

// StuckError is a paused run that could not be resumed.
type StuckError = pauses.StuckError

func invalid(field, text string) error { return &InvalidError{Field: field, Text: text} }
