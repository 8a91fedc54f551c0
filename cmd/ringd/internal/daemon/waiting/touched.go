package waiting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// noteTouched is the prefix of a note on a power that subagents of a run used while it waited. No
// revocable grant has such a name.
const noteTouched = "touched:"

// KeepTouched keeps the powers that subagents of a waiting run use. If it returns nil, they are durable.
// For a run that has ended it does nothing.
//
// The powers are kept twice, and the union counts. The sealed record has them, so that deleted, changed
// or moved notes lose nothing. A note has them as well, in case the record is replaced by an older one.
func (k *Keeper) KeepTouched(ctx context.Context, run string, p profiles.Powers) error {
	var notes []string
	for _, one := range powers.List(p) {
		notes = append(notes, noteTouched+string(one))
	}
	err := k.cfg.Store.Revoke(ctx, run, "ringd", notes)
	if err == nil {
		err = k.reseal(ctx, run, p)
	}
	if errors.Is(err, store.ErrState) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// reseal adds powers to the sealed record from which run continues.
func (k *Keeper) reseal(ctx context.Context, run string, p profiles.Powers) error {
	k.resealing.Lock()
	defer k.resealing.Unlock()
	row, err := k.cfg.Store.Run(ctx, run)
	if err != nil {
		return err
	}
	at, _, err := k.cfg.Store.Pause(ctx, run)
	if err != nil {
		return err
	}
	record, err := k.record(at, row)
	if err != nil {
		return err
	}
	grown := false
	for _, one := range powers.List(p) {
		grown = touchPower(&record, one) || grown
	}
	if !grown {
		return nil
	}
	plain, err := record.Encode()
	if err != nil {
		return err
	}
	if at.Sealed, err = k.cfg.Sealer.Seal(pauseBinding(row.ID, row.Seq, row.Agent, row.Actor, at.Revision, at.Engine),
		plain); err != nil {
		return fmt.Errorf("seal pause %d of run %s: %w", row.Seq, run, err)
	}
	at.KeyID = k.cfg.Sealer.KeyID()
	return k.cfg.Store.Reseal(ctx, at)
}

// applyNote adds the power of a note to the record, and reports whether the note is about a power. This
// daemon did not write a note that names an unknown power.
func applyNote(p *pause.Record, note string) (bool, error) {
	text, ok := strings.CutPrefix(note, noteTouched)
	if !ok {
		return false, nil
	}
	power := powers.Power(text)
	if !slices.Contains(powers.All(), power) {
		return true, &seal.IntegrityError{Field: "touched"}
	}
	touchPower(p, power)
	return true, nil
}

// touchPower adds a power to the ones that the run has used, and reports whether it is new.
func touchPower(p *pause.Record, power powers.Power) bool {
	t := ruleoftwo.Touched{}
	if p.Touched != nil {
		t = *p.Touched
	}
	if powers.Has(t.Powers, power) {
		return false
	}
	t.Note(power, "a subagent")
	p.Touched = &t
	return true
}
