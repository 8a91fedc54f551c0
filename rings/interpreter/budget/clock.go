package budget

import (
	"sync"
	"time"
)

// Clock calls a function after a time in which it may be held. StartClock makes one. It is
// safe for concurrent use. The nil Clock cannot be held.
type Clock struct {
	now func() time.Time

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	left  time.Duration
	from  time.Time // when the timer was started last
	holds int
}

// StartClock starts a clock that calls end once, after d. The time in which the clock is
// held does not count.
func StartClock(now func() time.Time, d time.Duration, end func()) *Clock {
	return &Clock{now: now, left: d, from: now(), timer: time.AfterFunc(d, end)}
}

// Hold stops the clock until Release was called as often as Hold.
func (c *Clock) Hold() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 && c.timer.Stop() {
		c.left = max(c.left-c.now().Sub(c.from), 0)
		return
	}
	if c.holds == 1 { // the timer has fired, or was stopped
		c.left = -1
	}
}

// Release undoes one Hold.
func (c *Clock) Release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds == 0 && c.left >= 0 {
		c.from = c.now()
		c.timer.Reset(c.left)
	}
}

// Stop stops the clock for good, held or not: end is not called any more.
func (c *Clock) Stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.left = -1
}

// Hold is a counter of holders. It calls a function when the first holder begins and when the last one ends. It
// is safe for concurrent use. The nil Hold does nothing.
type Hold struct {
	set func(held bool)

	mu sync.Mutex // guards n
	n  int
}

// HoldOf returns a Hold that calls set, or nil if set is nil.
func HoldOf(set func(held bool)) *Hold {
	if set == nil {
		return nil
	}
	return &Hold{set: set}
}

// Hold adds a holder.
func (h *Hold) Hold() { h.add(1) }

// Release undoes one Hold.
func (h *Hold) Release() { h.add(-1) }

func (h *Hold) add(n int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.n > 0
	h.n += n
	if after := h.n > 0; after != before {
		h.set(after)
	}
}

// Millis turns a limit into a duration of at most a year.
func Millis(ms int64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(min(max(ms, 0), int64(year/time.Millisecond))) * time.Millisecond
}

// wallGrace is how much longer than its wall limit an executor may take to end a run itself.
const wallGrace = 2 * time.Second

// Wall returns how long a life of a run may take if the run has a limit and has used so much
// of it.
func Wall(limit int64, used time.Duration) time.Duration {
	return max(Millis(limit)-used, 0) + wallGrace
}
