package egress

import (
	"maps"
	"slices"
)

// WithoutFirst takes away the guard over what was looked up, WithoutSecond the one
// over what a socket is about to connect to, to see that the other refuses.
func (e *Egress) WithoutFirst()  { e.without.first = true }
func (e *Egress) WithoutSecond() { e.without.second = true }

// Open counts the connections that are open, or are dialed.
func (g *Guest) Open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.links)
}

// InFlight counts the connections on which a request is being answered. The client
// may have read the whole answer by then.
func (g *Guest) InFlight() int {
	g.mu.Lock()
	links := slices.Collect(maps.Keys(g.links))
	g.mu.Unlock()
	n := 0
	for _, l := range links {
		l.mu.Lock()
		if l.client != nil {
			n++
		}
		l.mu.Unlock()
	}
	return n
}
