package pauses

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

// Notes keeps words beside the pauses of a run, which come with each of them, and
// changes the record of the last one.
type Notes interface {
	Revoke(ctx context.Context, run, by string, capabilities []string) error
	Pause(ctx context.Context, run string) (store.Pause, []store.Call, error)
	Reseal(ctx context.Context, p store.Pause) error
}

// noteTouched begins the note of a power that subagents of a run touched while it
// waited. No grant that can be taken from a run has such a name.
const noteTouched = "touched:"

// KeepTouched notes what subagents of a run touch that waits. It is durable when it
// returns nil. A run that has ended waits for nothing.
//
// It is noted twice. The sealed record has it, so that whoever deletes, changes or
// moves notes takes nothing from it; the note has it as well, for a record that
// somebody has read already and puts another in the place of. What either says counts.
func (k *Keeper) KeepTouched(ctx context.Context, run string, p profiles.Powers) error {
	var notes []string
	for _, one := range powers.List(p) {
		notes = append(notes, noteTouched+string(one))
	}
	err := k.cfg.Notes.Revoke(ctx, run, "ringd", notes)
	if err == nil {
		err = k.reseal(ctx, run, p)
	}
	if errors.Is(err, store.ErrState) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// reseal writes powers into the sealed record that run goes on from.
func (k *Keeper) reseal(ctx context.Context, run string, p profiles.Powers) error {
	k.resealing.Lock()
	defer k.resealing.Unlock()
	row, err := k.cfg.Store.Run(ctx, run)
	if err != nil {
		return err
	}
	at, _, err := k.cfg.Notes.Pause(ctx, run)
	if err != nil {
		return err
	}
	record, err := k.record(at, row)
	if err != nil {
		return err
	}
	grown := false
	for _, one := range powers.List(p) {
		grown = touch(&record, one) || grown
	}
	if !grown {
		return nil
	}
	plain, err := record.Encode()
	if err != nil {
		return err
	}
	if at.Sealed, err = k.cfg.Sealer.Seal(binding(row.ID, row.Seq, row.Agent, row.Actor, at.Revision, at.Engine), plain); err != nil {
		return fmt.Errorf("seal pause %d of run %s: %w", row.Seq, run, err)
	}
	at.KeyID = k.cfg.Sealer.KeyID()
	return k.cfg.Notes.Reseal(ctx, at)
}

// noted counts a note among what a run has touched. It reports whether it was one. A
// note of no power that there is was not written by this daemon.
func noted(p *pause.Record, note string) (bool, error) {
	text, ok := strings.CutPrefix(note, noteTouched)
	if !ok {
		return false, nil
	}
	power := powers.Power(text)
	if !slices.Contains(powers.All(), power) {
		return true, &seal.IntegrityError{Field: "touched"}
	}
	touch(p, power)
	return true, nil
}

// touch counts a power among what a run has touched, and reports whether it is new.
func touch(p *pause.Record, power powers.Power) bool {
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
