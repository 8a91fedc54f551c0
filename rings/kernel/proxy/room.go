package proxy

import (
	"sync"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// room is how many bytes of this process all agents together may take for heads that
// are not complete. An agent may take a third of what is free then: alone a quarter of
// all, and less beside others that hold what they got. So there is some for an agent
// that has none, beside twenty that hold all they can get. It is safe for concurrent
// use.
type room struct {
	most int

	mu  sync.Mutex
	all int
	of  map[string]int // by agent
}

// take takes n bytes for an agent; false: there is no room.
func (r *room) take(agent string, n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := r.of[agent] + n
	if mine > (r.most-r.all-n)/3 {
		return false
	}
	r.of[agent] = mine
	r.all += n
	return true
}

// give gives n bytes back.
func (r *room) give(agent string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all -= n
	if r.of[agent] -= n; r.of[agent] == 0 {
		delete(r.of, agent)
	}
}

// noRoom is the decision for a head that there is no room for.
func noRoom() profiles.Decision {
	return refusal(egress.Budget, "as many bytes of incomplete heads are held as one agent may have on this host")
}
