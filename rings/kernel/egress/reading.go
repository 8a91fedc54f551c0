package egress

import (
	"github.com/ringd/ringd/profiles/egress"
)

// read serves a client whose requests are read: of a proxy, or of a tunnel to a
// target. It is true when the client's next request, which is in its buffer, asks
// for a tunnel.
func (g *Guest) read(c *client, door string, d egress.Dest) (connect bool) {
	c.refuse(g.refuse(Event{Door: door, Dest: d, Decision: refusal(egress.Opaque, "requests cannot be read by this door")}))
	return false
}
