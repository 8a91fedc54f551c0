package proxy

import (
	"net"
	"net/netip"

	"github.com/ringd/ringd/profiles/egress"
)

// ServeTransparent accepts the connections of programs that use no proxy. In the network of the listener
// every address is local, so the local address of a connection is its target. A synthetic address stands for
// its name; any other address for itself. A denied connection is reset. The guest owns the listener from now
// on. ServeTransparent returns at once; [Guest.Close] ends it.
func (g *Guest) ServeTransparent(l net.Listener) error { return g.serve(l, (*client).transparent) }

func (c *client) transparent() {
	d, why := c.guest.transparentTarget(c.conn.LocalAddr())
	if why != nil {
		_ = c.guest.journal.refuse(Event{Listener: ListenerTransparent, Dest: d, Decision: unreadDenial(why)})
		resetConn(c.conn)
		return
	}
	denied := false
	c.tunnel(ListenerTransparent, d, func(err error) []byte {
		denied = err != nil
		return nil // the program gets no byte before its target sends one
	})
	if denied {
		resetConn(c.conn)
	}
}

// transparentTarget returns the target of a connection by its local address.
func (g *Guest) transparentTarget(local net.Addr) (egress.Dest, *egress.Refusal) {
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return egress.Dest{}, &egress.Refusal{Code: egress.Target, Why: "the address of the connection cannot be read",
			Entry: -1}
	}
	d := egress.Dest{Addr: at.Addr().Unmap().WithZone(""), Port: at.Port()}
	switch name, fake := g.names.Name(d.Addr); {
	case name != "":
		return egress.ParseHost(name, d.Port)
	case fake:
		return d, &egress.Refusal{Code: egress.NotGranted, Why: "the address belongs to no name that was looked up",
			Entry: -1}
	default:
		return d, nil
	}
}
