package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

// Filter selects runs of a list. Zero fields select all.
type Filter struct {
	Prefix string // of the id
	Agent  string
	States []string // those of wire.Run
	Before time.Time
	Limit  int
}

// Stored converts f for the store, which has more states of a run that has not ended.
func (f Filter) Stored() (store.Filter, error) {
	out := store.Filter{Prefix: f.Prefix, Agent: f.Agent, Before: f.Before, Limit: f.Limit}
	for _, state := range f.States {
		switch {
		case Ended(state):
			out.States = append(out.States, store.State(state))
		case state == wire.StateRunning, state == string(store.Paused):
			out.States = append(out.States, store.Asked, store.Started, store.CallOpen, store.Paused,
				store.Answered, store.Claimed, store.Executing)
		default:
			return out, fmt.Errorf("state: %.80q is not a state of a run", state)
		}
	}
	return out, nil
}

// lister lists runs of a store.
type lister interface {
	Runs(ctx context.Context, f store.Filter) ([]store.Run, error)
}

// ListKept lists the runs of a store that no daemon uses, in the states of Kept.
func ListKept(ctx context.Context, runs lister, f Filter) (wire.RunList, error) {
	asked := f.States
	f.States = slices.DeleteFunc(slices.Clone(asked), func(s string) bool { return s == string(store.Answered) })
	kept, err := f.Stored()
	if err != nil {
		return wire.RunList{}, err
	}
	if len(f.States) < len(asked) {
		kept.States = append(kept.States, store.Answered)
	}
	return List(ctx, runs, kept, asked, func(row store.Run) string { return Kept(row.State) })
}

// Kept is State for a store that no daemon uses. There an answered run is resumed only on request.
func Kept(s store.State) string {
	if s == store.Answered {
		return string(store.Answered)
	}
	return State(s)
}

// List returns the rows whose state, by stateOf, is one of states. Empty states select all.
func List(
	ctx context.Context,
	runs lister,
	f store.Filter,
	states []string,
	stateOf func(store.Run) string,
) (wire.RunList, error) {
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
