package egress

import (
	"net/netip"
	"time"

	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// Decision is the decision of a list on one connection. It is refined step by step, in the
// order of the connection's life:
//
//	d := list.Decide(target, now)          // before the name is looked up
//	d = d.Addresses(answers, now)          // after the one lookup, before there is a socket
//	r := d.Dialable(address, now)          // for each socket, just before it connects
//	d = d.Hello(hello, err, now)           // on port 443, before a byte is forwarded
//	d = d.Request(method, path, overrides, now) // for each request that is read, before it is forwarded
//
// A step returns a new Decision and does not change its receiver: each request of a
// connection is decided from the Decision of the connection. A step on a denied Decision
// returns it unchanged, so no step turns a denial into a grant. Each step takes the time,
// since an entry may expire between two of them. The zero Decision denies.
type Decision struct {
	list      *List
	target    Dest
	match     Match
	addresses []netip.Addr
	granted   bool
	refusal   *Refusal
}

// Decide decides on a target: which entries, or which virtual host, cover it.
func (l *List) Decide(target Dest, now time.Time) Decision {
	m, r := l.match(target, now)
	return Decision{list: l, target: target}.next(m, r)
}

// DecideName decides whether the guest may get a synthetic address for a name, on any port. The Decision
// cannot be dialed.
func (l *List) DecideName(name string, now time.Time) Decision {
	m, r := l.matchName(name, now)
	return Decision{list: l, target: Dest{Name: name}}.next(m, r)
}

// Addresses decides which answers for the name may be dialed. It keeps their order. If the target is an
// address, the answers are ignored. If there are no answers, the code of the denial is NoAddress. If none of
// the answers may be dialed, the code is Address. The denial does not contain the answers.
func (d Decision) Addresses(answers []netip.Addr, now time.Time) Decision {
	if !d.granted {
		return d
	}
	kept, r := d.list.addresses(d.target, d.match, answers, now)
	next := d.next(d.match, r)
	if next.granted {
		next.addresses = kept
	}
	return next
}

// Dialable decides on an address just before it is dialed, however the address was found. It checks only the
// address and the port. It is a second check, and Addresses must still be called.
func (d Decision) Dialable(at netip.AddrPort, now time.Time) *Refusal {
	if !d.granted {
		return d.Refusal()
	}
	return d.list.Dialable(at, now)
}

// Hello decides on the first bytes of a connection. If [Inspected] is true, these bytes are held back until
// then. err is the error of package clienthello. Any error denies.
func (d Decision) Hello(h clienthello.Hello, err error, now time.Time) Decision {
	if !d.granted {
		return d
	}
	return d.next(d.match, d.list.hello(d.target, d.match, h, err, now))
}

// Request decides one request that was read on the connection. The entry that grants the request comes first
// in Match.
func (d Decision) Request(method, path string, overrides Overrides, now time.Time) Decision {
	if !d.granted {
		return d
	}
	return d.next(d.list.request(d.target, d.match, method, path, overrides, now))
}

// next returns the Decision after a step: m covers the connection now, or r denies it.
func (d Decision) next(m Match, r *Refusal) Decision {
	if r != nil {
		return Decision{list: d.list, target: d.target, refusal: r}
	}
	d.match, d.granted = m, true
	return d
}

// Allowed reports whether all steps so far have allowed the connection.
func (d Decision) Allowed() bool { return d.granted }

// Refusal returns the reason of a denial, or nil if the connection is allowed.
func (d Decision) Refusal() *Refusal {
	if d.granted || d.refusal != nil {
		return d.refusal
	}
	return refusal(NotGranted, "no entry covers the target")
}

// Target returns the target of the connection.
func (d Decision) Target() Dest { return d.target }

// Match returns the entries or the virtual host that cover the connection. The Match of a denied Decision is
// empty.
func (d Decision) Match() Match { return d.match }

// Dial returns the addresses that Addresses kept.
func (d Decision) Dial() []netip.Addr { return d.addresses }
