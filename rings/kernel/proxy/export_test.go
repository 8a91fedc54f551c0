package proxy

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
)

// WithoutFirst takes away the guard over the answers of a lookup, WithoutSecond the one over
// the address that a socket is about to connect to, to see that the other refuses.
func (e *Egress) WithoutFirst() {
	e.guards.answers = func(_ *Egress, q request, c profiles.Connection, answers []netip.Addr, _ time.Time) (
		out []netip.AddrPort, _ profiles.Connection) {
		for _, a := range answers {
			out = append(out, netip.AddrPortFrom(a.Unmap(), q.target().Port))
		}
		return out, c
	}
}

// WithoutSecond is described at WithoutFirst.
func (e *Egress) WithoutSecond() {
	e.guards.socket = func(*Egress, request, profiles.Connection, netip.AddrPort) error { return nil }
}

// Open counts the connections that are open, or are dialed.
func (g *Guest) Open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

// Held counts those, and the clients of which nothing is decided.
func (g *Guest) Held() int { return g.openCount() }

// InFlight counts the connections on which a request is being answered. The client
// may have read the whole answer by then.
func (g *Guest) InFlight() int {
	g.mu.Lock()
	conns := slices.Collect(maps.Keys(g.conns))
	g.mu.Unlock()
	n := 0
	for _, c := range conns {
		c.mu.Lock()
		if c.client != nil {
			n++
		}
		c.mu.Unlock()
	}
	return n
}

// Room is how many bytes of incomplete heads are held.
func (e *Egress) Room() int {
	e.room.mu.Lock()
	defer e.room.mu.Unlock()
	return e.room.all
}

// Heads is the room of an Egress, for a test of its shares alone.
type Heads struct{ room }

// NewHeads returns room for most bytes.
func NewHeads(most int) *Heads { return &Heads{room{most: most, of: map[string]int{}}} }

// Take is take.
func (h *Heads) Take(agent string, n int) bool { return h.take(agent, n) }

// Give is give.
func (h *Heads) Give(agent string, n int) { h.give(agent, n) }
