package profiles

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// hostPattern is an entry of a list of hosts. Two of them are the same, apart,
// or one lies within the other.
type hostPattern struct {
	name  string       // of a host, or of the domain that a wildcard stands for
	wild  bool         // every name below it, at any depth, not itself
	block netip.Prefix // valid: addresses, and no name
}

// readPattern reads a host as the compiler writes it: lower case, no port.
func readPattern(text string) (hostPattern, error) {
	if block, err := netip.ParsePrefix(text); err == nil {
		if block != block.Masked() || block.Addr().Is4In6() || block.Addr().Zone() != "" {
			return hostPattern{}, errors.New("not a range in its usual form")
		}
		return hostPattern{block: block}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		if a.Zone() != "" || a.Is4In6() {
			return hostPattern{}, errors.New("not an address in its usual form")
		}
		return hostPattern{block: netip.PrefixFrom(a, a.BitLen())}, nil
	}
	name, wild := strings.CutPrefix(text, "*.")
	if name == "" || len(name) > 253 || wild && !strings.Contains(name, ".") {
		return hostPattern{}, errors.New("want a host, *. over a domain, an address or a range, without a port")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return hostPattern{}, errors.New("want a lower-case host, *. over a domain, an address or a range, without a port")
		}
	}
	return hostPattern{name: name, wild: wild}, nil
}

// covers reports whether every host of q is one of p.
func (p hostPattern) covers(q hostPattern) bool {
	switch {
	case p.block.IsValid() != q.block.IsValid():
		return false
	case p.block.IsValid():
		return p.block.Bits() <= q.block.Bits() && p.block.Contains(q.block.Addr())
	case p.wild:
		return strings.HasSuffix(q.name, "."+p.name) || q.wild && q.name == p.name
	default:
		return !q.wild && p.name == q.name
	}
}

// narrow keeps of the allowed hosts those that are listed. The virtual gateway
// is no host that a list can name, so a list takes it away.
func (e *Egress) narrow(hosts []string) error {
	var by []hostPattern
	for _, h := range hosts {
		p, err := readPattern(h)
		if err != nil {
			return err
		}
		by = append(by, p)
	}
	if e.Mode == EgressGatewayOnly {
		e.Mode = EgressOff
	}
	var kept []EgressRule
	for _, r := range e.Allow {
		whole, err := readPattern(r.Host)
		if err != nil {
			continue // the compiler writes no such rule
		}
		var inner []string
		for i, p := range by {
			switch {
			case p.covers(whole):
				inner = append(inner, r.Host)
			case whole.covers(p) && !single(whole, p):
				inner = append(inner, hosts[i])
			}
		}
		for _, host := range outermost(inner) {
			one := r
			one.Host = host
			kept = append(kept, one)
		}
	}
	e.Allow = kept
	return nil
}

// single reports whether inner would make a rule about one loopback address out
// of one about a range of them: only the first opens what it names.
func single(whole, inner hostPattern) bool {
	return inner.block.IsValid() && inner.block.Addr().IsLoopback() && whole.block.Bits() < inner.block.Bits()
}

// outermost drops the hosts that another one covers, and repeats.
func outermost(hosts []string) []string {
	type entry struct {
		text    string
		pattern hostPattern
	}
	var all []entry
	for _, h := range hosts {
		if p, err := readPattern(h); err == nil {
			all = append(all, entry{h, p})
		}
	}
	slices.SortFunc(all, func(x, y entry) int { return cmp.Compare(x.text, y.text) })
	all = slices.CompactFunc(all, func(x, y entry) bool { return x.pattern == y.pattern })
	var out []string
	for i, e := range all {
		if !slices.ContainsFunc(all, func(o entry) bool { return o.pattern != e.pattern && o.pattern.covers(e.pattern) }) {
			out = append(out, all[i].text)
		}
	}
	return out
}
