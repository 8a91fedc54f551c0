package egress

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// Pattern is the host of an entry. Two patterns are equal, or disjoint, or one of them contains the other.
type Pattern struct {
	name  string       // the host, or the domain of a wildcard
	wild  bool         // a wildcard: every name below name at any depth, not name itself
	block netip.Prefix // if valid, the pattern is a range of addresses
	text  string
}

// errForm is the error for an invalid entry.
var errForm = errors.New("want a lower-case host, *. over a domain, an address or a range, without a port")

// ReadPattern reads an entry in the compiler's form: lower case, without a port.
func ReadPattern(text string) (Pattern, error) {
	if block, err := netip.ParsePrefix(text); err == nil {
		if block != block.Masked() || block.Addr().Is4In6() {
			return Pattern{}, errForm
		}
		return Pattern{block: block, text: text}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		if a.Zone() != "" || a.Is4In6() {
			return Pattern{}, errForm
		}
		return Pattern{block: netip.PrefixFrom(a, a.BitLen()), text: text}, nil
	}
	if e, err := ReadEntry(text); err != nil || e.Host != text {
		return Pattern{}, errForm
	}
	name, wild := strings.CutPrefix(text, "*.")
	return Pattern{name: name, wild: wild, text: text}, nil
}

// PatternOf returns the pattern of a parsed entry.
func PatternOf(e Entry) (Pattern, error) {
	if name, wild := strings.CutPrefix(e.Host, "*."); wild || e.Host != "" && !strings.ContainsAny(e.Host, ":/") &&
		!digit(e.Host[len(e.Host)-1]) {
		return Pattern{name: name, wild: wild, text: e.Host}, nil
	}
	return ReadPattern(e.Host)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// Covers reports whether p contains every host of q.
func (p Pattern) Covers(q Pattern) bool {
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

// Holds reports whether p allows everything that q allows: p covers q, and as an entry of its own q allows no
// address that p does not allow. Addresses that are not public are allowed only if they are listed as such.
func (p Pattern) Holds(q Pattern) bool {
	return p.Covers(q) && (q.Covers(p) || !q.opens(p))
}

// PatternIndex finds the patterns that cover another one. The zero PatternIndex is empty.
type PatternIndex struct {
	exact, below map[string][]int
	blocks       map[netip.Prefix][]int
	bits         []int // lengths of the blocks that exist
}

// NewPatternIndex indexes patterns by their position in the list.
func NewPatternIndex(patterns []Pattern) PatternIndex {
	x := PatternIndex{exact: map[string][]int{}, below: map[string][]int{}, blocks: map[netip.Prefix][]int{}}
	for i, p := range patterns {
		switch {
		case p.block.IsValid():
			x.blocks[p.block] = append(x.blocks[p.block], i)
			if bits := p.block.Bits(); !slices.Contains(x.bits, bits) {
				x.bits = append(x.bits, bits)
			}
		case p.wild:
			x.below[p.name] = append(x.below[p.name], i)
		default:
			x.exact[p.name] = append(x.exact[p.name], i)
		}
	}
	return x
}

// Covering returns the positions of the patterns that cover p, sorted.
func (x PatternIndex) Covering(p Pattern) []int {
	var out []int
	if p.block.IsValid() {
		for _, bits := range x.bits {
			if bits > p.block.Bits() {
				continue
			}
			if block, err := p.block.Addr().Prefix(bits); err == nil {
				out = append(out, x.blocks[block]...)
			}
		}
		slices.Sort(out)
		return out
	}
	if p.wild {
		out = append(out, x.below[p.name]...)
	} else {
		out = append(out, x.exact[p.name]...)
	}
	for rest := p.name; ; {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			slices.Sort(out)
			return out
		}
		rest = after
		out = append(out, x.below[rest]...)
	}
}

// Within returns entries for the hosts that are both in p and in one of the patterns only, sorted. No entry
// of the result covers another one.
func (p Pattern) Within(only []Pattern) []string {
	var inner []Pattern
	for _, o := range only {
		switch {
		case o.Covers(p):
			inner = append(inner, p)
		case p.Covers(o) && !o.opens(p):
			inner = append(inner, o)
		}
	}
	slices.SortFunc(inner, func(x, y Pattern) int { return cmp.Compare(x.text, y.text) })
	var out []string
	for i, x := range inner {
		covered := slices.ContainsFunc(inner[:i], func(y Pattern) bool { return y.Covers(x) }) ||
			slices.ContainsFunc(inner[i+1:], func(y Pattern) bool { return y.Covers(x) && !x.Covers(y) })
		if !covered {
			out = append(out, x.text)
		}
	}
	return out
}

// opens reports whether p allows more addresses as an entry of its own than as a part of whole. Addresses
// that are not public are allowed only if they are listed as such.
func (p Pattern) opens(whole Pattern) bool {
	return p.block.IsValid() && Opens(p.block, whole.block)
}
