package layers

import (
	"slices"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// gateways takes the virtual hosts that the layer above offers. Where that lists none,
// an upstream is bound by its list of hosts, so that no gateway is a way round it.
func (s *step) gateways(n, above *schema.Network) []schema.Gateway {
	if n.Gateways == nil {
		return s.absentGateways(n, above)
	}
	own := slices.Clone(n.Gateways)
	offered := map[string]int{}
	var names []string
	for j, g := range above.Gateways {
		offered[g.Name] = j
		names = append(names, g.Name)
	}
	refused := map[int]bool{}
	for i := range own {
		g, at := &own[i], index(atGateways, i)
		if s.deniedUpstream(at, g) {
			refused[i] = true
			continue
		}
		if above.Gateways == nil {
			if !s.upstream(at, g, above) {
				refused[i] = true
			}
			continue
		}
		j, ok := offered[g.Name]
		if !ok {
			s.refuse(CodeWidens, at+".name", atGateways, s.instead(atGateways, g.Name, names), "gateway %s is not offered by %s", clip(g.Name), shown(s.above(atGateways)))
			refused[i] = true
			continue
		}
		s.gateway(at, index(atGateways, j), g, &above.Gateways[j])
	}
	if len(refused) == 0 {
		return own
	}
	own = keep(s, atGateways, own, refused)
	switch {
	case len(own) > 0:
		return own
	case above.Gateways != nil:
		return inherit(s, atGateways, atGateways, above.Gateways)
	default:
		return nil // an empty list would be a finding of its own
	}
}

// absentGateways: a policy that reaches gateways alone, and names none, has the one of
// the host's configuration, if the layer above has it.
func (s *step) absentGateways(n, above *schema.Network) []schema.Gateway {
	switch {
	case above.Gateways == nil:
		return nil
	case !s.grants:
		return inherit(s, atGateways, atGateways, above.Gateways)
	case n.Mode != "gateway-only":
		return nil
	}
	for j, g := range above.Gateways {
		if g.Name == DefaultGateway {
			s.place(atGateways, atNetwork)
			return []schema.Gateway{inherit(s, index(atGateways, 0), index(atGateways, j), g)}
		}
	}
	s.refuse(CodeWidens, atNetwork+".mode", atGateways, "name the gateways of the agent in network.gateways",
		"without a list this is the gateway of the host's configuration, which is not offered by %s", shown(s.above(atGateways)))
	return inherit(s, atGateways, atGateways, above.Gateways)
}

// gateway puts a virtual host under the one of its name.
func (s *step) gateway(at, up string, own, above *schema.Gateway) {
	switch {
	case own.Upstream == "" && above.Upstream != "":
		own.Upstream = inherit(s, at+".upstream", up+".upstream", above.Upstream)
	case sameUpstream(own.Upstream, above.Upstream):
	case above.Upstream == "":
		s.refuse(CodeWidens, at+".upstream", up, "leave it out", "is set by the configuration of the host, as %s has it", shown(s.above(up)))
		own.Upstream, own.Addresses = "", nil
	default:
		s.refuse(CodeWidens, at+".upstream", up+".upstream", "leave it out", "is another upstream than at %s", shown(s.above(up+".upstream")))
		own.Upstream, own.Addresses = inherit(s, at+".upstream", up+".upstream", above.Upstream), nil
	}
	s.addresses(at+".addresses", up+".addresses", own, above.Addresses, s.above(up))
	switch own.Credential {
	case above.Credential:
	case "":
		own.Credential = inherit(s, at+".credential", up+".credential", above.Credential)
	default:
		s.refuse(CodeWidens, at+".credential", up, "leave it out", "is not the credential that %s gives it", shown(s.above(up)))
		own.Credential = above.Credential
	}
	own.Under = above.Under // a gateway above has one below it, which has its limits alone
	own.Methods = s.subset(at+".methods", up+".methods", own.Methods, above.Methods, true)
	own.Paths = s.requestPaths(at+".paths", up+".paths", own.Paths, above.Paths)
	if own.Headers != nil || above.Headers != nil { // none above allows none
		own.Headers = s.subset(at+".headers", up+".headers", own.Headers, slices.Concat([]string{}, above.Headers), true)
	}
	if above.Limits != nil {
		own.Limits = copied(own.Limits)
		for _, f := range entryLimits() {
			s.entryLimit(f, at+".limits", up+".limits", own.Limits, above.Limits)
		}
	}
	switch {
	case above.Expires == "":
	case own.Expires == "":
		own.Expires = inherit(s, at+".expires", up+".expires", above.Expires)
	case later(own.Expires, above.Expires):
		s.refuse(CodeWidens, at+".expires", up+".expires", "write "+above.Expires+" or sooner, or leave it out", "%s is later than %s at %s", own.Expires, above.Expires, shown(s.above(up+".expires")))
		own.Expires = inherit(s, at+".expires", up+".expires", above.Expires)
	}
	own.Powers = s.touches(at+".powers", up+".powers", own.Powers, above.Powers)
}

func sameUpstream(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := egress.ReadUpstream(a)
	y, errY := egress.ReadUpstream(b)
	return errX == nil && errY == nil && x == y
}

// addresses takes those that lie within one above; none above allows none.
func (s *step) addresses(path, up string, own *schema.Gateway, above []string, o schema.Origin) {
	if own.Addresses == nil {
		if above != nil {
			own.Addresses = inherit(s, path, up, above)
		}
		return
	}
	patterns := patternsOf(above)
	refused := map[int]bool{}
	for i, text := range own.Addresses {
		p, err := egress.ReadPattern(text)
		if err == nil && !slices.ContainsFunc(patterns, func(q egress.Pattern) bool { return q.Holds(p) }) {
			s.refuse(CodeWidens, index(path, i), up, s.instead(up, text, above), "%s is not allowed by %s", clip(text), shown(o))
			refused[i] = true
		}
	}
	own.Addresses = keep(s, path, own.Addresses, refused)
}

func patternsOf(list []string) (out []egress.Pattern) {
	for _, text := range list {
		if p, err := egress.ReadPattern(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// requestPaths takes paths of requests that lie below one above.
func (s *step) requestPaths(path, up string, own, above []string) []string {
	switch {
	case above == nil:
		return own
	case own == nil:
		return inherit(s, path, up, above)
	}
	refused := map[int]bool{}
	outside := outsideOf(above)
	for i, p := range own {
		if outside(p) {
			s.notAllowed(index(path, i), up, p, nil)
			refused[i] = true
		}
	}
	if len(own) > 0 && len(refused) == len(own) {
		schema.ForgetOrigins(s.child.Origins, path, own)
		return inherit(s, path, up, above)
	}
	return keep(s, path, own, refused)
}

// upstreamEntry is the upstream of a gateway as a host of a list.
func upstreamEntry(g *schema.Gateway) (Entry, egress.UpstreamURL, bool) {
	u, err := egress.ReadUpstream(g.Upstream)
	if err != nil {
		return Entry{}, u, false
	}
	e := ReadEntry(&schema.Egress{Host: u.Dest.Host(), Ports: []int{int(u.Dest.Port)}, Methods: g.Methods, Expires: g.Expires, Limits: g.Limits, Powers: g.Powers}, false)
	e.Gateway = true
	return e, u, e.Readable
}

// deniedUpstream reports a gateway to a host that a layer above denies.
func (s *step) deniedUpstream(at string, g *schema.Gateway) bool {
	e, u, ok := upstreamEntry(g)
	if !ok {
		return false
	}
	j := s.up.network.Deny.Whole(&e)
	if j >= 0 {
		s.denied(at+".upstream", index(atDeny, j), u.Dest.Host())
	}
	return j >= 0
}

// upstream holds a gateway to the hosts that the layer above lists, where it lists no
// gateways. False: none of them holds it.
func (s *step) upstream(at string, g *schema.Gateway, above *schema.Network) bool {
	e, u, ok := upstreamEntry(g)
	switch {
	case !ok:
		return true // the host's own, or nothing that is one
	case above.Mode == "gateway-only":
		s.refuse(CodeWidens, at+".upstream", atNetwork+".mode", "leave it out, or let "+s.owner(atNetwork+".mode")+" list the gateway",
			"the gateways are those of the host's configuration, as %s has it", shown(s.above(atNetwork+".mode")))
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
	allow := &s.up.network.Allow
	bounds := s.fit(at, at+".upstream", &e, allow, allow.Covering(&e))
	if bounds == nil {
		return false
	}
	g.Methods, g.Expires, g.Limits, g.Under = e.Methods, e.Expires, e.Limits, e.Under
	if g.Paths == nil && u.Prefix == "" {
		g.Paths = e.Paths
	}
	g.Powers = s.entryPowers(at+".powers", g.Powers, allow, bounds)
	refused := map[int]bool{}
	for i, text := range g.Addresses {
		other := ReadEntry(&schema.Egress{Host: text, Ports: e.Egress.Ports}, false)
		if other.Readable && !slices.ContainsFunc(allow.Covering(&other), func(j int) bool {
			return allow.List[j].Pattern.Holds(other.Pattern) && other.Within(&allow.List[j])
		}) {
			s.notAllowed(index(at+".addresses", i), atEgress, text, nil)
			refused[i] = true
		}
	}
	g.Addresses = keep(s, at+".addresses", g.Addresses, refused)
	return true
}
