package daemon

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/rings/interpreter/run"
	"github.com/ringd/ringd/schema/wire"
)

// Events returns the events of a run after a sequence number; it waits until
// there is one, also while the run waits in the store, and the numbers go on when
// it goes on. The last event of a run is a state that does not change any more.
// Of a run that is not live only what the outcome holds is left: console, denials
// and the state for a reader that begins, a gap and the state for one that goes
// on. Errors: ErrNotFound, ErrUnavailable, that of ctx, faults.
func (d *runViews) Events(ctx context.Context, actor Actor, id string, after int64) ([]wire.Event, error) {
	for {
		turned, release := d.turns.Await(id)
		out, err := d.eventsNow(ctx, actor, id, after)
		if err == nil && len(out) == 0 {
			select {
			case <-turned:
				release()
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		release()
		return out, err
	}
}

// eventsNow is Events for a run that is live or has ended; of one that waits it
// returns none when there are none.
func (d *runViews) eventsNow(ctx context.Context, actor Actor, id string, after int64) ([]wire.Event, error) {
	r, handle := d.table.liveRun(actor, id)
	if handle != nil {
		out, err := d.eventsLive(ctx, r, after)
		if err != nil || len(out) > 0 {
			return out, err
		}
	}
	run, err := d.GetRun(ctx, actor, id, 0)
	switch {
	case err != nil:
		return nil, err
	case view.Ended(run.State):
		return view.Replay(run, after), nil
	case run.LastEvent == 0:
		return nil, nil // it goes on in this moment
	default:
		return view.Waiting(run, after), nil
	}
}

// eventsLive waits for events of a live run; none come after its pause.
func (d *runViews) eventsLive(ctx context.Context, r *liveRun, after int64) ([]wire.Event, error) {
	got, err := r.handle.Events(ctx, after)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Event, 0, len(got))
	for _, e := range got {
		if e.Kind == run.EventDropped {
			d.cfg.Metrics.EventsDropped(e.Dropped)
		}
		out = append(out, view.Event(r.id, e))
	}
	if len(out) > 0 && !out[len(out)-1].Final() {
		return out, nil
	}
	select {
	case <-r.done: // an end is shown once it is on disk
		if r.err != nil {
			return nil, r.err
		}
		return out, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
