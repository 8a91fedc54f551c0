package run

import (
	"context"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// report has what callers can see of a run: its events, its console, its refusals, and at the end its outcome.
type report struct {
	lock    *sync.Mutex // that of the lifecycle of the run; guards what follows
	feed    eventFeed
	denials profiles.Refusals
	final   *contract.View // nil until this life of the run is over
}

// Events returns the events after the given sequence number. If there is none it waits for
// one. The last event of a run is an EventState with a final state; after that Events
// returns none at once. A reader that is too slow gets one EventDropped in the place of the
// events that it lost. The error is that of ctx.
func (t *report) Events(ctx context.Context, after int64) ([]Event, error) {
	for {
		t.lock.Lock()
		list, over := t.feed.After(after), t.final != nil
		var wake <-chan struct{}
		if len(list) == 0 && !over {
			wake = t.feed.Wake()
		}
		t.lock.Unlock()
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

// Refused adds a refusal of something that the guest of the run tried. It does nothing
// once the outcome is final.
func (t *report) Refused(d profiles.Decision) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.final == nil {
		t.denyLocked(d)
	}
}

// denyLocked keeps a refusal for the outcome, and makes an event of the first, the tenth,
// the hundredth and so on of equal refusals.
func (t *report) denyLocked(d profiles.Decision) {
	if now, tell := t.denials.Add(binding.Brief(d), pause.MaxDenials); tell {
		t.feed.Add(Event{Kind: EventDecision, Decision: &now})
	}
}

// emitCallLocked makes an event of a change of a call. name is that of the error that the
// program got, if any.
func (t *report) emitCallLocked(c *call, state, name string) {
	t.feed.Add(Event{Kind: EventCall,
		Call: &callEvent{ID: c.ID, Bridge: c.Bridge, State: state, Error: name, Digest: c.Digest}})
}

// emitState makes an event of a change of state.
func (t *report) emitState(s executors.State) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.feed.Add(Event{Kind: EventState, State: s})
}

// print takes a console entry of the guest.
func (t *report) print(e executors.ConsoleEntry, limit int64) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.final == nil {
		t.feed.Print(e, limit)
	}
}

// printAll adds the console of an outcome. It is for an executor that did not pass the console line by line.
func (t *report) printAll(list []executors.ConsoleEntry, limit int64) {
	t.lock.Lock()
	known := len(t.feed.Console) > 0
	t.lock.Unlock()
	for _, e := range list {
		if !known {
			t.print(e, limit)
		}
	}
}
