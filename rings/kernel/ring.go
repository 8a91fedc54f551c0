// Package kernel owns the processes of guests: it starts them with nothing but
// one connection, bounds them, ends them and says truthfully what stood around
// them. Nothing else in the project starts a guest.
//
// As far as this version goes it gives tier wasm to the JavaScript guest and
// tier process to any other: an empty environment, no descriptor but the
// connection, resource limits, no new privileges, a death that follows the
// daemon's. Namespaces, mounts, Landlock, seccomp and cgroups are reported as
// unavailable, and a run that asks for a tier above is refused
// (profiles.CodeTierUnavailable), never run with less. On other systems than
// Linux New refuses.
//
// cmd/ringd constructs the Ring; executors use it as their Launcher, the daemon
// as one of its rings.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Config is what a Ring needs.
type Config struct {
	// Go starts the one goroutine of a Ring; Close waits for it. It owns a thread,
	// so it must not be one of a bounded pool.
	Go func(func())
}

// ErrClosed is returned by Launch after Close.
var ErrClosed = errors.New("kernel ring closed")

// The states of a layer in an attestation.
const (
	enforced    = "enforced"
	unavailable = "unavailable"
)

// layers is what this version puts around every guest.
func layers() map[string]string {
	return map[string]string{
		"process": enforced, "environment": enforced, "descriptors": enforced, "rlimits": enforced,
		"no_new_privs": enforced, "parent_death": enforced,
		"namespaces": unavailable, "mounts": unavailable, "landlock": unavailable,
		"seccomp": unavailable, "cgroups": unavailable,
	}
}

// tierOf is the isolation that a guest of this executor runs in.
func tierOf(executor string) profiles.Tier {
	if executor == "js" {
		return profiles.TierWasm
	}
	return profiles.TierProcess
}

// attest says what stands around a guest of this executor.
func attest(executor string) executors.Attestation {
	l := layers()
	if raceDetector {
		l["rlimits"] = unavailable
	}
	if executor == "js" {
		l["wasm"] = enforced
	}
	return executors.Attestation{Tier: tierOf(executor), Layers: l}
}

// Attestation is what a guest of this executor would be given on this host.
func (r *Ring) Attestation(executor string) executors.Attestation { return attest(executor) }

// Name is "kernel".
func (r *Ring) Name() string { return "kernel" }

// Prepare checks that s is a set. What a set asks for and this host cannot give
// is refused for each run by Launch, so that one agent's tier does not close the
// others. The commit cannot fail.
func (r *Ring) Prepare(ctx context.Context, s *profiles.Set) (commit func(), err error) {
	if s == nil {
		return nil, errors.New("prepare kernel ring: no set")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("prepare kernel ring: %w", err)
	}
	refused := map[string]profiles.Tier{}
	for name, a := range s.Agents {
		if !executors.Satisfies(profiles.TierWasm, a.MinTier) {
			refused[name] = a.MinTier
		}
	}
	return func() { r.refused.Store(&refused) }, nil
}

// Refused names the agents of the set in force whose tier this host cannot give.
func (r *Ring) Refused() map[string]profiles.Tier {
	if m := r.refused.Load(); m != nil {
		return maps.Clone(*m)
	}
	return nil
}

// inForce is what Prepare's commit swaps.
type inForce = atomic.Pointer[map[string]profiles.Tier]

// refuseTier is the denial of a tier that this host cannot give.
func refuseTier(s executors.Spec) *profiles.Denial {
	want := string(s.MinTier)
	if want == "" {
		want = "(none named)"
	}
	have := tierOf(s.Executor)
	return &profiles.Denial{Capability: "executor " + s.Executor, Decision: profiles.Decision{
		Verdict: profiles.Deny,
		Code:    profiles.CodeTierUnavailable,
		Reason: fmt.Sprintf("isolation tier %s is asked for, and the strongest this version gives the %s executor is %s: "+
			"namespaces, Landlock and seccomp are not there yet", want, s.Executor, have),
		Instead: []string{"set minTier: " + string(have)},
	}}
}
