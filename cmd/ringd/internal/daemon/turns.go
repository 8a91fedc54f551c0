// This file wakes requests that wait for a run which is not live. It holds
// only runs that somebody waits for, so a run that waits for days costs nothing.

package daemon

import "sync"

// Turns wakes who waits for a run. The zero Turns is ready. It is safe for
// concurrent use.
type Turns struct {
	mu      sync.Mutex
	waiting map[string]*change
}

type change struct {
	turned chan struct{}
	n      int // who wait
}

// Await returns a channel that is closed at the next turn of run. The caller
// calls release once.
func (c *Turns) Await(run string) (turned <-chan struct{}, release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[string]*change{}
	}
	w := c.waiting[run]
	if w == nil {
		w = &change{turned: make(chan struct{})}
		c.waiting[run] = w
	}
	w.n++
	return w.turned, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w.n--; w.n == 0 && c.waiting[run] == w {
			delete(c.waiting, run)
		}
	}
}

// Turn wakes who waits for run.
func (c *Turns) Turn(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[run]; w != nil {
		close(w.turned)
		delete(c.waiting, run)
	}
}
