package egress

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// class is the kind of an address. An address of the zero class is never dialed.
type class uint8

const (
	never    class = iota // not even if it is listed
	loopback              // must be listed as a single address, with its port
	special               // must be listed with its port, as a single address or in a range of the same special kind
	public
)

// metadata reports whether an address is a metadata service of a cloud, in addition to link-local addresses.
// Such services give out credentials.
func metadata(a netip.Addr) bool {
	if a.Is4() {
		switch a.As4() {
		case [4]byte{168, 63, 129, 16}, // Azure: WireServer
			[4]byte{192, 0, 0, 192},     // Oracle
			[4]byte{100, 100, 100, 200}: // Alibaba
			return true
		}
		return false
	}
	b := a.As16()
	switch {
	case b[0] == 0xfd && b[1] == 0 && b[2] == 0x0e && b[3] == 0xc2: // AWS: fd00:ec2::/32
		return true
	case a == netip.AddrFrom16([16]byte{0xfd, 0x20, 0, 0xce, 14: 0x02, 15: 0x54}), // Google: fd20:ce::254
		// Scaleway: fd00:42::42
		a == netip.AddrFrom16([16]byte{0xfd, 0, 0, 0x42, 15: 0x42}),
		// Oracle: fd00:c1::a9fe:a9fe
		a == netip.AddrFrom16([16]byte{0xfd, 0, 0, 0xc1, 12: 0xa9, 13: 0xfe, 14: 0xa9, 15: 0xfe}):
		return true
	}
	return false
}

// classify returns the class of an address and, for a special one, the range that makes it special. The
// special ranges are those of IANA, taken from package ssrf.
func classify(a netip.Addr) (class, netip.Prefix) {
	a = a.Unmap()
	switch {
	case !a.IsValid(), a.Zone() != "", a.IsUnspecified(), a.IsLinkLocalUnicast(), a.IsMulticast(), metadata(a):
		return never, netip.Prefix{}
	case a.IsLoopback():
		return loopback, netip.Prefix{}
	case a.Is4():
		return classify4(a)
	default:
		return classify6(a)
	}
}

func classify4(a netip.Addr) (class, netip.Prefix) {
	if b := a.As4(); b[0] == 0 || b[0] >= 240 {
		return never, netip.Prefix{}
	}
	for _, p := range ssrf.IPv4DeniedPrefixes {
		if p.Contains(a) {
			return special, p
		}
	}
	return public, netip.Prefix{}
}

func classify6(a netip.Addr) (class, netip.Prefix) {
	if inner, ok := translated(a); ok {
		return classifyTranslated(inner), netip.PrefixFrom(a, a.BitLen())
	}
	if tunnels(a.As16()) {
		return never, netip.Prefix{}
	}
	if ssrf.IPv6GlobalUnicast.Contains(a) {
		for _, p := range ssrf.IPv6DeniedPrefixes {
			if p.Contains(a) {
				return special, p
			}
		}
		return public, netip.Prefix{}
	}
	for _, p := range []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfc}), 7),        // unique local
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfe, 0xc0}), 10), // site-local
	} {
		if p.Contains(a) {
			return special, p
		}
	}
	p, _ := a.Prefix(16)
	return special, p
}

// classifyTranslated returns the strictest class of the IPv4 addresses that a translator may send to.
func classifyTranslated(inner []netip.Addr) class {
	c := public
	for i, v4 := range inner {
		k, _ := classify(v4)
		if k != public && (i == 0 || v4.As4()[0] != 0) { // after the first result, 0.0.0.0/8 is not an address
			c = min(c, k)
		}
	}
	if c == loopback { // the loopback of the translator, not of this host
		return never
	}
	return c
}

// tunnels reports whether an IPv6 address embeds an IPv4 address to which a router on the way may send a
// packet.
func tunnels(b [16]byte) bool {
	zero := func(from, to int) bool {
		for _, x := range b[from:to] {
			if x != 0 {
				return false
			}
		}
		return true
	}
	switch {
	case zero(0, 12), // IPv4-compatible
		zero(0, 8) && b[8] == 0xff && b[9] == 0xff && zero(10, 12),     // translated: ::ffff:0:a.b.c.d
		b[0] == 0x20 && b[1] == 0x02,                                   // 6to4
		b[0] == 0x20 && b[1] == 0x01 && zero(2, 4),                     // Teredo
		b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return true
	default:
		return false
	}
}

// translated returns the IPv4 addresses to which a translator may send a packet for a (NAT64, RFC 6052 and
// 8215). The well-known prefix has one position for the IPv4 address. The local prefix lets the operator
// choose among several positions, and all of them are returned. The first is that of a 96-bit prefix.
func translated(a netip.Addr) ([]netip.Addr, bool) {
	b := a.As16()
	if binary.BigEndian.Uint32(b[:]) != 0x0064ff9b {
		return nil, false
	}
	v4 := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	last := v4(12, 13, 14, 15)
	switch rest := binary.BigEndian.Uint64(b[4:]); {
	case rest == 0:
		return []netip.Addr{last}, true
	case rest>>48 == 1:
		return []netip.Addr{last, v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12)}, true
	default:
		return nil, false
	}
}

