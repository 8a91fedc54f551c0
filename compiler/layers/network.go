package layers

import (
	"slices"

	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

// DefaultGateway is the gateway of a policy that reaches gateways alone and names none.
const DefaultGateway = "gateway"

const (
	atNetwork  = "spec.network"
	atEgress   = atNetwork + ".egress"
	atDeny     = atNetwork + ".deny"
	atGateways = atNetwork + ".gateways"
)

// networkOf puts the network under the ceiling.
func (s *step) networkOf(own, above *schema.Spec) {
	up := above.Network
	if up == nil || own.Network == nil && s.grants {
		return
	}
	s.place(atNetwork, atNetwork)
	own.Network = copied(own.Network)
	n := own.Network
	if n.Mode != "" || !s.grants {
		s.word(atNetwork+".mode", atNetwork+".mode", &n.Mode, up.Mode, networks()...)
	}
	if s.up.network == nil {
		s.up.network = readReach(up)
	}
	n.Egress = s.egress(n.Egress, s.up.network)
	n.Gateways = s.gateways(n, up)
	n.Deny = accumulate(s, atDeny, atDeny, n.Deny, up.Deny, same)
}

// egress takes the hosts that lie within one entry above each. A list above is all that
// there is; an agent that leaves it out reaches none.
func (s *step) egress(own []schema.Egress, above *reach) []schema.Egress {
	switch {
	case own == nil:
		if s.grants || !above.Listed {
			return nil
		}
		return inherit(s, atEgress, atEgress, s.parent.Spec.Network.Egress)
	case !above.Listed && len(above.Deny.List) == 0:
		return own
	}
	own = slices.Clone(own)
	refused := map[int]bool{}
	lines := make([]Entry, len(own))
	bounds := make([][]int, len(own))
	for i := range own {
		lines[i] = ReadEntry(&own[i], false)
		e := &lines[i]
		if !e.Readable {
			continue
		}
		if j := above.Deny.Whole(e); j >= 0 {
			s.denied(index(atEgress, i)+".host", index(atDeny, j), e.Host)
			refused[i] = true
		} else if above.Listed {
			covering := above.Allow.Covering(e)
			if bounds[i] = s.fit(index(atEgress, i), index(atEgress, i)+".host", e, &above.Allow, covering); bounds[i] == nil {
				refused[i] = true
			}
		}
	}
	if above.Listed {
		inner := s.closer(lines, refused, &above.Allow)
		for i := range own {
			if len(bounds[i]) > 0 && !refused[i] {
				own[i].Powers = s.entryPowers(index(atEgress, i)+".powers", own[i].Powers, &above.Allow, append(bounds[i], inner[i]...))
			}
		}
	}
	return keep(s, atEgress, own, refused)
}

// fit puts an entry of the child into the closest entry above that holds it, and gives
// that and the others whose host and port it shares; nil: none holds it, and that was
// reported, what is said of the host at hostAt.
func (s *step) fit(at, hostAt string, e *Entry, above *entries, covering []int) []int {
	var meets []int
	for _, j := range covering {
		if o := &above.List[j]; e.Meets(o) {
			meets = append(meets, j)
		}
	}
	for _, j := range meets {
		if s.misfit(at, hostAt, e, j, &above.List[j]) == nil {
			s.take(at, e, j, &above.List[j])
			first := above.First(e, meets)
			e.Limits = s.entryLimits(at+".limits", e.Limits, above, first)
			e.Under = s.shared(nil, above, first...)
			return append([]int{j}, meets...)
		}
	}
	switch {
	case len(meets) > 0:
		s.misfit(at, hostAt, e, meets[0], &above.List[meets[0]])()
	case len(covering) > 0:
		up := index(atEgress, covering[0])
		s.refuse(CodeWidens, hostAt, up, "write the port that is allowed, or let "+s.owner(up)+" allow this one",
			"%s is on %s, and %s allows %s", clip(e.Host), e.ShowPorts(), shown(s.above(up)), above.List[covering[0]].ShowPorts())
	default:
		names := make([]string, 0, len(above.List))
		for _, o := range above.List {
			names = append(names, o.Host)
		}
		s.notAllowed(hostAt, atEgress, e.Host, names)
	}
	return nil
}

// misfit says why an entry does not lie within one above whose host covers it, as what
// reports that; nil: it does.
func (s *step) misfit(at, hostAt string, e *Entry, j int, o *Entry) func() {
	up := index(atEgress, j)
	wider := func(path, above, hint, format string, args ...any) func() {
		return func() { s.refuse(CodeWidens, path, above, hint, format, args...) }
	}
	switch {
	case !o.Pattern.Holds(e.Pattern):
		return wider(hostAt, up+".host", "let "+s.owner(up)+" list the address", "%s opens what is not public, which %s does not by itself", clip(e.Host), shown(s.above(up+".host")))
	case !e.Within(o):
		path := at + ".ports"
		if len(e.Ports) == 0 {
			path = hostAt
		}
		return wider(path, up, "name the ports that are allowed", "%s is on %s, and %s allows %s", clip(e.Host), e.ShowPorts(), shown(s.above(up)), o.ShowPorts())
	case o.Methods != nil && e.Methods != nil && outside(e.Methods, o.Methods) >= 0:
		k := outside(e.Methods, o.Methods)
		return wider(index(at+".methods", k), up+".methods", "leave it out", "%s is not allowed by %s", e.Methods[k], shown(s.above(up+".methods")))
	case o.Paths != nil && e.Paths != nil && outsidePaths(e.Paths, o.Paths) >= 0:
		k := outsidePaths(e.Paths, o.Paths)
		return wider(index(at+".paths", k), up+".paths", "leave it out", "%s is not allowed by %s", clip(e.Paths[k]), shown(s.above(up+".paths")))
	case o.Reads() && !e.Reads() && e.Opaque() && !e.Gateway:
		return wider(hostAt, up, "grant a gateway for the host (network.gateways): its requests are read",
			"no request can be told from another on port 443, and %s allows some of them alone", shown(s.above(up)))
	case o.Expires != "" && e.Expires != "" && later(e.Expires, o.Expires):
		return wider(at+".expires", up+".expires", "write "+o.Expires+" or sooner, or leave it out", "%s is later than %s at %s", e.Expires, o.Expires, shown(s.above(up+".expires")))
	case e.ECH != nil && *e.ECH && !(o.ECH != nil && *o.ECH):
		return wider(at+".ech", up, "leave it out", "lets an encrypted ClientHello pass, and %s does not", shown(s.above(up)))
	case o.TLS != "" && e.TLS != "" && e.TLS != o.TLS:
		return wider(at+".tls", up+".tls", "leave it out", "%s is not %s, as %s has it", e.TLS, o.TLS, shown(s.above(up+".tls")))
	case o.Binaries != nil && e.Binaries != nil && outside(e.Binaries, o.Binaries) >= 0:
		k := outside(e.Binaries, o.Binaries)
		return wider(index(at+".binaries", k), up+".binaries", "leave it out", "%s is not allowed by %s", clip(e.Binaries[k]), shown(s.above(up+".binaries")))
	default:
		return nil
	}
}

// take fills in what an entry leaves out, from the one above that holds it.
func (s *step) take(at string, e *Entry, j int, o *Entry) {
	up := index(atEgress, j)
	if e.Methods == nil && o.Methods != nil {
		e.Methods = inherit(s, at+".methods", up+".methods", o.Methods)
	}
	if e.Paths == nil && o.Paths != nil {
		e.Paths = inherit(s, at+".paths", up+".paths", o.Paths)
	}
	if e.Expires == "" && o.Expires != "" {
		e.Expires = inherit(s, at+".expires", up+".expires", o.Expires)
	}
	if e.TLS == "" && o.TLS != "" {
		e.TLS = inherit(s, at+".tls", up+".tls", o.TLS)
	}
	if e.Binaries == nil && o.Binaries != nil {
		e.Binaries = inherit(s, at+".binaries", up+".binaries", o.Binaries)
	}
	if e.ECH == nil && o.ECH != nil && !s.grants {
		e.ECH = inherit(s, at+".ech", up+".ech", o.ECH)
	}
}

// outsidePaths gives the first path that none of the others covers; -1: there is none.
func outsidePaths(own, above []string) int { return slices.IndexFunc(own, outsideOf(above)) }

// outsideOf reports of a path whether none of the others covers it.
func outsideOf(above []string) func(string) bool {
	of := paths.Of()
	for _, p := range above {
		of[trimSlash(p)] = struct{}{}
	}
	_, root := of["/"]
	return func(p string) bool { return !root && !of.Cover(trimSlash(p)) }
}

// trimSlash: /a/ covers what /a does.
func trimSlash(p string) string {
	if len(p) > 1 && p[len(p)-1] == '/' {
		return p[:len(p)-1]
	}
	return p
}

// later compares two dates as they are written: a day is its first moment.
func later(a, b string) bool { return moment(a) > moment(b) }

func moment(date string) string {
	if len(date) == len("2026-12-31") {
		return date + "T00:00:00Z"
	}
	return date
}
