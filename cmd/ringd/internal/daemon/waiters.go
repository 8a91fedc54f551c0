package daemon

import "sync"

// waiters wakes requests that wait for a run that is not live. Only runs with a waiting request have an entry,
// so a run that waits for days costs nothing. The zero value is ready. It is safe for concurrent use.
type waiters struct {
	mu      sync.Mutex
	waiting map[string]*waiter
}

type waiter struct {
	turned chan struct{}
	n      int // number of waiting requests
}

// Await returns a channel that is closed by the next Wake of run. The caller calls release once.
func (c *waiters) Await(run string) (turned <-chan struct{}, release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[string]*waiter{}
	}
	w := c.waiting[run]
	if w == nil {
		w = &waiter{turned: make(chan struct{})}
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

// Wake wakes the requests that wait for run.
func (c *waiters) Wake(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[run]; w != nil {
		close(w.turned)
		delete(c.waiting, run)
	}
}
