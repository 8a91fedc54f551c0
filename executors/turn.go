package executors

import (
	"context"
	"sync"
)

// Turn is the place of a question in the order in which the program asked. The host waits for its turn before it
// decides the question, and ends the turn once that is decided and recorded. The questions are then performed beside
// each other. The nil Turn is always its own.
type Turn struct {
	before <-chan struct{} // closed when the turn has come; nil for the first question
	over   chan struct{}
	end    sync.Once
}

// After returns the turn that comes when t has ended.
func (t *Turn) After() *Turn {
	next := &Turn{over: make(chan struct{})}
	if t != nil {
		next.before = t.over
	}
	return next
}

// Wait returns when the turn has come. The error is that of ctx, which ended before.
func (t *Turn) Wait(ctx context.Context) error {
	if t == nil || t.before == nil {
		return nil
	}
	select {
	case <-t.before:
		return nil
	default: // also if ctx has ended, a turn that has come counts
	}
	select {
	case <-t.before:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End lets the next question have its turn. It may be called more than once, and before the turn has come: then the
// next turn does not wait for this one.
func (t *Turn) End() {
	if t != nil {
		t.end.Do(func() { close(t.over) })
	}
}
