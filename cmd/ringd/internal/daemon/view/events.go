package view

import (
	"github.com/ringd/ringd/rings/interpreter/run"
	"github.com/ringd/ringd/schema/wire"
)

// Event converts an event of the ring.
func Event(started string, e run.Event) wire.Event {
	out := wire.Event{Seq: e.Seq, Run: started}
	switch e.Kind {
	case run.EventState:
		out.Type, out.State = wire.EventState, string(e.State)
	case run.EventConsole:
		out.Type = wire.EventConsole
		if e.Console != nil {
			line := wire.ConsoleEntry(*e.Console)
			out.Console = &line
		}
	case run.EventCall:
		out.Type = wire.EventCall
		if e.Call != nil {
			call := wire.CallEvent(*e.Call)
			out.Call = &call
		}
	case run.EventDecision:
		out.Type, out.Decision = wire.EventDecision, e.Decision
	case run.EventDropped:
		out.Type, out.Missed = wire.EventGap, e.Dropped
	default:
		out.Type = wire.EventGap
	}
	return out
}

// Replay returns the events after a number, for a run of which only the outcome is left. A reader that lacks
// only the last event gets that one.
func Replay(run wire.Run, after int64) []wire.Event {
	if !Ended(run.State) {
		return nil
	}
	switch {
	case after > 0 && after < run.LastEvent:
		return Waiting(run, after)
	case after > 0: // a reader that has seen the end gets it again
		return []wire.Event{
			{Seq: after, Type: wire.EventGap, Run: run.ID},
			{Seq: after + 1, Type: wire.EventState, Run: run.ID, State: run.State},
		}
	}
	out := firstEvents(run)
	return append(out, wire.Event{Seq: int64(len(out) + 1), Type: wire.EventState, Run: run.ID, State: run.State})
}

// firstEvents returns the events in an outcome, for a new reader.
func firstEvents(run wire.Run) []wire.Event {
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
	return out
}

// Waiting returns the events of a waiting run, or none if the reader has the last one. The last one has the
// number from which the resumed run continues.
func Waiting(run wire.Run, after int64) []wire.Event {
	last := run.LastEvent
	state := wire.Event{Seq: last, Type: wire.EventState, Run: run.ID, State: run.State}
	switch {
	case after == last:
		return nil
	case after == last-1:
		return []wire.Event{state}
	case after == 0:
		out := firstEvents(run)
		return append(out[:min(int64(len(out)), last-1)], state)
	case after < last:
		return []wire.Event{{Seq: last - 1, Type: wire.EventGap, Run: run.ID, Missed: last - 1 - after}, state}
	default: // the reader saw more of a life that a crash undid
		return []wire.Event{{Seq: last - 1, Type: wire.EventGap, Run: run.ID}, state}
	}
}
