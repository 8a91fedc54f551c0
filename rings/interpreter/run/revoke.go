package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// maxRevoked bounds the grants taken from one run.
const maxRevoked = 1000

// Revoke takes grants from the run and its subagents for good: "bridge:NAME",
// "host:NAME", "exec:PATH", "import:NAME". Open calls of a bridge are cut, and no other begins.
// A module that a live guest may load cannot be taken back; of a paused run it
// can, in the record. While the run stops, Revoke waits; once the pause is kept it
// is ErrPaused, and so for a held run, whose subagents lose the grants all the
// same. It records nothing: who asks for it has. Errors: ErrEnded, ErrGrant, after
// which what could be taken stays taken, and ctx's.
func (r *Run) Revoke(ctx context.Context, grants []string) error {
	if err := r.lockStill(ctx); err != nil {
		return err
	}
	switch {
	case r.ended:
		r.mu.Unlock()
		return contract.ErrEnded
	case r.phase == over:
		r.mu.Unlock()
		return contract.ErrPaused
	case len(r.revoked)+len(grants) > maxRevoked:
		r.mu.Unlock()
		return fmt.Errorf("revoke: more than %d: %w", maxRevoked, binding.ErrGrant)
	}
	taken, flaw := r.bound.Revocable(grants)
	isHeld := r.phase == held
	if isHeld { // there is no guest that could not lose them
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

// takeLocked takes grants from the run, and gives its subagents.
func (r *Run) takeLocked(grants []string) (children []*Run) {
	for _, g := range grants {
		r.revoked[g] = true
	}
	for _, c := range r.calls {
		if c == nil {
			continue
		}
		children = append(children, c.Children...)
		// The calls of a run that stops are decided again when it goes on.
		if r.phase == running && (c.Working() || c.Slowed()) && c.State != callLeft && r.revoked[c.Grant()] {
			c.Stop(c.Cancel, errRevoked)
		}
	}
	return children
}

// takeAll takes grants from subagents and theirs. No lock is held. One that waits
// gets them with its next life.
func takeAll(children []*Run, grants []string) {
	for _, child := range children {
		child.mu.Lock()
		more := child.takeLocked(grants)
		child.mu.Unlock()
		takeAll(more, grants)
	}
}

// takenLocked refuses a call of a bridge that was taken from the run, or after
// the run's deadline.
func (r *Run) takenLocked(c *call) *binding.Refusal {
	reason := ""
	switch at := r.bound.Deadline(); {
	case r.revoked[c.Grant()]:
		reason = "the grant was taken from the run"
	case at != nil && !r.host.Now().Before(*at):
		reason = textDeadline
	default:
		return nil
	}
	d := c.Deny(r.bound, profiles.CodeBridgeRevoked, reason)
	return &binding.Refusal{Name: profiles.ErrorCapabilityRevoked, Text: reason, Decision: d}
}

// Deciders are those of what a guest of the run may reach at this moment; none once it
// has ended or is paused.
func (r *Run) Deciders() []*profiles.Decider { return r.deciders(false) }

// CallDeciders are those of what a provider may reach that works for a call.
func (r *Run) CallDeciders() []*profiles.Decider { return r.deciders(true) }

func (r *Run) deciders(call bool) []*profiles.Decider {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, g, k := r.bound.Deadline(), r.host.InForce(), &r.reach
	if call {
		k = &r.reached
	}
	if r.ended || r.phase == over || at != nil && !r.host.Now().Before(*at) {
		return nil
	}
	return k.Deciders(r.bound, g, r.revoked, r.two.Network(g, call))
}

// revokedLocked lists what was taken from the run, sorted.
func (r *Run) revokedLocked() []string {
	var out []string
	for g := range r.revoked {
		out = append(out, g)
	}
	slices.Sort(out)
	return out
}
