package interpreter

import (
	"context"
	"strings"

	"github.com/ringd/ringd/executors"
)

// maxEvents is how many events a run keeps for its readers.
const maxEvents = 1024

// events are the newest events of a run. The run's lock guards them.
type events struct {
	list []Event
	seq  int64
	wake chan struct{} // closed at the next event; nil: nobody waits
	turn chan struct{} // closed at the next EventState; nil: nobody waits
}

func (e *events) add(ev Event) {
	e.seq++
	ev.Seq = e.seq
	if len(e.list) >= maxEvents { // forget a quarter at once
		e.list = append(e.list[:0], e.list[maxEvents/4:]...)
	}
	e.list = append(e.list, ev)
	if e.wake != nil {
		close(e.wake)
		e.wake = nil
	}
	if e.turn != nil && ev.Kind == EventState {
		close(e.turn)
		e.turn = nil
	}
}

// wait returns a channel that is closed at the next event.
func (e *events) wait() <-chan struct{} {
	if e.wake == nil {
		e.wake = make(chan struct{})
	}
	return e.wake
}

// turned returns a channel that is closed at the next change of state: who waits
// for the end of a run is not woken by every call of it.
func (e *events) turned() <-chan struct{} {
	if e.turn == nil {
		e.turn = make(chan struct{})
	}
	return e.turn
}

// after returns the events after seq, the first of them a note of what is lost.
func (e *events) after(seq int64) []Event {
	if seq >= e.seq {
		return nil
	}
	first := e.list[0].Seq
	seq = max(seq, 0)
	var out []Event
	if seq+1 < first {
		out = append(out, Event{Seq: first - 1, Kind: EventDropped, Dropped: first - 1 - seq})
		seq = first - 1
	}
	return append(out, e.list[seq+1-first:]...)
}

// Events returns the events after the given sequence number, waiting for one if
// there is none. The last of a run is an EventState with a final state; after it
// Events returns none at once. A reader that is too slow gets one EventDropped
// in the place of what it lost. An error is ctx's.
func (r *Run) Events(ctx context.Context, after int64) ([]Event, error) {
	for {
		r.mu.Lock()
		list, over := r.events.after(after), r.final != nil
		var wake <-chan struct{}
		if len(list) == 0 && !over {
			wake = r.events.wait()
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

func (r *Run) emitLocked(ev Event) { r.events.add(ev) }

func (r *Run) emitState(s executors.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitLocked(Event{Kind: EventState, State: s})
}

// print takes a console entry of the guest, within the output limit: the
// guest's own count is not trusted. Sequence numbers are the ring's.
func (r *Run) print(e executors.ConsoleEntry) {
	switch e.Level {
	case "log", "info", "warn", "error", "debug":
	default:
		e.Level = "log"
	}
	e.Text = strings.ToValidUTF8(e.Text, "\uFFFD")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final != nil {
		return
	}
	size := int64(len(e.Text)) + 1 // a line costs, even an empty one
	if r.printed+size > *r.limits.OutputBytes {
		r.dropped += int64(len(e.Text))
		return
	}
	r.printed += size
	e.Seq = int64(len(r.console)) + 1
	r.console = append(r.console, e)
	r.emitLocked(Event{Kind: EventConsole, Console: &e})
}
