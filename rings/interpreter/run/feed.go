package run

import (
	"strings"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// eventKind says what an Event is about.
type eventKind string

// The kinds of event.
const (
	EventState    eventKind = "state"
	EventConsole  eventKind = "console"
	EventCall     eventKind = "call"
	EventDecision eventKind = "decision" // a refusal
	EventDropped  eventKind = "dropped"  // the reader was too slow and has lost Dropped events
)

// Event is one thing that happened in a run. Only the field of its kind is set.
type Event struct {
	Seq      int64 // from 1, without gaps; a Dropped event has the number of the last one that is lost
	Kind     eventKind
	State    executors.State
	Console  *executors.ConsoleEntry
	Call     *callEvent
	Decision *profiles.Decision
	Dropped  int64
}

// callEvent is a change of one call.
type callEvent struct {
	ID     string
	Bridge string
	State  string // opened, pending, closed
	Error  string // the name of the error that the program got, empty for a result
	Digest string
}

// maxEvents is how many events a run keeps for its readers.
const maxEvents = 1024

// eventFeed has the newest events of a run, which are numbered from the start of the run through
// every pause, and its console within its limit. The zero eventFeed is that of a run that begins.
// It is not safe for concurrent use: the lock of the run guards it.
type eventFeed struct {
	Console []executors.ConsoleEntry
	Printed int64 // bytes of the output limit that are used
	Dropped int64 // bytes of console output over the limit
	Last    int64 // number of the newest event

	list    []Event
	wake    chan struct{} // closed at the next event; nil while no caller waits
	settled chan struct{} // closed by WakeSettled; nil while no caller waits
}

// Add numbers an event and wakes the readers.
func (f *eventFeed) Add(ev Event) {
	f.Last++
	ev.Seq = f.Last
	if len(f.list) >= maxEvents { // drop a quarter at once
		f.list = append(f.list[:0], f.list[maxEvents/4:]...)
	}
	f.list = append(f.list, ev)
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
	if ev.Kind == EventState {
		f.WakeSettled()
	}
}

// WakeSettled wakes the callers that wait for SettledWake.
func (f *eventFeed) WakeSettled() {
	if f.settled != nil {
		close(f.settled)
		f.settled = nil
	}
}

// Wake returns a channel that is closed at the next event.
func (f *eventFeed) Wake() <-chan struct{} {
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return f.wake
}

// SettledWake returns a channel that is closed at the next change of state, or by
// WakeSettled. A caller that waits for the end of a run is not woken by each of its calls.
func (f *eventFeed) SettledWake() <-chan struct{} {
	if f.settled == nil {
		f.settled = make(chan struct{})
	}
	return f.settled
}

// After returns the events after seq. If some of them are lost, the first is an
// EventDropped. A seq above the last event belongs to a life that a crash has undone: its
// reader gets an EventDropped and all events of this life.
func (f *eventFeed) After(seq int64) []Event {
	if seq == f.Last {
		return nil
	}
	first := f.Last - int64(len(f.list)) + 1
	seq = max(seq, 0)
	var out []Event
	if seq > f.Last {
		out = append(out, Event{Seq: first - 1, Kind: EventDropped})
		seq = first - 1
	}
	if seq+1 < first {
		out = append(out, Event{Seq: first - 1, Kind: EventDropped, Dropped: first - 1 - seq})
		seq = first - 1
	}
	return append(out, f.list[seq+1-first:]...)
}

// Print takes a console entry of the guest if the limit allows it. The feed counts and
// numbers the entries itself: the guest is not trusted to.
func (f *eventFeed) Print(e executors.ConsoleEntry, limit int64) {
	switch e.Level {
	case "log", "info", "warn", "error", "debug", executors.LevelStdout, executors.LevelStderr:
	default:
		e.Level = "log"
	}
	e.Text = strings.ToValidUTF8(e.Text, "\uFFFD")
	size := int64(len(e.Text)) + 1 // an empty line counts as well
	if f.Printed+size > limit {
		f.Dropped += int64(len(e.Text))
		return
	}
	f.Printed += size
	e.Seq = int64(len(f.Console)) + 1
	f.Console = append(f.Console, e)
	f.Add(Event{Kind: EventConsole, Console: &e})
}
