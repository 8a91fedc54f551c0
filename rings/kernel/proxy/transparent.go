package proxy

import (
	"net"
	"net/netip"

	"github.com/ringd/ringd/profiles/egress"
)

// ServeTransparent takes the connections of programs that know no proxy: the
// listener is one of a network in which every address is local, and the local
// address of a connection is where it was meant to go. One that stands for a name
// is that name, any other one is itself. What is refused is reset. The listener is
// the guest's from now on; ServeTransparent returns at once, and Close of the guest
// ends it.
func (g *Guest) ServeTransparent(l net.Listener) error { return g.serve(l, g.transparent) }

func (g *Guest) transparent(c *client) {
	d, why := g.meant(c.conn.LocalAddr())
	if why != nil {
		_ = g.refuse(Event{Door: DoorTransparent, Dest: d, Decision: refusal(why.Code, why.Why, why.Instead...)})
		resetConn(c.conn)
		return
	}
	refused := false
	g.tunnel(c, DoorTransparent, d, func(err error) []byte {
		refused = err != nil
		return nil // nobody speaks to the program before its target does
	})
	if refused {
		resetConn(c.conn)
	}
}

// meant is where a connection was to go that arrived at a local address.
func (g *Guest) meant(local net.Addr) (egress.Dest, *egress.Refusal) {
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return egress.Dest{}, &egress.Refusal{Code: egress.Target, Why: "the address of the connection cannot be read", Entry: -1}
	}
	d := egress.Dest{Addr: at.Addr().Unmap().WithZone(""), Port: at.Port()}
	switch name, fake := g.names.Name(d.Addr); {
	case name != "":
		return egress.ParseHost(name, d.Port)
	case fake:
		return d, &egress.Refusal{Code: egress.NotGranted, Why: "the address stands for no name that was asked for", Entry: -1}
	default:
		return d, nil
	}
}
