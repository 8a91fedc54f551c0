package life

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/port"
	"github.com/ringd/ringd/rings/interpreter/rules"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// Kinds of grants that can be taken from a run.
const (
	grantBridge = "bridge:"
	grantHost   = "host:"
	grantImport = "import:"
)

// maxRevoked bounds the grants taken from one run.
const maxRevoked = 1000

// Revoke takes grants from the run for good: "bridge:NAME", "host:NAME",
// "import:NAME". Open calls of a bridge are cut, and no other begins. A module
// that a live guest may load cannot be taken back; of a paused run it can, in the
// record. While the run stops, Revoke waits; once the pause is kept, and for a
// held run, it is ErrPaused. Errors: ErrEnded, ErrGrant, ctx's, and faults, which
// end the run: what was taken stays taken.
func (r *Run) Revoke(ctx context.Context, by string, grants []string) error {
	if err := r.revocable(grants); err != nil {
		return err
	}
	if err := r.lockStill(ctx); err != nil {
		return err
	}
	switch {
	case r.ended:
		r.mu.Unlock()
		return port.ErrEnded
	case r.phase != running:
		r.mu.Unlock()
		return port.ErrPaused
	case len(r.revoked)+len(grants) > maxRevoked:
		r.mu.Unlock()
		return fmt.Errorf("revoke: more than %d: %w", maxRevoked, port.ErrGrant)
	}
	for _, g := range grants {
		r.revoked[g] = true
	}
	for _, c := range r.calls {
		if c != nil && c.working() && c.state != callLeft && r.revoked[grantBridge+c.Bridge] {
			c.stop(c.cancel, errRevoked)
		}
	}
	r.mu.Unlock()
	rec := r.Record(port.GrantRevoked)
	rec.Actor, rec.Detail = by, map[string]string{"grants": shape.Clip(strings.Join(grants, " "), 1<<10)}
	if err := r.Put(rec, port.Synced); err != nil {
		r.end(closed("the revocation of a grant could not be recorded", err))
		return fmt.Errorf("record the revocation of grants of run %s: %w", r.id, err)
	}
	return nil
}

// revocable checks grants that are to be taken from a live run.
func (r *Run) revocable(grants []string) error {
	if len(grants) == 0 {
		return fmt.Errorf("revoke: none is named: %w", port.ErrGrant)
	}
	for _, g := range grants {
		name, bridge := strings.CutPrefix(g, grantBridge)
		_, has := r.bound.First().Profile.Bridges[name]
		host, isHost := strings.CutPrefix(g, grantHost)
		switch {
		case len(g) > 256:
			return fmt.Errorf("revoke %s: too long: %w", shape.Clip(g, 40), port.ErrGrant)
		case bridge && !has:
			return fmt.Errorf("revoke %s: the run has no such bridge: %w", g, port.ErrGrant)
		case isHost && host == "", !bridge && !isHost && !strings.HasPrefix(g, grantImport):
			return fmt.Errorf("revoke %s: want bridge:NAME, host:NAME or import:NAME: %w", g, port.ErrGrant)
		case strings.HasPrefix(g, grantImport):
			return fmt.Errorf("revoke %s: a module cannot be taken from a live guest; cancel the run: %w", g, port.ErrGrant)
		}
	}
	return nil
}

// takenLocked refuses a call of a bridge that was taken from the run, or after
// the run's deadline.
func (r *Run) takenLocked(c *call) *rules.Refusal {
	reason := ""
	switch at := r.bound.Deadline(); {
	case r.revoked[grantBridge+c.Bridge]:
		reason = "the grant was taken from the run"
	case at != nil && !r.host.Now().Before(*at):
		reason = textDeadline
	default:
		return nil
	}
	d := c.Deny(r.bound, profiles.CodeBridgeRevoked, reason)
	return &rules.Refusal{Name: rules.NameRevoked, Text: reason, Decision: d}
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
