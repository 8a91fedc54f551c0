package daemon

import (
	"context"

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
		return replay(run, after), nil
	}
	got, err := r.handle.Events(ctx, after)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Event, 0, len(got))
	for _, e := range got {
		out = append(out, d.event(id, e))
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

func (d *Daemon) event(run string, e interpreter.Event) wire.Event {
	out := wire.Event{Seq: e.Seq, Run: run}
	switch e.Kind {
	case interpreter.EventState:
		out.Type, out.State = wire.EventState, string(e.State)
	case interpreter.EventConsole:
		out.Type = wire.EventConsole
		if e.Console != nil {
			line := wire.ConsoleEntry(*e.Console)
			out.Console = &line
		}
	case interpreter.EventCall:
		out.Type = wire.EventCall
		if e.Call != nil {
			call := wire.CallEvent(*e.Call)
			out.Call = &call
		}
	case interpreter.EventDecision:
		out.Type, out.Decision = wire.EventDecision, e.Decision
	case interpreter.EventDropped:
		out.Type, out.Missed = wire.EventGap, e.Dropped
		d.cfg.Metrics.EventsDropped(e.Dropped)
	default:
		out.Type = wire.EventGap
	}
	return out
}

// replay makes events of an outcome.
func replay(run wire.Run, after int64) []wire.Event {
	if !ended(run.State) {
		return nil
	}
	if after > 0 {
		return []wire.Event{
			{Seq: after, Type: wire.EventGap, Run: run.ID},
			{Seq: after + 1, Type: wire.EventState, Run: run.ID, State: run.State},
		}
	}
	var out []wire.Event
	add := func(e wire.Event) {
		e.Seq, e.Run = int64(len(out)+1), run.ID
		out = append(out, e)
	}
	for i := range run.Console {
		add(wire.Event{Type: wire.EventConsole, Console: &run.Console[i]})
	}
	for i := range run.Denials {
		add(wire.Event{Type: wire.EventDecision, Decision: &run.Denials[i]})
	}
	add(wire.Event{Type: wire.EventState, State: run.State})
	return out
}
