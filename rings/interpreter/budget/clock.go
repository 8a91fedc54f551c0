package budget

import (
	"sync"
	"time"
)

// Clock ends something after a time that can be held. Its owner makes one with
// StartClock; it is safe for concurrent use. The nil Clock is never held.
type Clock struct {
	now func() time.Time

	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	from  time.Time // when the timer was started last
	holds int
}

// StartClock makes a clock that calls end once, after d without the time in which it is
// held.
func StartClock(now func() time.Time, d time.Duration, end func()) *Clock {
	return &Clock{now: now, left: d, from: now(), timer: time.AfterFunc(d, end)}
}

// Hold stops the clock until Release was called as often.
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
	if c.holds == 1 { // it has ended, or was stopped
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

// Stop ends the clock: it calls nobody any more, held or not.
func (c *Clock) Stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.left = -1
}

// Hold counts who holds one thing, and tells it when the first one does and when
// the last one lets go. It is safe for concurrent use. The nil Hold holds nothing.
type Hold struct {
	tell func(bool)

	mu sync.Mutex
	n  int
}

// HoldOf is a Hold of what tell holds and lets go; nil when there is nothing.
func HoldOf(tell func(bool)) *Hold {
	if tell == nil {
		return nil
	}
	return &Hold{tell: tell}
}

// Hold holds until Release was called as often.
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
		h.tell(after)
	}
}

// Millis turns a limit into a duration, at most a year.
func Millis(ms int64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(min(max(ms, 0), int64(year/time.Millisecond))) * time.Millisecond
}

// wallGrace is how much longer than its wall limit an executor may take to end a
// run by itself.
const wallGrace = 2 * time.Second

// Wall is how long a life of a run may take that has a limit and has used so much of it.
func Wall(limit int64, used time.Duration) time.Duration {
	return max(Millis(limit)-used, 0) + wallGrace
}
