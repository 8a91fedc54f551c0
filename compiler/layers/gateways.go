package layers

import (
	"slices"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// mergeGateways keeps the virtual hosts that the layer above offers. If the layer above lists no gateways,
// the upstream of each gateway must be in the layer's list of hosts. Otherwise a gateway could bypass that
// list.
func mergeGateways(s *step, n, above *schema.Network, w site) {
	list := w.field("gateways")
	if n.Gateways == nil {
		n.Gateways = absentGateways(s, n, above, list)
		return
	}
	had := len(n.Gateways)
	name := func(g *schema.Gateway) string { return g.Name }
	own := mergeKeyed(s, list.own, n.Gateways, above.Gateways, name, func(g *schema.Gateway, i, j int,
		names []string) bool {
		at := index(list.own, i)
		switch {
		case deniedUpstream(s, at, g):
			return false
		case above.Gateways == nil:
			return underHosts(s, at, g, above)
		case j < 0:
			s.refuse(CodeWidens, site{at + ".name", list.above}, s.instead(list.above, g.Name, names),
				"gateway %s is not offered by %s", clip(g.Name), s.shown(list.above))
			return false
		}
		s.mergeStruct(g, &above.Gateways[j], list.item(i, j))
		return true
	})
	if n.Gateways = own; len(own) > 0 || had == 0 {
		return
	}
	if n.Gateways = nil; above.Gateways != nil { // an empty list would be a finding
		n.Gateways = inherit(s, list, above.Gateways)
	}
}

// absentGateways returns the gateways of a policy that has no list of gateways. In mode gateway-only, an
// agent gets the gateway of the host's configuration, if the layer above offers that gateway.
func absentGateways(s *step, n, above *schema.Network, w site) []schema.Gateway {
	switch {
	case above.Gateways == nil:
		return nil
	case !s.grants:
		return inherit(s, w, above.Gateways)
	case n.Mode != "gateway-only":
		return nil
	}
	for j, g := range above.Gateways {
		if g.Name == DefaultGateway {
			s.inheritOrigin(site{w.own, atNetwork})
			return []schema.Gateway{inherit(s, w.item(0, j), g)}
		}
	}
	s.refuse(CodeWidens, site{atNetwork + ".mode", w.above}, "name the gateways of the agent in network.gateways",
		"without a list this is the gateway of the host's configuration, which is not offered by %s", s.shown(w.above))
	return inherit(s, w, above.Gateways)
}

// mergeUpstream merges upstreams. The child gets the upstream of the layer above, and shares the limits of that
// layer (Under). If the child names another upstream, the addresses that it lists are dropped too.
func mergeUpstream(s *step, own, above *schema.Gateway, w site) {
	here := w.field("upstream")
	switch {
	case own.Upstream == "" && above.Upstream != "":
		own.Upstream = inherit(s, here, above.Upstream)
	case sameUpstream(own.Upstream, above.Upstream):
	case above.Upstream == "":
		s.refuse(CodeWidens, site{here.own, w.above}, "leave it out",
			"is set only by the configuration of the host, according to %s", s.shown(w.above))
		own.Upstream, own.Addresses = "", nil
	default:
		s.refuse(CodeWidens, here, "leave it out", "differs from the upstream at %s", s.shown(here.above))
		own.Upstream, own.Addresses = inherit(s, here, above.Upstream), nil
	}
	own.Under = above.Under // the child's gateway shares the limits of the gateway of the layer above
}

func mergeCredential(s *step, own, above *schema.Gateway, w site) {
	here := w.field("credential")
	switch own.Credential {
	case above.Credential:
	case "":
		own.Credential = inherit(s, here, above.Credential)
	default:
		s.refuse(CodeWidens, site{here.own, w.above}, "leave it out", "is not the credential that %s gives it",
			s.shown(w.above))
		own.Credential = above.Credential
	}
}

func mergeGatewayLimits(s *step, own, above *schema.Gateway, w site) {
	if above.Limits == nil {
		return
	}
	own.Limits = copied(own.Limits)
	for _, f := range entryLimits() {
		mergeEntryLimit(s, f, w.field("limits"), own.Limits, above.Limits)
	}
}

func sameUpstream(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := egress.ReadUpstream(a)
	y, errY := egress.ReadUpstream(b)
	return errX == nil && errY == nil && x == y
}

// mergeAddresses keeps the addresses that are within the addresses of the layer above. If the layer above has
// none, none is allowed.
func mergeAddresses(s *step, own, above *schema.Gateway, w site) {
	list := w.field("addresses")
	if own.Addresses == nil {
		if above.Addresses != nil {
			own.Addresses = inherit(s, list, above.Addresses)
		}
		return
	}
	patterns := patternsOf(above.Addresses)
	refused := map[int]bool{}
	for i, text := range own.Addresses {
		p, err := egress.ReadPattern(text)
		if err == nil && !slices.ContainsFunc(patterns, func(q egress.Pattern) bool { return q.Holds(p) }) {
			s.refuse(CodeWidens, site{index(list.own, i), list.above}, s.instead(list.above, text, above.Addresses),
				"%s is not allowed by %s", clip(text), s.shown(w.above))
			refused[i] = true
		}
	}
	own.Addresses = keep(s, list.own, own.Addresses, refused)
}

func patternsOf(list []string) (out []egress.Pattern) {
	for _, text := range list {
		if p, err := egress.ReadPattern(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// upstreamEntry returns the upstream of a gateway in the form of an entry of a list of hosts.
func upstreamEntry(g *schema.Gateway) (Entry, egress.UpstreamURL, bool) {
	u, err := egress.ReadUpstream(g.Upstream)
	if err != nil {
		return Entry{}, u, false
	}
	e := ReadEntry(&schema.Egress{Host: u.Dest.Host(), Ports: []int{int(u.Dest.Port)}, Methods: g.Methods,
		Expires: g.Expires, Limits: g.Limits, Powers: g.Powers}, false)
	e.Gateway = true
	return e, u, e.Readable
}

// deniedUpstream reports a gateway to a host that a layer above denies.
func deniedUpstream(s *step, at string, g *schema.Gateway) bool {
	e, u, ok := upstreamEntry(g)
	if !ok {
		return false
	}
	j := s.up.reach().Deny.Whole(&e)
	if j >= 0 {
		s.denied(site{at + ".upstream", index(atDeny, j)}, u.Dest.Host())
	}
	return j >= 0
}

// underHosts checks a gateway against the hosts of a layer above that lists no gateways. It returns false if
// no entry covers the upstream.
func underHosts(s *step, at string, g *schema.Gateway, above *schema.Network) bool {
	e, u, ok := upstreamEntry(g)
	switch {
	case !ok:
		return true // the upstream is the host's, or invalid
	case above.Mode == "gateway-only":
		here := site{at + ".upstream", atNetwork + ".mode"}
		s.refuse(CodeWidens, here, "leave it out, or let "+s.owner(here.above)+" list the gateway",
			"only the configuration of the host sets gateways, according to %s", s.shown(here.above))
		return false
	case above.Egress == nil:
		return true
	}
	for _, p := range g.Paths {
		e.Paths = append(e.Paths, u.Prefix+p)
	}
	if g.Paths == nil && u.Prefix != "" {
		e.Paths = []string{u.Prefix}
	}
	allow := &s.up.reach().Allow
	bounds := fit(s, at, at+".upstream", &e, allow)
	if bounds == nil {
		return false
	}
	g.Methods, g.Expires, g.Limits, g.Under = e.Methods, e.Expires, e.Limits, e.Under
	if g.Paths == nil && u.Prefix == "" {
		g.Paths = e.Paths
	}
	mergeEntryPowers(s, at, &g.Powers, allow, bounds)
	refused := map[int]bool{}
	for i, text := range g.Addresses {
		other := ReadEntry(&schema.Egress{Host: text, Ports: e.Egress.Ports}, false)
		if other.Readable && !slices.ContainsFunc(allow.Covering(&other), func(j int) bool {
			return allow.List[j].Pattern.Holds(other.Pattern) && other.Within(&allow.List[j])
		}) {
			s.notAllowed(site{index(at+".addresses", i), atEgress}, text, nil)
			refused[i] = true
		}
	}
	g.Addresses = keep(s, at+".addresses", g.Addresses, refused)
	return true
}
