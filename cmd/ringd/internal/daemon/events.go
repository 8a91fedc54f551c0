package daemon

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/show"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/schema/wire"
)

// Events returns the events of a run after a sequence number; it waits until
// there is one. The last event of a run is a state that does not change any
// more; after it Events returns none. Of a run whose end was recorded before the
// call only what the outcome holds is left: console, denials and the state for a
// reader that begins, a gap and the state for one that goes on. Errors:
// ErrNotFound, ErrUnavailable, that of ctx, faults.
func (d *Daemon) Events(ctx context.Context, actor Actor, id string, after int64) ([]wire.Event, error) {
	r := d.liveRun(actor, id)
	if r == nil {
		run, err := d.GetRun(ctx, actor, id, 0)
		if err != nil {
			return nil, err
		}
		return show.Replay(run, after), nil
	}
	got, err := r.handle.Events(ctx, after)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Event, 0, len(got))
	for _, e := range got {
		if e.Kind == interpreter.EventDropped {
			d.cfg.Metrics.EventsDropped(e.Dropped)
		}
		out = append(out, show.Event(id, e))
	}
	if len(out) == 0 || !out[len(out)-1].Final() {
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
