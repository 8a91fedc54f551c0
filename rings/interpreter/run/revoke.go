package run

import (
	"context"
	"fmt"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// maxRevoked limits the grants that are taken from one run.
const maxRevoked = 1000

// textDeadline is for the reader of the outcome.
const textDeadline = "the deadline of the run's grants has passed"

// Revoke removes grants from the run and its subagents for good: "bridge:NAME", "host:NAME", "exec:PATH",
// "import:NAME". Open calls of a revoked bridge are stopped, and no further call begins. A module cannot be
// revoked from a live guest, but it can be revoked from the record of a paused run. If the run is about to pause,
// Revoke waits. Once the pause is saved the error is ErrPaused, also for a held run; the subagents of a held run
// lose the grants nevertheless. The caller records the request before. Other errors: ErrEnded, the error of ctx,
// and ErrGrant. After ErrGrant, the grants that could be revoked stay revoked.
func (r *Run) Revoke(ctx context.Context, grants []string) error {
	if err := r.lockNotStopping(ctx); err != nil {
		return err
	}
	switch {
	case r.ended:
		r.mu.Unlock()
		return contract.ErrEnded
	case r.phase == phasePaused:
		r.mu.Unlock()
		return contract.ErrPaused
	case len(r.book.revoked)+len(grants) > maxRevoked:
		r.mu.Unlock()
		return fmt.Errorf("revoke: more than %d: %w", maxRevoked, binding.ErrGrant)
	}
	taken, flaw := r.bound.Revocable(grants)
	isHeld := r.phase == phaseHeld
	if isHeld { // it has no guest, so it can lose every grant
		taken = grants
	}
	children := r.takeLocked(taken)
	r.mu.Unlock()
	takeAll(children, taken)
	if r.host.Narrowed != nil {
		r.host.Narrowed()
	}
	if isHeld {
		return contract.ErrPaused
	}
	return flaw
}

// takeLocked removes grants from the run and returns its subagents. If the run is stopping, its calls are decided
// again when it continues.
func (r *Run) takeLocked(grants []string) (children []*Run) {
	r.book.revoke(grants)
	if r.phase == phaseRunning {
		r.book.stopIf(func(c *call) bool { return r.book.revoked[c.Capability()] })
	}
	return r.book.children()
}

// takeAll takes grants from subagents and from theirs. No lock is held. A subagent that is
// paused loses them with its next life.
func takeAll(children []*Run, grants []string) {
	for _, child := range children {
		child.mu.Lock()
		more := child.takeLocked(grants)
		child.mu.Unlock()
		takeAll(more, grants)
	}
}

// taken refuses a call whose grant was taken from the run i, and every call after the
// deadline of the run.
func (k *callBook) taken(c *call, i *identity) *binding.Refusal {
	reason := ""
	switch at := i.bound.Deadline(); {
	case k.revoked[c.Capability()]:
		reason = "the grant was taken from the run"
	case at != nil && !i.host.Now().Before(*at):
		reason = textDeadline
	default:
		return nil
	}
	d := c.Deny(i.bound, profiles.CodeBridgeRevoked, reason)
	return &binding.Refusal{Name: profiles.ErrorCapabilityRevoked, Text: reason, Decision: d}
}

// StopUngranted stops every call that g, the generation in force, no longer grants. The
// calls of a run that is stopping are decided again when it goes on.
func (r *Run) StopUngranted(g *binding.Generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != phaseRunning {
		return
	}
	r.book.stopIf(func(c *call) bool {
		_, no := c.StillGranted(r.bound, g)
		return no != nil
	})
	r.promoteLocked() // g may allow more calls at once
}

// Deciders returns the deciders of what a guest of the run may reach at this moment. There
// are none once the run has ended or is paused.
func (r *Run) Deciders() []*profiles.Decider { return r.deciders(&r.reach, false) }

// deciders returns the deciders for the guest of the run. If forCall is true, it returns those for a provider
// that performs a call of the run.
func (r *Run) deciders(reach *binding.Reach, forCall bool) []*profiles.Decider {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, g := r.bound.Deadline(), r.host.InForce()
	if r.ended || r.phase == phasePaused || at != nil && !r.host.Now().Before(*at) {
		return nil
	}
	return reach.Deciders(r.bound, g, r.book.revoked, r.powers.Network(g, forCall))
}
