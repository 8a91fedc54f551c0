package proxy

import (
	"errors"
	"net"
	"net/netip"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/dnsmsg"
)

// dnsPort is the port of DNS queries.
const dnsPort = 53

// ServeDNS answers DNS queries over TCP, like ServeDNSPackets over UDP.
func (g *Guest) ServeDNS(l net.Listener, ipv6 bool) error {
	return g.serve(l, func(c *client) {
		serveStream(c.conn, func(query []byte) []byte { return g.answer(query, ipv6) })
	})
}

// ServeDNSPackets answers the DNS queries of a guest. A name that some rule lists gets a synthetic address.
// Every other name does not exist. No query leaves the host: the real lookup happens when the guest connects
// to the address. Names have IPv6 addresses only if ipv6 is true. Each answer comes from the address to which
// the query was sent. The guest owns the socket from now on. ServeDNSPackets returns at once; [Guest.Close]
// ends it.
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
	g.listeners[p] = struct{}{}
	g.work.Add(1)
	g.egress.cfg.Go(func() {
		defer g.work.Done()
		defer func() { _ = p.Close() }()
		p.Serve(func(query []byte) []byte { return g.answer(query, ipv6) }, g.pauseRead)
	})
	return nil
}

func (g *Guest) answer(query []byte, ipv6 bool) []byte {
	return dnsmsg.Answer(query, func(name string) (v4, v6 netip.Addr, ok bool) {
		d, why := egress.ParseHost(name, dnsPort)
		if why != nil || d.Name == "" || !g.Listed(d.Name) {
			ev := Event{Listener: ListenerDNS, Dest: egress.Dest{Name: name, Port: dnsPort},
				Decision: g.unlisted(d, why)}
			_ = g.journal.refuse(ev)
			return v4, v6, false
		}
		v4, v6 = g.names.Address(d.Name)
		if !ipv6 {
			v6 = netip.Addr{}
		}
		return v4, v6, true
	})
}

// unlisted returns the denial for a name that gets no address.
func (g *Guest) unlisted(d egress.Dest, why *egress.Refusal) profiles.Decision {
	if why != nil {
		return unreadDenial(why)
	}
	if c := g.deciders().connect(d, g.egress.cfg.Now()); d.Name != "" && !c.Allowed() {
		return c.Decision()
	}
	return refusal(egress.NotGranted, "no rule covers the name")
}
