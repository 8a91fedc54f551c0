package daemon

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/rings/interpreter/run"
	"github.com/ringd/ringd/schema/wire"
)

// Events returns the events of a run after a sequence number. It waits until there is one, also while the run
// waits in the store. The numbers continue after a resume. The last event of a run is a final state. If the
// run is not live, only the events that its outcome holds remain. A new reader gets console, denials and the
// state. A reader that continues gets a gap and the state. Errors: ErrNotFound, ErrUnavailable, that of ctx,
// faults.
func (d *runViews) Events(ctx context.Context, actor Actor, id string, after int64) ([]wire.Event, error) {
	for {
		turned, release := d.waiters.Await(id)
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

// eventsNow is Events for a run that is live or has ended. For a waiting run without new events it returns
// none.
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
		return nil, nil // it is being resumed
	default:
		return view.Waiting(run, after), nil
	}
}

// eventsLive waits for events of a live run. It returns none after the pause of the run.
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
	case <-r.done: // an end is shown only once it is on disk
		if r.err != nil {
			return nil, r.err
		}
		return out, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
