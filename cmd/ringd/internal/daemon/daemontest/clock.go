package daemontest

import (
	"sync"
	"time"
)

// Clock stands still until Advance.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
	asked   chan struct{} // closed and replaced at every After
}

type waiter struct {
	at time.Time
	c  chan time.Time
}

// NewClock returns a clock that stands at a fixed time.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), asked: make(chan struct{})}
}

// Now returns its time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After returns a channel that gets the time once it is d later.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := waiter{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		w.c <- c.now
	} else {
		c.waiters = append(c.waiters, w)
	}
	close(c.asked)
	c.asked = make(chan struct{})
	return w.c
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	left := c.waiters[:0]
	for _, w := range c.waiters {
		if w.at.After(c.now) {
			left = append(left, w)
			continue
		}
		w.c <- c.now
	}
	c.waiters = left
}

// Waits returns once a goroutine waits for a time at least d away, and at most a minute more.
func (c *Clock) Waits(d time.Duration) { c.waits(d, d+time.Minute) }

// WaitsFor returns once a goroutine waits for a time exactly d away.
func (c *Clock) WaitsFor(d time.Duration) { c.waits(d, d) }

func (c *Clock) waits(least, most time.Duration) {
	for {
		c.mu.Lock()
		asked := c.asked
		for _, w := range c.waiters {
			if left := w.at.Sub(c.now); left >= least && left <= most {
				c.mu.Unlock()
				return
			}
		}
		c.mu.Unlock()
		<-asked
	}
}

// Set moves the clock to a time, which may be in the past. Waiting goroutines are woken as by Advance. Those
// whose time is now further away wait longer.
func (c *Clock) Set(to time.Time) { c.Advance(to.Sub(c.Now())) }

// Jump sets only the wall clock, as an operator who sets it would: timers are unchanged, and no goroutine is
// woken.
func (c *Clock) Jump(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.waiters {
		c.waiters[i].at = c.waiters[i].at.Add(to.Sub(c.now))
	}
	c.now = to
}
