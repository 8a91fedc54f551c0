package proxy

import (
	"errors"
	"net"
	"net/netip"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/dnsmsg"
)

// portOfNames is where names are asked for.
const portOfNames = 53

// ServeDNS answers queries that come by TCP, as ServeDNSPackets does those of
// packets.
func (g *Guest) ServeDNS(l net.Listener, ipv6 bool) error {
	return g.serve(l, func(c *client) {
		serveStream(c.conn, func(query []byte) []byte { return g.answer(query, ipv6) })
	})
}

// ServeDNSPackets answers the queries of a guest: a name that some rule lists has
// an address that stands for it, every other one does not exist. Nothing is looked
// up, so nothing is told to anybody; the lookup comes with a connection to that
// address. Only where ipv6 is set names have addresses of it. Each answer comes
// from the address that was asked, whichever it is. The socket is the guest's from
// now on; ServeDNSPackets returns at once, and Close of the guest ends it.
func (g *Guest) ServeDNSPackets(conn net.PacketConn, ipv6 bool) error {
	p, err := newQueryPackets(conn)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.Join(ErrClosed, p.Close())
	}
	g.doors[p] = struct{}{}
	g.work.Add(1)
	g.egress.cfg.Go(func() {
		defer g.work.Done()
		defer func() { _ = p.Close() }()
		p.Serve(func(query []byte) []byte { return g.answer(query, ipv6) }, g.patient)
	})
	return nil
}

func (g *Guest) answer(query []byte, ipv6 bool) []byte {
	return dnsmsg.Answer(query, func(name string) (v4, v6 netip.Addr, ok bool) {
		d, why := egress.ParseHost(name, portOfNames)
		if why != nil || d.Name == "" || !g.Listed(d.Name) {
			_ = g.refuse(Event{Door: DoorDNS, Dest: egress.Dest{Name: name, Port: portOfNames}, Decision: g.unlisted(d, why)})
			return v4, v6, false
		}
		v4, v6 = g.names.Address(d.Name)
		if !ipv6 {
			v6 = netip.Addr{}
		}
		return v4, v6, true
	})
}

// unlisted says why a name has no address.
func (g *Guest) unlisted(d egress.Dest, why *egress.Refusal) profiles.Decision {
	if why != nil {
		return refusal(why.Code, why.Why, why.Instead...)
	}
	if _, dec := g.standing().match(d, g.egress.cfg.Now()); d.Name != "" && dec.Verdict != profiles.Allow {
		return dec
	}
	return refusal(egress.NotGranted, "no rule covers the name")
}
