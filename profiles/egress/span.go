package egress

import (
	"encoding/hex"
	"net/netip"
	"slices"
)

// Span returns the first and last address of an address or a CIDR range as lower-case hex. ok is false for a
// name.
func Span(text string) (from, to string, ok bool) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return "", "", false
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	first := p.Masked().Addr().AsSlice()
	last := slices.Clone(first)
	for i := p.Bits(); i < len(last)*8; i++ {
		last[i/8] |= 1 << (7 - i%8)
	}
	return hex.EncodeToString(first), hex.EncodeToString(last), true
}
