package proxy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// capability is what a denial names.
const capability = "egress"

// refusal is a decision that no decider has made.
func refusal(code egress.Code, why string, instead ...string) profiles.Decision {
	return profiles.Decision{Code: profiles.Code(code), Reason: why, Instead: instead}
}

func denial(d profiles.Decision) *profiles.Denial {
	return &profiles.Denial{Capability: capability, Decision: d}
}

// match asks each decider for what covers a target. The decision is that of the
// first that refuses, or of the first. Nothing was looked up.
func (s standing) match(d egress.Dest, now time.Time) ([]egress.Match, profiles.Decision) {
	if len(s.deciders) == 0 {
		return nil, profiles.Decision{Code: profiles.CodeClosed, Reason: "no profile is in force"}
	}
	var first profiles.Decision
	matches := make([]egress.Match, len(s.deciders))
	for i, decider := range s.deciders {
		m, dec := decider.EgressMatch(d, now)
		switch dec.Verdict {
		case profiles.Allow:
		case profiles.Ask, profiles.Deny:
			return nil, dec
		default:
			return nil, dec
		}
		if matches[i] = m; i == 0 {
			first = dec
		}
	}
	return matches, first
}

// reads says whether the requests to a target have to be read. A virtual host is
// answered by who reads them.
func reads(matches []egress.Match) bool {
	return slices.ContainsFunc(matches, func(m egress.Match) bool { return m.Reads || m.Virtual != 0 })
}

func virtual(matches []egress.Match) bool {
	return slices.ContainsFunc(matches, func(m egress.Match) bool { return m.Virtual != 0 })
}

// request asks each decider for one request. Each of the matches becomes one of
// which the rule counts that grants it.
func (s standing) request(d egress.Dest, matches []egress.Match, method, path string, says egress.Saying, now time.Time) profiles.Decision {
	return s.each(func(i int, decider *profiles.Decider) (dec profiles.Decision) {
		matches[i], dec = decider.EgressRequest(d, matches[i], method, path, says, now)
		return dec
	})
}

// several reports whether more than one rule grants requests, each on its own: the
// next request may count against other limits than the last.
func several(matches []egress.Match) bool {
	return slices.ContainsFunc(matches, func(m egress.Match) bool { return m.Reads && len(m.Entries) > 1 })
}

// hello asks each decider for first bytes that are a ClientHello.
func (s standing) hello(d egress.Dest, matches []egress.Match, h clienthello.Hello, err error, now time.Time) profiles.Decision {
	return s.each(func(i int, decider *profiles.Decider) profiles.Decision {
		return decider.EgressHello(d, matches[i], h, err, now)
	})
}

// each gives the first decision that refuses, or the first.
func (s standing) each(ask func(int, *profiles.Decider) profiles.Decision) profiles.Decision {
	var first profiles.Decision
	for i, decider := range s.deciders {
		dec := ask(i, decider)
		if dec.Verdict != profiles.Allow {
			return dec
		}
		if i == 0 {
			first = dec
		}
	}
	return first
}

// guard keeps those of the answers that may be dialed for a claim.
func (s standing) guard(c claim, matches []egress.Match, answers []netip.Addr, now time.Time) ([]netip.Addr, profiles.Decision) {
	if c.via != nil {
		kept, r := c.via.list.Addresses(c.via.dest, c.via.match, answers, now)
		if r != nil {
			return nil, refusal(r.Code, r.Why, r.Instead...)
		}
		return kept, profiles.Decision{Verdict: profiles.Allow}
	}
	for i, decider := range s.deciders {
		kept, dec := decider.EgressAddresses(c.dest, matches[i], answers, now)
		if dec.Verdict != profiles.Allow {
			return nil, dec
		}
		answers = kept
	}
	return answers, profiles.Decision{Verdict: profiles.Allow}
}

// allows decides a whole claim again, without a lookup: everything that was found
// out since is part of it.
func (s standing) allows(c claim, own func(netip.AddrPort) bool, now time.Time) ([]egress.Match, profiles.Decision) {
	matches, dec := s.match(c.dest, now)
	if dec.Verdict != profiles.Allow {
		return nil, dec
	}
	if !c.reads && reads(matches) {
		return nil, opaque()
	}
	if c.via != nil {
		if dec := s.stands(c, matches); dec.Verdict != profiles.Allow {
			return nil, dec
		}
	}
	if c.method != "" {
		if dec = s.request(c.dest, matches, c.method, c.path, c.says, now); dec.Verdict != profiles.Allow {
			return nil, dec
		}
	}
	if c.pinned.IsValid() {
		kept, dec := s.guard(c, matches, []netip.Addr{c.pinned}, now)
		if dec.Verdict != profiles.Allow {
			return nil, dec
		}
		if !slices.Contains(kept, c.pinned) || own(netip.AddrPortFrom(c.pinned, c.target().Port)) {
			return nil, refusal(egress.Address, "no address of the host may be dialed any more")
		}
	}
	if c.hello {
		if dec := s.hello(c.dest, matches, clienthello.Hello{Name: c.sni, HasName: c.named, ECH: c.ech}, nil, now); dec.Verdict != profiles.Allow {
			return nil, dec
		}
	}
	return matches, dec
}

// stands refuses a virtual host that has come to stand for something else.
func (s standing) stands(c claim, matches []egress.Match) profiles.Decision {
	return s.each(func(i int, decider *profiles.Decider) profiles.Decision {
		g, ok := decider.Gateway(matches[i])
		if !ok || g.Upstream != c.via.text || !slices.Equal(g.Addresses, c.via.addresses) {
			return refusal(egress.Gateways, "the gateway stands for another upstream now")
		}
		return profiles.Decision{Verdict: profiles.Allow}
	})
}

// target is what is looked up and dialed.
func (c claim) target() egress.Dest {
	if c.via != nil {
		return c.via.dest
	}
	return c.dest
}

func opaque() profiles.Decision {
	return refusal(egress.Opaque, "the requests to this host are to be read, and this connection hides them")
}

// own reports whether an address is one of the daemon's.
func (e *Egress) own(a netip.AddrPort) bool { return ownAddresses(e.cfg.Own).Has(a) }
