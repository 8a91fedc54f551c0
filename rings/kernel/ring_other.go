//go:build !linux

package kernel

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Ring is not available on this system: guests need Linux.
type Ring struct{ inForce atomic.Pointer[generation] }

var errLinux = errors.New("kernel ring: guests need Linux")

// New returns an error: guests need Linux.
func New(Config) (*Ring, error) { return nil, errLinux }

// Launch returns an error.
func (r *Ring) Launch(_ context.Context, s executors.Spec) (executors.Guest, error) {
	return nil, &profiles.Denial{Capability: "executor " + s.Executor, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeTierUnavailable, Reason: "guests need Linux",
	}}
}

// Attestation lists every layer as unavailable.
func (r *Ring) Attestation(context.Context, string) executors.Attestation {
	return executors.Attestation{Layers: map[string]string{}}
}

// Examine returns an error.
func (r *Ring) Examine(context.Context) (initproto.Report, error) {
	return initproto.Report{}, errLinux
}

// ExamineEgress returns an error.
func (r *Ring) ExamineEgress(context.Context) (initproto.Report, error) {
	return initproto.Report{}, errLinux
}

// Prepare returns an error.
func (r *Ring) Prepare(context.Context, *profiles.Set) (func(), error) { return nil, errLinux }

// Unmet returns an error: guests need Linux.
func (r *Ring) Unmet(context.Context, *profiles.Set) ([]unmet, error) { return nil, errLinux }

// State is closed.
func (r *Ring) State() (state, reason string) { return "closed", errLinux.Error() }

// Status lists no guest.
func (r *Ring) Status() []Live { return nil }

// Lacks says that guests need Linux.
func (r *Ring) Lacks() (reason, remedy string) { return "guests need Linux", "" }

// Unseen returns an error: nothing is reported.
func (r *Ring) Unseen() error { return errLinux }

// Close does nothing.
func (r *Ring) Close() error { return nil }
