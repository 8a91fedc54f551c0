package egress

import (
	"net/netip"
	"time"

	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// Decision is what a list decides about one connection. It is refined step by step, in the
// order of the connection's life:
//
//	d := list.Decide(target, now)          // before the name is looked up
//	d = d.Addresses(answers, now)          // after the one lookup, before there is a socket
//	r := d.Dialable(address, now)          // each socket, as it is about to connect
//	d = d.Hello(hello, err, now)           // before a byte is forwarded, on port 443
//	d = d.Request(method, path, says, now) // each request that is read, before it is sent on
//
// A step returns a new Decision and leaves its receiver as it is: each request of a
// connection is decided from the Decision of the connection. A step on a denied Decision
// returns it unchanged, so no step turns a denial into a grant. Each step takes the time, as
// an entry may expire between two of them. The zero Decision denies.
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

// DecideName decides on a name without a port, which is when a guest may get an address that
// stands for it. The Decision cannot be dialed.
func (l *List) DecideName(name string, now time.Time) Decision {
	m, r := l.matchName(name, now)
	return Decision{list: l, target: Dest{Name: name}}.next(m, r)
}

// Addresses decides which answers for the name may be dialed and keeps their order. For a
// target that is an address, the answers do not count. The refusal is NoAddress without
// any answer and Address if none may be dialed. It does not name the answers.
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

// Dialable refuses an address that is about to be dialed, whatever led to it: it looks at
// the address and its port alone. It stands behind Addresses and does not replace it.
func (d Decision) Dialable(at netip.AddrPort, now time.Time) *Refusal {
	if !d.granted {
		return d.Refusal()
	}
	return d.list.Dialable(at, now)
}

// Hello decides on the first bytes of a connection, which are held back until then if
// [Inspected] says so. err is that of the package clienthello; any error refuses.
func (d Decision) Hello(h clienthello.Hello, err error, now time.Time) Decision {
	if !d.granted {
		return d
	}
	return d.next(d.match, d.list.hello(d.target, d.match, h, err, now))
}

// Request decides one request that was read on the connection. Of the entries that cover
// the connection, the one that grants the request comes first in Match.
func (d Decision) Request(method, path string, says Saying, now time.Time) Decision {
	if !d.granted {
		return d
	}
	return d.next(d.list.request(d.target, d.match, method, path, says, now))
}

// next is the Decision after a step: m covers the connection now, or r refuses it.
func (d Decision) next(m Match, r *Refusal) Decision {
	if r != nil {
		return Decision{list: d.list, target: d.target, refusal: r}
	}
	d.match, d.granted = m, true
	return d
}

// Allowed reports whether every step so far has allowed the connection.
func (d Decision) Allowed() bool { return d.granted }

// Refusal says why the connection is denied; nil if it is allowed.
func (d Decision) Refusal() *Refusal {
	if d.granted || d.refusal != nil {
		return d.refusal
	}
	return refusal(NotGranted, "nothing covers the target")
}

// Target is what was decided on.
func (d Decision) Target() Dest { return d.target }

// Match is what covers the connection. The Match of a denied Decision covers nothing.
func (d Decision) Match() Match { return d.match }

// Dial lists the addresses that Addresses kept.
func (d Decision) Dial() []netip.Addr { return d.addresses }
