package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// verifier verifies pushes, and checks sets against guardrails.
type verifier struct {
	cfg    *Config
	active *activation
}

// verify opens a signed push and returns an error if it may not come into force now. Without trust roots
// there is nothing to verify, and the result is nil.
func (d *verifier) verify(ctx context.Context, p syncer.Push) (*trust.Push, error) {
	if d.cfg.Trust == nil {
		for _, s := range p.Sources {
			signed := map[string]string{trust.FileName: "a signed push", trust.LockdownFile: "a signed lockdown order"}
			if what := signed[s.Name]; what != "" {
				return nil, &trust.Refusal{
					Code: trust.CodeUntrusted,
					Reason: s.Name + " is " + what +
						", and this host has no trust roots: add them to its configuration",
				}
			}
		}
		return nil, nil
	}
	signed, err := d.cfg.Trust.Open(ctx, p.Sources)
	if err != nil {
		return nil, err
	}
	before, err := d.previousSet(ctx)
	if err != nil {
		return nil, err
	}
	return signed, d.cfg.Trust.Admit(ctx, signed, before, d.cfg.Clock.Now())
}

// storeAccepted stores a signed push as the last accepted one, before it comes into force. A rollback is recorded
// first.
func (d *verifier) storeAccepted(ctx context.Context, p *trust.Push, number int64, now time.Time) error {
	if p == nil {
		return nil
	}
	if p.Rollback {
		rec := audit.Record{
			Kind:       audit.PolicyRolledBack,
			Actor:      self,
			Generation: number,
			Revision:   p.Revision,
			Digest:     p.Digest,
			Detail:     signedDetail(p),
		}
		if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
			return err
		}
	}
	if err := d.cfg.Trust.Accept(p, now); err != nil {
		d.cfg.Metrics.Fault("store")
		return fmt.Errorf("%w: %w", records.ErrUnavailable, err)
	}
	return nil
}

// restore returns the set of a generation that was in force before a restart, and its push. With trust roots,
// the push is verified again by the current roots.
func (d *verifier) restore(ctx context.Context, g store.Generation, now time.Time) (*profiles.Set, *trust.Push, error) {
	if d.cfg.Trust == nil {
		set, err := profiles.DecodeSet(g.Set)
		return set, nil, err
	}
	p, err := d.cfg.Trust.Hold(ctx, g.Set, now)
	if err != nil {
		return nil, nil, err
	}
	return p.Policy, p, nil
}

// previousSet returns the set that the next set replaces: the set in force, or if there is none, the last set
// that was. A closed generation is not enough for nil: otherwise an attacker that cuts this host off from its
// source could make a guardrail lose the set that it compares with. Nil means that no set is known.
func (d *verifier) previousSet(ctx context.Context) (*profiles.Set, error) {
	if set := d.active.Set(); set != nil {
		return set, nil
	}
	last, err := d.cfg.Generations.LastGeneration(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: read last generation: %w", records.ErrUnavailable, err)
	}
	var set *profiles.Set
	if d.cfg.Trust == nil {
		set, err = profiles.DecodeSet(last.Set)
	} else {
		set, err = d.cfg.Trust.Last(last.Set)
	}
	if err != nil || set.Revision != last.Revision {
		return nil, nil // Hold has reported it
	}
	return set, nil
}

// checkGuardrails checks a set against its guardrails. A set with guardrails is refused if this host cannot evaluate
// them.
func (d *verifier) checkGuardrails(ctx context.Context, set, previous *profiles.Set) (schema.Diagnostics, error) {
	if c, ok := d.cfg.Compiler.(Checker); ok {
		return c.Check(ctx, set, previous)
	}
	if set.Guarded() {
		return nil, errors.New("this host cannot evaluate the guardrails of the policy")
	}
	return nil, nil
}

// applyGuardrails refuses a set that a guardrail refuses, and adds the findings to those of the push. applying is
// held.
func (d *application) applyGuardrails(ctx context.Context, c candidate, set *profiles.Set) (schema.Diagnostics, error) {
	before, err := d.verifier.previousSet(ctx)
	if err != nil {
		return nil, &unstored{cause: err}
	}
	found, err := d.verifier.checkGuardrails(ctx, set, before)
	all := append(slices.Clip(c.findings), found...)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &rejection{why: "the guardrails could not be evaluated: " + err.Error(), findings: all,
			retry: errCompiler}
	case hostFault(found):
		return nil, &rejection{why: "the host is too busy, or short of a resource, to evaluate the guardrails now: " +
			"ringd tries again", findings: all, retry: errCompiler}
	case found.Refused():
		return nil, &rejection{why: "a guardrail refuses the policy", findings: all}
	}
	return all, nil
}

// Checker is a Compiler that also checks a set against its guardrails before it comes into force, wherever
// the set comes from. previous is the set in force, or the last one, or nil. Findings that refuse keep the
// set out of force.
type Checker interface {
	Check(ctx context.Context, set, previous *profiles.Set) (schema.Diagnostics, error)
}
