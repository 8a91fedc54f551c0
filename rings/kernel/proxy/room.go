package proxy

import (
	"sync"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// room limits the bytes of incomplete heads of all agents. An agent may hold up to a third of the bytes that are
// free at that moment. If no other agent holds any, this is a quarter of all bytes. If others do, it is less. So
// an agent that holds nothing still gets some bytes, even if twenty other agents hold as many as they can. A room
// is safe for concurrent use.
type room struct {
	most int

	mu  sync.Mutex
	all int
	of  map[string]int // by agent
}

// take reserves n bytes for an agent. It returns false if there is no room.
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

// give releases n bytes.
func (r *room) give(agent string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all -= n
	if r.of[agent] -= n; r.of[agent] == 0 {
		delete(r.of, agent)
	}
}

// noRoom is the denial of a head for which there is no room.
func noRoom() profiles.Decision {
	return refusal(egress.Budget, "as many bytes of incomplete heads are held as one agent may have on this host")
}
