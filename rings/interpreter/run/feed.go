// This file is what a run tells while it goes on: its newest events, numbered
// from the run's start through every pause, and its console within its limit. It
// is not safe for concurrent use: the run that owns a Feed guards it.

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
	EventDropped  eventKind = "dropped"  // the reader was too slow: Dropped events are gone
)

// Event is one thing that happened in a run. The field of its kind is set.
type Event struct {
	Seq      int64 // from 1, without gaps but for Dropped, which has the Seq of the last one lost
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
	Error  string // the name of the error the program got, "" for a result
	Digest string
}

// maxEvents is how many events a run keeps for its readers.
const maxEvents = 1024

// Feed is what one run tells. The zero Feed is that of a run that begins.
type Feed struct {
	Console []executors.ConsoleEntry
	Printed int64 // bytes of the output limit that are used
	Dropped int64 // bytes of console output over the limit
	Last    int64 // number of the newest event

	list []Event
	wake chan struct{} // closed at the next event; nil: nobody waits
	turn chan struct{} // closed at the next State; nil: nobody waits
}

// Add numbers an event and tells it.
func (f *Feed) Add(ev Event) {
	f.Last++
	ev.Seq = f.Last
	if len(f.list) >= maxEvents { // forget a quarter at once
		f.list = append(f.list[:0], f.list[maxEvents/4:]...)
	}
	f.list = append(f.list, ev)
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
	if ev.Kind == EventState {
		f.Turn()
	}
}

// Turn wakes who waits for Turned.
func (f *Feed) Turn() {
	if f.turn != nil {
		close(f.turn)
		f.turn = nil
	}
}

// Wake returns a channel that is closed at the next event.
func (f *Feed) Wake() <-chan struct{} {
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return f.wake
}

// Turned returns a channel that is closed at the next change of state, or Turn: who
// waits for the end of a run is not woken by every call of it.
func (f *Feed) Turned() <-chan struct{} {
	if f.turn == nil {
		f.turn = make(chan struct{})
	}
	return f.turn
}

// After returns the events after seq, the first of them a note of what is lost. A
// seq above the last one is of a life that a crash undid: its reader gets the note
// and all of this one.
func (f *Feed) After(seq int64) []Event {
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

// Print takes a console entry of the guest, within the limit: the guest's own
// count is not trusted. Sequence numbers are the feed's.
func (f *Feed) Print(e executors.ConsoleEntry, limit int64) {
	switch e.Level {
	case "log", "info", "warn", "error", "debug", executors.LevelStdout, executors.LevelStderr:
	default:
		e.Level = "log"
	}
	e.Text = strings.ToValidUTF8(e.Text, "\uFFFD")
	size := int64(len(e.Text)) + 1 // a line costs, even an empty one
	if f.Printed+size > limit {
		f.Dropped += int64(len(e.Text))
		return
	}
	f.Printed += size
	e.Seq = int64(len(f.Console)) + 1
	f.Console = append(f.Console, e)
	f.Add(Event{Kind: EventConsole, Console: &e})
}
