package daemon

import "sync"

// turns wakes requests that wait for a run that is not live. It has entries only for runs with a waiting
// request, so a run that waits for days costs nothing. The zero value is ready. It is safe for concurrent
// use.
type turns struct {
	mu      sync.Mutex
	waiting map[string]*change
}

type change struct {
	turned chan struct{}
	n      int // number of waiting requests
}

// Await returns a channel that is closed at the next turn of run. The caller
// calls release once.
func (c *turns) Await(run string) (turned <-chan struct{}, release func()) {
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

// Turn wakes the requests that wait for run.
func (c *turns) Turn(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[run]; w != nil {
		close(w.turned)
		delete(c.waiting, run)
	}
}
