package run

import (
	"context"

	"github.com/ringd/ringd/executors"
)

// Events returns the events after the given sequence number, waiting for one if
// there is none. The last of a run is an EventState with a final state; after it
// Events returns none at once. A reader that is too slow gets one EventDropped
// in the place of what it lost. An error is ctx's.
func (r *Run) Events(ctx context.Context, after int64) ([]Event, error) {
	for {
		r.mu.Lock()
		list, over := r.feed.After(after), r.final != nil
		var wake <-chan struct{}
		if len(list) == 0 && !over {
			wake = r.feed.Wake()
		}
		r.mu.Unlock()
		if len(list) > 0 || over {
			return list, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (r *Run) emitLocked(ev Event) { r.feed.Add(ev) }

func (r *Run) emitState(s executors.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitLocked(Event{Kind: EventState, State: s})
}

// printAll takes the console of an executor that did not give it line by line.
func (r *Run) printAll(list []executors.ConsoleEntry) {
	r.mu.Lock()
	known := len(r.feed.Console) > 0
	r.mu.Unlock()
	for _, e := range list {
		if !known {
			r.print(e)
		}
	}
}

// print takes a console entry of the guest.
func (r *Run) print(e executors.ConsoleEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final == nil {
		r.feed.Print(e, *r.limits.OutputBytes)
	}
}
