package daemon

import (
	"errors"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
)

// States that a caller must tell apart. Everything else that a method returns
// is a *profiles.Denial, an *InvalidError or a fault.
var (

	// ErrDraining: the daemon ends; it takes no new runs.
	ErrDraining = errors.New("the daemon is draining: no new runs are taken")
	// ErrQuota: too many live runs, of this actor or in all.
	ErrQuota = errors.New("too many live runs")

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
	ErrNotAnswered = errors.New("nothing to resume: the run is not paused, or calls of it are still open")
	// ErrSessionBusy: another run has the session.
	ErrSessionBusy = errors.New("another run has the session")
)

func invalid(field, text string) error { return &policy.InvalidError{Field: field, Text: text} }
