package executors

import (
	"context"
	"sync"
)

const (
	// smallAsk is the largest size in bytes of a question of which MaxOpenAsks may be open.
	smallAsk = 4 << 10
	// maxUntaken is how many bytes of larger questions may wait for their turn. Above it, nothing more is read
	// from the guest.
	maxUntaken = 2 << 20
)

// untakenLocked counts a large question until the host has taken it.
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
		default: // the reader has not read the last signal
		}
	})
}

// mayRead waits until there is room for the next message of the guest. It also returns when ctx ends: then the
// guest is gone, or its messages are ignored.
func (r *linkRun) mayRead(ctx context.Context) {
	for {
		r.mu.Lock()
		full := r.untaken >= maxUntaken
		r.mu.Unlock()
		if !full {
			return
		}
		r.askNext(ctx) // ask the question that was read last: it may be the one that takes the room
		select {
		case <-r.room:
		case <-ctx.Done():
			return
		}
	}
}
