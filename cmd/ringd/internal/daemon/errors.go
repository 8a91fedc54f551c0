package daemon

import (
	"errors"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
)

// States that a caller must tell apart. Every other error of a method is a *profiles.Denial, an *InvalidError
// or a fault.
var (

	// ErrDraining: the daemon is ending and takes no new runs.
	ErrDraining = errors.New("the daemon is shutting down: no new runs are accepted")
	// ErrQuota: too many live runs, of this actor or in all.
	ErrQuota = errors.New("too many live runs")

	// ErrEnded: the run has ended.
	ErrEnded = errors.New("the run has ended")
	// ErrAnswered: the call is answered already. The first answer counts.
	ErrAnswered = errors.New("the call is already answered")
	// ErrDigest: the answer is for other arguments than those of the pending call.
	ErrDigest = errors.New("the digest is not that of the pending call")
	// ErrParent: the parent call of a subagent is not open, may not start subagents, or may start no more of
	// them.
	ErrParent = errors.New("the parent is not an open call that may start a subagent")
	// ErrRole: the call waits for an approver, not for the harness.
	ErrRole = errors.New("the call does not wait for this role")
	// ErrNotAnswered: the run cannot be resumed. It is not paused, or some of its calls have no answer yet.
	ErrNotAnswered = errors.New("nothing to resume: the run is not paused, or calls of it are still open")
	// ErrSessionBusy: another run uses the session.
	ErrSessionBusy = errors.New("another run uses the session")
)

func invalid(field, text string) error { return &policy.InvalidError{Field: field, Text: text} }
