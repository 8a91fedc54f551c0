package proxy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// deciders are the deciders of a holder at one moment.
type deciders struct {
	list       []*profiles.Decider
	generation int64
}

func (g *Guest) deciders() deciders {
	var d deciders
	if g.holder.Generation != nil {
		d.generation = g.holder.Generation()
	}
	if g.holder.Deciders != nil {
		d.list = g.holder.Deciders()
	}
	return d
}

func (d deciders) same(o deciders) bool { return slices.Equal(d.list, o.list) }

// connect decides on a target, before its name is looked up.
func (d deciders) connect(to egress.Dest, now time.Time) profiles.Connection {
	return profiles.Connect(to, now, d.list...)
}

// request is everything about a connection that a policy must allow.
type request struct {
	dest      egress.Dest
	via       *upstream  // for a virtual host
	pinned    netip.Addr // set once it is dialed
	reads     bool       // its requests are read
	method    string     // of the request in flight; empty: none
	path      string
	overrides egress.Overrides
	hello     bool // the first bytes were a ClientHello, with:
	sni       string
	named     bool
	ech       bool
}

// decide decides a request in the order of the connection's life, up to its current state. It makes no
// lookup: everything known since the connection began is part of the request. So a new connection, its
// ClientHello and a policy change are all decided in the same way.
func (d deciders) decide(q request, own func(netip.AddrPort) bool, now time.Time) profiles.Connection {
	c := d.connect(q.dest, now)
	if !q.reads && c.Reads() {
		return c.Deny(opaque())
	}
	if q.via != nil {
		c = q.via.unchanged(c)
	}
	if q.method != "" {
		c = c.Request(q.method, q.path, q.overrides, now)
	}
	if q.pinned.IsValid() {
		c = q.decidePinned(c, own, now)
	}
	if q.hello {
		c = c.Hello(clienthello.Hello{Name: q.sni, HasName: q.named, ECH: q.ech}, nil, now)
	}
	return c
}

// decidePinned decides on the dialed address of the connection.
func (q request) decidePinned(c profiles.Connection, own func(netip.AddrPort) bool, now time.Time) profiles.Connection {
	kept, c := q.addresses(c, []netip.Addr{q.pinned}, now)
	if c.Allowed() && (!slices.Contains(kept, q.pinned) || own(netip.AddrPortFrom(q.pinned, q.target().Port))) {
		return c.Deny(refusal(egress.Address, "no address of the host is allowed any more"))
	}
	return c
}

// addresses keeps the resolved addresses that may be dialed for a request. For a virtual host the list of its
// upstream decides.
func (q request) addresses(c profiles.Connection, answers []netip.Addr, now time.Time) (
	[]netip.Addr, profiles.Connection) {
	if q.via == nil {
		c = c.Addresses(answers, now)
		return c.Dial(), c
	}
	if !c.Allowed() {
		return nil, c
	}
	up := q.via.decision.Addresses(answers, now)
	if r := up.Refusal(); r != nil {
		return nil, c.Deny(unreadDenial(r))
	}
	return up.Dial(), c
}

// dialable decides on the address of a socket just before it connects.
func (q request) dialable(c profiles.Connection, at netip.AddrPort, now time.Time) profiles.Decision {
	if q.via == nil {
		return c.Dialable(at, now)
	}
	if r := q.via.decision.Dialable(at, now); r != nil {
		return unreadDenial(r)
	}
	return c.Decision()
}

// target returns the destination to resolve and dial.
func (q request) target() egress.Dest {
	if q.via != nil {
		return q.via.dest
	}
	return q.dest
}

// unchanged denies a virtual host whose upstream has changed.
func (u *upstream) unchanged(c profiles.Connection) profiles.Connection {
	for _, g := range c.Rules() {
		if g == nil || g.Upstream != u.text || !slices.Equal(g.Addresses, u.addresses) {
			return c.Deny(refusal(egress.Gateways, "the gateway has another upstream now"))
		}
	}
	return c
}

// guards decide on the addresses of a target. Each denies independently of the other.
type guards struct {
	answers answersGuard
	socket  socketGuard
}

// answersGuard returns the resolved addresses that may be dialed, at most maxCandidates. If there is none,
// the Connection is denied.
type answersGuard func(e *Egress, q request, c profiles.Connection, answers []netip.Addr, now time.Time) (
	[]netip.AddrPort, profiles.Connection)

// socketGuard returns an error if a socket may not connect to an address.
type socketGuard func(e *Egress, q request, c profiles.Connection, at netip.AddrPort) error

// guardAnswers is the first guard: it decides on the resolved addresses.
func (e *Egress) guardAnswers(q request, c profiles.Connection, answers []netip.Addr, now time.Time) (
	[]netip.AddrPort, profiles.Connection) {
	kept, c := q.addresses(c, answers, now)
	if !c.Allowed() {
		return nil, c
	}
	out := make([]netip.AddrPort, 0, min(len(kept), maxCandidates))
	for _, a := range kept {
		if at := netip.AddrPortFrom(a.Unmap(), q.target().Port); len(out) < maxCandidates && !e.own(at) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		return nil, c.Deny(refusal(egress.Address, "no address of the host is allowed"))
	}
	return out, c
}

// guardSocket is the second guard. It decides only on the address and the port, regardless of the first
// guard.
func (e *Egress) guardSocket(q request, c profiles.Connection, at netip.AddrPort) error {
	if e.own(at) {
		return denial(refusal(egress.Address, "no address of the host is allowed"))
	}
	if dec := q.dialable(c, at, e.cfg.Now()); dec.Verdict != profiles.Allow {
		return denial(dec)
	}
	return nil
}

// own reports whether an address is the daemon's.
func (e *Egress) own(a netip.AddrPort) bool { return ownAddresses(e.cfg.Own).Has(a) }

// capability is the capability in denials.
const capability = "egress"

func denial(d profiles.Decision) *profiles.Denial {
	return &profiles.Denial{Capability: capability, Decision: d}
}

// refusal returns a denial that no decider made.
func refusal(code egress.Code, why string, instead ...string) profiles.Decision {
	return profiles.Decision{Code: profiles.Code(code), Reason: why, Instead: instead}
}

// unreadDenial returns the denial for a target or a request that could not be read.
func unreadDenial(r *egress.Refusal) profiles.Decision { return refusal(r.Code, r.Why, r.Instead...) }

func opaque() profiles.Decision {
	return refusal(egress.Opaque, "the policy limits the requests to this host, and this connection hides them")
}
