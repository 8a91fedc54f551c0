package daemon

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

// ListRuns returns the runs that actor may see, newest first. A page may hold fewer than f.Limit runs and
// still have a Next. Errors: *InvalidError, faults.
func (d *runViews) ListRuns(ctx context.Context, actor Actor, f view.Filter) (wire.RunList, error) {
	kept, err := f.Stored()
	if err != nil {
		return wire.RunList{}, invalid("", err.Error())
	}
	if !actor.All {
		if actor.Name == "" {
			return wire.RunList{}, invalid("", "the request has no actor")
		}
		kept.Actor = actor.Name
	}
	return view.List(ctx, d.cfg.Store, kept, f.States, func(row store.Run) string {
		state := view.State(row.State)
		if _, handle := d.table.liveRun(actor, row.ID); handle != nil && state == wire.StateRunning {
			if now := string(handle.View().State); !view.Ended(now) {
				return now
			}
		}
		return state
	})
}
