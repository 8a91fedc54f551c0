package executors

import (
	"context"
	"sync"
)

const (
	// smallAsk is the size in bytes of a question of which there may be MaxOpenAsks.
	smallAsk = 4 << 10
	// maxUntaken is how many bytes of larger questions wait for their turn before no more
	// is read of their guest.
	maxUntaken = 2 << 20
)

// untakenLocked counts a question that is not small until the host has taken it.
func (r *linkRun) untakenLocked(q *question) {
	if q.size <= smallAsk {
		return
	}
	r.untaken += q.size
	q.Taken = sync.OnceFunc(func() {
		r.mu.Lock()
		r.untaken -= q.size
		r.mu.Unlock()
		select {
		case r.room <- struct{}{}:
		default: // the reader has not looked since
		}
	})
}

// mayRead waits until there is room for what the guest says next. It returns when ctx
// ends as well: then the guest is gone, or nothing it says counts.
func (r *linkRun) mayRead(ctx context.Context) {
	for {
		r.mu.Lock()
		full := r.untaken >= maxUntaken
		r.mu.Unlock()
		if !full {
			return
		}
		r.askNext(ctx) // what was read is asked: it may be what takes the room
		select {
		case <-r.room:
		case <-ctx.Done():
			return
		}
	}
}
