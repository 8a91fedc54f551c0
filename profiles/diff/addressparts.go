package diff

import (
	"net/netip"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Together reports whether the entries parts, which are for parts of an address range, together allow
// everything that the entry r for the whole range allows. A part of a range that is listed by itself allows
// at least what the same part allows within the range. But limits that are not shared may add up to more.
func Together(parts []profiles.EgressRule, r *profiles.EgressRule, deny bool) bool {
	whole := prefix(r.Host)
	if !whole.IsValid() || limited(r) {
		return false
	}
	var list []netip.Prefix
	for i := range parts {
		o := &parts[i]
		part := prefix(o.Host)
		if !part.IsValid() || part.Bits() < whole.Bits() || !whole.Contains(part.Addr()) || limited(o) {
			continue
		}
		same := *o
		same.Host = r.Host
		if sameOrMore(&same, r, deny) {
			list = append(list, part.Masked())
		}
	}
	return filled(whole.Masked(), list)
}

func limited(r *profiles.EgressRule) bool {
	return r.Limits != (profiles.EgressLimits{}) || len(r.Under) > 0 || r.Of != ""
}

// filled reports whether prefixes inside of whole cover whole completely. Each step looks at the prefixes in
// one half of whole, and ends when that half has none.
func filled(whole netip.Prefix, parts []netip.Prefix) bool {
	var inside []netip.Prefix
	for _, p := range parts {
		switch {
		case p.Bits() <= whole.Bits() && p.Contains(whole.Addr()):
			return true
		case whole.Contains(p.Addr()):
			inside = append(inside, p)
		}
	}
	if len(inside) < 2 || whole.IsSingleIP() {
		return false
	}
	low, high := halves(whole)
	return filled(low, inside) && filled(high, inside)
}

// halves returns the two halves of a prefix.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	low = netip.PrefixFrom(p.Addr(), p.Bits()+1)
	b := p.Addr().AsSlice()
	b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	a, _ := netip.AddrFromSlice(b) // b has the length of an address
	return low, netip.PrefixFrom(a, p.Bits()+1)
}

// Within reports whether the names or addresses of one entry are a proper part of another's.
func Within(part, whole string) bool {
	if suffix, is := strings.CutPrefix(whole, "*"); is {
		return part != whole && strings.HasSuffix(part, suffix)
	}
	p, w := prefix(part), prefix(whole)
	return p.IsValid() && w.IsValid() && p.Bits() > w.Bits() && w.Contains(p.Addr())
}
