package layers

import (
	"slices"

	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

// DefaultGateway is the gateway of a policy in mode gateway-only that names none.
const DefaultGateway = "gateway"

const (
	atNetwork = "spec.network"
	atEgress  = atNetwork + ".egress"
	atDeny    = atNetwork + ".deny"
)

// reach returns the indexed network of the ceiling. It is computed at first use.
func (c *ceiling) reach() *reach {
	if c.network == nil {
		c.network = readReach(c.policy.Spec.Network)
	}
	return c.network
}

// mergeEgress keeps the hosts that are each within one entry of the layer above. If the layer above has a
// list of hosts, no others are allowed. An agent without a list reaches no host.
func mergeEgress(s *step, n, up *schema.Network, w site) {
	above := s.up.reach()
	switch {
	case n.Egress == nil:
		if !s.grants && above.Listed {
			n.Egress = inherit(s, w.field("egress"), up.Egress)
		}
		return
	case !above.Listed && len(above.Deny.List) == 0:
		return
	}
	n.Egress = slices.Clone(n.Egress)
	refused := map[int]bool{}
	lines := make([]Entry, len(n.Egress))
	bounds := make([][]int, len(n.Egress))
	for i := range n.Egress {
		lines[i] = ReadEntry(&n.Egress[i], false)
		e := &lines[i]
		if !e.Readable {
			continue
		}
		at := index(atEgress, i)
		if j := above.Deny.Whole(e); j >= 0 {
			s.denied(site{at + ".host", index(atDeny, j)}, e.Host)
			refused[i] = true
		} else if above.Listed {
			if bounds[i] = fit(s, at, at+".host", e, &above.Allow); bounds[i] == nil {
				refused[i] = true
			}
		}
	}
	if above.Listed {
		inner := closer(s, lines, refused, &above.Allow)
		for i := range n.Egress {
			if len(bounds[i]) > 0 && !refused[i] {
				mergeEntryPowers(s, index(atEgress, i), &n.Egress[i].Powers, &above.Allow,
					append(bounds[i], inner[i]...))
			}
		}
	}
	n.Egress = keep(s, atEgress, n.Egress, refused)
}

// fit finds the most specific entry of the layer above that contains entry e of the child, and merges the
// two. It returns the index of that entry, followed by the other entries that cover the same host and port.
// If no entry contains e, fit reports that and returns nil. hostAt is the path of the host.
func fit(s *step, at, hostAt string, e *Entry, above *entries) []int {
	covering := above.Covering(e)
	var meets []int
	for _, j := range covering {
		if o := &above.List[j]; e.Meets(o) {
			meets = append(meets, j)
		}
	}
	for _, j := range meets {
		if misfit(s, at, hostAt, e, j, &above.List[j]) == nil {
			takeEntry(s, site{at, index(atEgress, j)}, e, &above.List[j])
			first := above.First(e, meets)
			e.Limits = entryLimitsOf(s, at+".limits", e.Limits, above, first)
			e.Under = shared(s, nil, above, first...)
			return append([]int{j}, meets...)
		}
	}
	switch {
	case len(meets) > 0:
		misfit(s, at, hostAt, e, meets[0], &above.List[meets[0]])()
	case len(covering) > 0:
		up := index(atEgress, covering[0])
		s.refuse(CodeWidens, site{hostAt, up}, "write the port that is allowed, or let "+s.owner(up)+" allow this one",
			"%s is on %s, and %s allows %s", clip(e.Host), e.ShowPorts(), s.shown(up),
			above.List[covering[0]].ShowPorts())
	default:
		names := make([]string, 0, len(above.List))
		for _, o := range above.List {
			names = append(names, o.Host)
		}
		s.notAllowed(site{hostAt, atEgress}, e.Host, names)
	}
	return nil
}

// misfit checks entry e of the child against entry o of the layer above. The host of o must cover the host of
// e. If o allows everything that e allows, misfit returns nil. Otherwise it returns a function that reports
// what o does not allow.
func misfit(s *step, at, hostAt string, e *Entry, j int, o *Entry) func() {
	up := index(atEgress, j)
	wider := func(path, above, hint, format string, args ...any) func() {
		return func() { s.refuse(CodeWidens, site{path, above}, hint, format, args...) }
	}
	item := func(name string, list []string, k int) func() {
		return wider(index(at+name, k), up+name, "leave it out", "%s is not allowed by %s", clip(list[k]),
			s.shown(up+name))
	}
	switch {
	case !o.Pattern.Holds(e.Pattern):
		return wider(hostAt, up+".host", "let "+s.owner(up)+" list the address",
			"%s allows addresses that are not public, and %s does not", clip(e.Host), s.shown(up+".host"))
	case !e.Within(o):
		path := at + ".ports"
		if len(e.Ports) == 0 {
			path = hostAt
		}
		return wider(path, up, "name the ports that are allowed", "%s is on %s, and %s allows %s", clip(e.Host),
			e.ShowPorts(), s.shown(up), o.ShowPorts())
	case outsideBound(e.Methods, o.Methods) >= 0:
		return item(".methods", e.Methods, outside(e.Methods, o.Methods))
	case o.Paths != nil && e.Paths != nil && outsidePaths(e.Paths, o.Paths) >= 0:
		return item(".paths", e.Paths, outsidePaths(e.Paths, o.Paths))
	case o.Reads() && !e.Reads() && e.Opaque() && !e.Gateway:
		return wider(hostAt, up, "grant a gateway for the host (network.gateways): its requests are read",
			"ringd cannot read the requests on port 443, and %s allows only some of them", s.shown(up))
	case o.Expires != "" && e.Expires != "" && later(e.Expires, o.Expires):
		return wider(at+".expires", up+".expires", "write "+o.Expires+" or sooner, or leave it out",
			"%s is later than %s at %s", e.Expires, o.Expires, s.shown(up+".expires"))
	case e.ECH != nil && *e.ECH && !(o.ECH != nil && *o.ECH):
		return wider(at+".ech", up, "leave it out", "lets an encrypted ClientHello pass, and %s does not", s.shown(up))
	case o.TLS != "" && e.TLS != "" && e.TLS != o.TLS:
		return wider(at+".tls", up+".tls", "leave it out", "%s is not %s, as %s has it", e.TLS, o.TLS,
			s.shown(up+".tls"))
	case outsideBound(e.Binaries, o.Binaries) >= 0:
		return item(".binaries", e.Binaries, outside(e.Binaries, o.Binaries))
	default:
		return nil
	}
}

// outsideBound returns the index of the first item of own that is not in the list of the layer above, or -1.
// If one of the lists is absent, the result is -1.
func outsideBound(own, above []string) int {
	if own == nil || above == nil {
		return -1
	}
	return outside(own, above)
}

// takeEntry fills in the absent fields of an entry from the entry of the layer above that contains it.
func takeEntry(s *step, w site, e *Entry, o *Entry) {
	if e.Methods == nil && o.Methods != nil {
		e.Methods = inherit(s, w.field("methods"), o.Methods)
	}
	if e.Paths == nil && o.Paths != nil {
		e.Paths = inherit(s, w.field("paths"), o.Paths)
	}
	if e.Expires == "" && o.Expires != "" {
		e.Expires = inherit(s, w.field("expires"), o.Expires)
	}
	if e.TLS == "" && o.TLS != "" {
		e.TLS = inherit(s, w.field("tls"), o.TLS)
	}
	if e.Binaries == nil && o.Binaries != nil {
		e.Binaries = inherit(s, w.field("binaries"), o.Binaries)
	}
	if e.ECH == nil && o.ECH != nil && !s.grants {
		e.ECH = inherit(s, w.field("ech"), o.ECH)
	}
}

// outsidePaths returns the index of the first path that no path of the layer above covers, or -1.
func outsidePaths(own, above []string) int { return slices.IndexFunc(own, outsideOf(above)) }

// outsideOf returns a function that reports whether none of the paths covers its argument.
func outsideOf(above []string) func(string) bool {
	of := paths.Of()
	for _, p := range above {
		of[trimSlash(p)] = struct{}{}
	}
	_, root := of["/"]
	return func(p string) bool { return !root && !of.Cover(trimSlash(p)) }
}

// trimSlash removes a trailing slash, because /a/ covers the same as /a.
func trimSlash(p string) string {
	if len(p) > 1 && p[len(p)-1] == '/' {
		return p[:len(p)-1]
	}
	return p
}

// later reports whether date a is after date b. A date without a time means the first moment of the day.
func later(a, b string) bool { return moment(a) > moment(b) }

func moment(date string) string {
	if len(date) == len("2026-12-31") {
		return date + "T00:00:00Z"
	}
	return date
}
