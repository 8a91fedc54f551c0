package daemon

import (
	"context"
	"slices"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// parentHolds keeps runs that have subagents from ending or being resumed while a subagent starts.
type parentHolds struct {
	cfg    *Config
	table  *runTable
	health *recordHealth
	views  *runViews
}

// holdParent makes sure that a run can have subagents: it is live, or is held without a guest. The actor must
// be allowed to act on the run. more subagents are counted on disk before they begin, so that a crash gives
// none back. let ends the hold unless a subagent is live. Errors: ErrNotFound, ErrEnded, *StuckError,
// *profiles.Denial (the grant of the call was revoked), faults.
func (d *parentHolds) holdParent(
	ctx context.Context,
	actor Actor,
	parent pause.Parent,
	more int64,
) (let func(), err error) {
	id := parent.Run
	for {
		r, row, err := d.views.reach(ctx, actor, id)
		switch {
		case err != nil:
			return nil, err
		case r != nil && !over(r.handle):
			return func() {}, nil
		case r != nil: // it is pausing or ending
			select {
			case <-r.done:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		place := d.table.occupy(id, row.Actor) // it cannot be resumed meanwhile
		if place == nil {
			continue
		}
		let, err := d.hold(ctx, parent, more)
		if err != nil {
			d.table.vacate(place)
			return nil, err
		}
		if let == nil {
			d.table.vacate(place)
			continue
		}
		return func() { let(); d.table.vacate(place) }, nil
	}
}

// hold makes a waiting run live without a guest. It returns nil if the run no longer waits.
func (d *parentHolds) hold(ctx context.Context, parent pause.Parent, more int64) (let func(), err error) {
	id := parent.Run
	row, err := d.cfg.Store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if row.State != store.Paused && row.State != store.Answered {
		return nil, nil
	}
	p, calls, err := d.cfg.Store.Pause(ctx, id)
	var record pause.Record
	if err == nil {
		record, err = d.cfg.Waiting.Keeper.Open(p, row)
	}
	if err != nil {
		d.cfg.Logger.Error("open the pause of a parent", "run", id, "error", err)
		return nil, waiting.Stuck(id, err)
	}
	for i := range record.Calls {
		for _, c := range calls {
			if c.ID == record.Calls[i].ID {
				record.Calls[i].Children = max(record.Calls[i].Children, c.Started)
			}
		}
	}
	if more > 0 {
		if err := revokedCall(record, parent.Call); err != nil {
			return nil, err
		}
	}
	above := func() {}
	if record.Parent != nil {
		if above, err = d.holdParent(ctx, Actor{All: true}, *record.Parent, 0); err != nil {
			return nil, err
		}
	}
	held, err := d.cfg.Interpreter.Hold(ctx, record)
	if err != nil {
		above()
		return nil, err
	}
	let = func() { held.Release(); above() }
	if more > 0 {
		now := held.Spawned() // the total counts the subagents since the call was opened
		if err := d.cfg.Store.Spend(ctx, id, row.Seq, parent.Call, now.Calls[parent.Call]+more, now.Total); err != nil {
			let()
			return nil, d.health.storeFailed("subagents", id, err)
		}
	}
	return let, nil
}

// revokedCall denies a subagent, before it is counted, if the grant of its call was revoked.
func revokedCall(p pause.Record, call string) error {
	for _, c := range p.Calls {
		if c.ID == call && slices.Contains(p.Revoked, "bridge:"+c.Bridge) {
			return &profiles.Denial{Capability: "bridge:" + c.Bridge, Decision: profiles.Decision{
				Code: profiles.CodeBridgeRevoked, Reason: "the grant was taken from the run"}}
		}
	}
	return nil
}
