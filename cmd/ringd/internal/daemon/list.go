package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/show"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

// Filter chooses runs of a list. Zero fields choose all.
type Filter struct {
	Agent  string
	States []string // those of wire.Run
	Before time.Time
	Limit  int
}

// stored is f in the words of the store, which calls every run that has not
// ended by the step it is at.
func (f Filter) stored() (store.Filter, error) {
	out := store.Filter{Agent: f.Agent, Before: f.Before, Limit: f.Limit}
	for _, state := range f.States {
		switch {
		case show.Ended(state):
			out.States = append(out.States, store.State(state))
		case state == wire.StateRunning, state == string(store.Paused):
			out.States = append(out.States, store.Asked, store.Started, store.CallOpen, store.Paused,
				store.Answered, store.Claimed, store.Executing)
		default:
			return out, invalid("state", fmt.Sprintf("%.80q is no state of a run", state))
		}
	}
	return out, nil
}

// ListRuns returns the runs that actor may see, newest first. A page may hold
// fewer than f.Limit and have a Next. Errors: *InvalidError, faults.
func (d *Daemon) ListRuns(ctx context.Context, actor Actor, f Filter) (wire.RunList, error) {
	kept, err := f.stored()
	if err != nil {
		return wire.RunList{}, err
	}
	if !actor.All {
		if actor.Name == "" {
			return wire.RunList{}, invalid("", "the request has no actor")
		}
		kept.Actor = actor.Name
	}
	return list(ctx, d.cfg.Runs, kept, f.States, func(row store.Run) string {
		state := show.State(row.State)
		if _, handle := d.liveRun(actor, row.ID); handle != nil && state == wire.StateRunning {
			if now := string(handle.View().State); !show.Ended(now) {
				return now
			}
		}
		return state
	})
}

// ListKept lists the runs of a store that no daemon uses. Errors as of ListRuns.
func ListKept(ctx context.Context, runs RunStore, f Filter) (wire.RunList, error) {
	kept, err := f.stored()
	if err != nil {
		return wire.RunList{}, err
	}
	return list(ctx, runs, kept, f.States, func(row store.Run) string { return show.State(row.State) })
}

// list shows rows whose state, as stateOf tells it, is one of states; none are
// all.
func list(ctx context.Context, runs RunStore, f store.Filter, states []string, stateOf func(store.Run) string) (wire.RunList, error) {
	rows, err := runs.Runs(ctx, f)
	if err != nil {
		return wire.RunList{}, fmt.Errorf("list runs: %w", err)
	}
	out := wire.RunList{Runs: make([]wire.RunSummary, 0, len(rows))}
	for _, row := range rows {
		state := stateOf(row)
		if len(states) > 0 && !slices.Contains(states, state) {
			continue
		}
		out.Runs = append(out.Runs, wire.RunSummary{ID: row.ID, State: state, Agent: row.Agent, Actor: row.Actor,
			Executor: row.Executor, Created: row.Created, Updated: row.Updated})
	}
	if f.Limit > 0 && len(rows) == f.Limit {
		out.Next = rows[len(rows)-1].Created.UTC().Format(time.RFC3339Nano)
	}
	return out, nil
}