// Opens reports whether the range part allows more addresses as an entry of its own than as a part of the
// range whole. A loopback address must be listed as a single address. Other special addresses must be listed
// as single addresses, or in a range of their kind.
func Opens(part, whole netip.Prefix) bool {
	if part == whole || !part.IsValid() || !whole.IsValid() {
		return false
	}
	switch c, kind := classify(part.Addr()); c {
	case loopback:
		return part.IsSingleIP()
	case special:
		return part.Bits() >= kind.Bits() && whole.Bits() < kind.Bits()
	case never, public:
		// The part starts with an address that is never dialed, but may contain special ones. It may contain some
		// that whole does not allow only if whole is wider.
		return c == never && whole.Bits() < part.Bits()
	default:
		return true
	}
}

// ReadRanges reads addresses and ranges in their canonical form, for the upstream of a gateway.
func ReadRanges(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		p, err := readHost(text)
		if err == nil && !p.block.IsValid() {
			err = errors.New("a name where an address is wanted")
		}
		if err != nil {
			return nil, errors.New(quoted(text) + ": " + err.Error())
		}
		out = append(out, p.block)
	}
	return out, nil
}

// Upstream denies an address that may not be dialed for the upstream of a gateway: every address that is
// neither public nor listed for it.
func Upstream(a netip.Addr, listed []netip.Prefix) *Refusal {
	return guard(a, func(a netip.Addr, fits func(netip.Prefix, bool) bool) bool {
		for _, p := range listed {
			if p.Contains(a) && fits(p, true) {
				return true
			}
		}
		return false
	})
}

// guard denies an address because of its class. opened reports whether a list allows an address. fits reports
// whether a listed range can allow the address; port says whether the entry of the range names the port.
func guard(a netip.Addr, opened func(a netip.Addr, fits func(p netip.Prefix, port bool) bool) bool) *Refusal {
	a = a.Unmap()
	switch c, _ := classify(a); c {
	case public:
		return nil
	case loopback, special:
		if opens(a, opened) {
			return nil
		}
		if inner, ok := translated(a); ok && opensAll(inner, opened) {
			return nil
		}
		return refusal(Address, "it is no public address, and no entry lists the address itself with this port")
	case never:
		return refusal(Address, "what it stands for is never reached, listed or not")
	default:
		return refusal(Address, "what it stands for is never reached, listed or not")
	}
}

// opens reports whether a list allows one address that is not public.
func opens(a netip.Addr, opened func(netip.Addr, func(netip.Prefix, bool) bool) bool) bool {
	c, kind := classify(a)
	switch c {
	case loopback:
		return opened(a, func(p netip.Prefix, port bool) bool { return p.IsSingleIP() && port })
	case special:
		return opened(a, func(p netip.Prefix, _ bool) bool { return p.Bits() >= kind.Bits() })
	case never, public:
		return c == public
	default:
		return false
	}
}

// opensAll requires that all possible translations of an address are allowed.
func opensAll(inner []netip.Addr, opened func(netip.Addr, func(netip.Prefix, bool) bool) bool) bool {
	for i, v4 := range inner {
		if (i == 0 || v4.As4()[0] != 0) && !opens(v4, opened) {
			return false
		}
	}
	return true
}

// addresses returns the answers that may be dialed for d, in their order.
func (l *List) addresses(d Dest, m Match, answers []netip.Addr, now time.Time) ([]netip.Addr, *Refusal) {
	entry := -1
	if len(m.Entries) > 0 {
		entry = m.Entries[0]
	}
	if l == nil || m.Virtual != 0 || entry < 0 {
		return nil, refusal(Address, "no entry covers the target")
	}
	if d.Addr.IsValid() {
		if r := l.Dialable(netip.AddrPortFrom(d.Addr, d.Port), now); r != nil {
			if !r.Deny {
				r.Entry = entry
			}
			return nil, r
		}
		return []netip.Addr{d.Addr}, nil
	}
	if len(answers) == 0 {
		return nil, &Refusal{Code: NoAddress, Why: d.Name + " has no address", Entry: entry}
	}
	kept := make([]netip.Addr, 0, len(answers))
	for _, a := range answers {
		if l.Dialable(netip.AddrPortFrom(a, d.Port), now) == nil {
			kept = append(kept, a.Unmap())
		}
	}
	if len(kept) == 0 {
		return nil, &Refusal{Code: Address, Entry: entry,
			Why: "no address of " + d.Name +
				" may be dialed: it is not a public one, and no entry lists it with this port"}
	}
	return kept, nil
}

// Dialable denies an address that may never be dialed, whatever the name. addresses calls it for each answer
// too.
func (l *List) Dialable(a netip.AddrPort, now time.Time) *Refusal {
	if l == nil || l.mode == Closed || a.Port() == 0 {
		return refusal(Off, "there is no network")
	}
	addr := a.Addr().Unmap()
	if i := l.denied.covers(addr, a.Port(), l.deny); i >= 0 {
		return &Refusal{Code: Denied, Why: "the address is denied", Entry: i, Deny: true}
	}
	if inner, ok := translated(addr); ok {
		for _, v4 := range inner {
			if i := l.denied.covers(v4, a.Port(), l.deny); i >= 0 {
				return &Refusal{Code: Denied, Why: "the address is denied", Entry: i, Deny: true}
			}
		}
	}
	return guard(addr, func(a2 netip.Addr, fits func(netip.Prefix, bool) bool) bool {
		found := false
		l.allowed.addresses(a2, func(i int, p netip.Prefix) {
			e := &l.allow[i]
			found = found || e.on(a.Port()) && e.live(now) && fits(p, !e.AnyPort)
		})
		return found
	})
}
