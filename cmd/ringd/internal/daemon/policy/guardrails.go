package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// checker is a Compiler that asks the guardrails on the policy of a set before it
// comes in force, wherever the set comes from. previous is what is in force, or was
// last; nil: nothing. Findings that refuse keep the set out of force.
type checker interface {
	Check(ctx context.Context, set, previous *profiles.Set) (schema.Diagnostics, error)
}

// guarded refuses a set that a guardrail refuses, and adds its findings to those of
// the push. applying is held.
func (d *Holder) guarded(ctx context.Context, c coming, set *profiles.Set) (schema.Diagnostics, error) {
	before, err := d.before(ctx)
	if err != nil {
		return nil, d.notKept(ctx, c.Push, err)
	}
	found, err := d.check(ctx, set, before)
	all := append(slices.Clip(c.findings), found...)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, errors.Join(d.reject(ctx, c.Digest, "the guardrails could not be asked: "+err.Error(), all), errCompiler)
	case busy(found):
		return nil, errors.Join(d.reject(ctx, c.Digest, "the host is too busy, or too short of something, to ask the guardrails now: they are asked again", all), errCompiler)
	case found.Refused():
		return nil, d.reject(ctx, c.Digest, "a guardrail refuses the policy", all)
	}
	return all, nil
}

// before is the set that the next one takes the place of: what is in force, else what
// was last. Were it nothing once a generation is closed, who keeps its source from this
// host would make a guardrail forget what it compares with. Nil: no set is known.
func (d *Holder) before(ctx context.Context) (*profiles.Set, error) {
	if set := d.Set(); set != nil {
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
		return nil, nil // Hold has told
	}
	return set, nil
}

// check asks the guardrails on the policy of a set. A set that has some is refused
// where nobody could ask them.
func (d *Holder) check(ctx context.Context, set, previous *profiles.Set) (schema.Diagnostics, error) {
	if c, ok := d.cfg.Compiler.(checker); ok {
		return c.Check(ctx, set, previous)
	}
	if set.Guarded() {
		return nil, errors.New("nothing here asks the guardrails of the policy")
	}
	return nil, nil
}
