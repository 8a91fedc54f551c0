//go:build !linux

package kernel

import (
	"context"
	"errors"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Ring refuses on this system: guests need Linux.
type Ring struct{ refused inForce }

// New refuses: guests need Linux.
func New(Config) (*Ring, error) {
	return nil, errors.New("kernel ring: guests need Linux")
}

// Launch refuses.
func (r *Ring) Launch(context.Context, executors.Spec) (executors.Guest, error) {
	return nil, &profiles.Denial{Capability: "executor", Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeTierUnavailable, Reason: "guests need Linux",
	}}
}

// Close does nothing.
func (r *Ring) Close() error { return nil }
