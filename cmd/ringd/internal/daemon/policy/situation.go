package policy

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/schema/wire"
)

// situation holds what is known besides the generation in force: which executors are closed, what is wrong
// with the source of pushes, and the last push. It also has the token of the push that is being applied. It
// is safe for concurrent use. Code that uses its fields directly holds mu.
type situation struct {
	cfg *Config

	applying chan struct{} // one token: one push, or one closing, at a time
	wake     chan struct{} // wakes the loop of watcher

	mu               sync.Mutex
	closedBy         map[string]closing        // why an executor is closed, by name; "" is all of them
	sourceConditions map[string]wire.Condition // push_rejected, sync_lost, held
	badSince         time.Time                 // since when the source is not good
	stale            *wire.Condition           // set if the generation was closed
	lastPush         *wire.Push
	reread           bool          // apply the last push again when its folder is back, even if it was refused
	waiting          *syncer.Push  // arrived during a lockdown
	lastNumber       int64         // of the newest generation
	turned           chan struct{} // closed and replaced when the generation changes
}

// closedExecutors returns why executors are closed, by name. The empty name is all of them.
func (d *situation) closedExecutors() map[string]closing {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.closedBy)
}

// awaits reports whether a push of this digest waits for the end of a lockdown.
func (d *situation) awaits(digest string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting != nil && d.waiting.Digest == digest
}

// setLastPush makes p the last push of the status.
func (d *situation) setLastPush(p wire.Push) {
	d.cfg.Metrics.Pushed(p.Result)
	d.mu.Lock()
	d.lastPush = &p
	d.mu.Unlock()
}

// sourceBad notes that the source is not good, and makes the watch loop run. since counts if the source was
// good before.
func (d *situation) sourceBad(c wire.Condition, since time.Time) {
	d.mu.Lock()
	if len(d.sourceConditions) == 0 {
		d.badSince = since
	}
	if old, ok := d.sourceConditions[c.Code]; ok {
		c.Since = old.Since
	}
	d.sourceConditions[c.Code] = c
	d.mu.Unlock()
	d.wakeWatch()
}

// wakeWatch makes the watch loop run.
func (d *situation) wakeWatch() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// sourceGood notes that the source is good.
func (d *situation) sourceGood() {
	d.mu.Lock()
	clear(d.sourceConditions)
	clear(d.closedBy)
	d.mu.Unlock()
}

func (d *situation) closedFor(executor string) (closing, bool) {
	if c, ok := d.closedBy[executor]; ok {
		return c, true
	}
	c, ok := d.closedBy[""]
	return c, ok
}

func (d *situation) acquire(ctx context.Context) error {
	select {
	case d.applying <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *situation) release() { <-d.applying }

// closing is why an executor is closed.
type closing struct {
	wire.Condition
	// Push is the digest of the push that a ring could not prepare. It is empty if
	// something else closed the executor.
	Push string
}
