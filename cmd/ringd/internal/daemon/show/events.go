package show

import (
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/schema/wire"
)

// Event is an event of the ring.
func Event(run string, e interpreter.Event) wire.Event {
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
	default:
		out.Type = wire.EventGap
	}
	return out
}

// Replay makes events of a run of which only the outcome is left, after a number.
func Replay(run wire.Run, after int64) []wire.Event {
	if !Ended(run.State) {
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
