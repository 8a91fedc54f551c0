package layers

import (
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// bounded finds the restrictions that a layer above sets for something it offers: rules for the arguments of
// a program, or limits, an expiry or powers of a host. What an exception grants is separate from the lists of
// the layers. So the grant would bypass these restrictions, although no owner had to approve that.
func (c Chain) bounded(g grant) (layer int, at string) {
	for i, p := range c[:len(c)-1] {
		if g.says(p).Word != offers {
			continue
		}
		switch {
		case g.program:
			for j, b := range p.Spec.Executors.Shell.Binaries {
				if b.Path == g.name && (b.Args != nil || b.Env != nil || b.Network != nil) {
					return i, fmt.Sprintf("%s[%d]", atProgram, j)
				}
			}
		case g.egress != nil:
			for j := range p.Spec.Network.Egress {
				if e := &p.Spec.Network.Egress[j]; bounds(e) && meets(e, g.egress) {
					return i, fmt.Sprintf("%s[%d]", atEgressList, j)
				}
			}
		}
	}
	return -1, ""
}

// bounds reports whether an entry has restrictions in addition to its target. Methods and paths are part of
// the target: they are compared when the merge decides whether a layer offers the target.
func bounds(e *schema.Egress) bool {
	return e.Limits != nil || e.Expires != "" || e.Powers != nil || e.Binaries != nil || e.TLS != ""
}

// within rejects a grant that a layer above offers with restrictions.
func (k *checker) within(g grant) bool {
	l, at := k.chain.bounded(g)
	if l < 0 {
		return true
	}
	p := k.chain[l]
	other := schema.OriginOf(p, at).Pos
	list := atEgressList
	if g.program {
		list = atProgram
	}
	k.add(g.path, codeExceptionWidens, "leave it out, and list it in "+list+" here and in every layer above",
		fmt.Sprintf("%s is offered at %s (%s) with limits, and an exception would grant it without them", clip(g.name),
			other, layerName(p)), other)
	return false
}

// checkExceptionGateways finds gateways of the last document to hosts that a layer above does not offer, but
// that an exception grants. The grant of the host ends with the exception, and the gateway would stay.
func checkExceptionGateways(c Chain) (found schema.Diagnostics) {
	k := &checker{chain: c, doc: c.last()}
	if k.doc.Spec.Network == nil || !slices.ContainsFunc(c,
		func(p *schema.Policy) bool { return len(p.Spec.Exceptions) > 0 }) {
		return nil
	}
	for i := range k.doc.Spec.Network.Gateways {
		gw := &k.doc.Spec.Network.Gateways[i]
		u, err := egress.ReadUpstream(gw.Upstream)
		if err != nil {
			continue // the upstream is the host's, or invalid
		}
		to := schema.Egress{Host: u.Dest.Host(), Ports: []int{int(u.Dest.Port)}, Methods: gw.Methods}
		for _, path := range gw.Paths {
			to.Paths = append(to.Paths, u.Prefix+path)
		}
		if gw.Paths == nil && u.Prefix != "" {
			to.Paths = []string{u.Prefix}
		}
		k.gateway(fmt.Sprintf("spec.network.gateways[%d].upstream", i), grant{name: to.Host, egress: &to})
	}
	return k.found
}

// gateway reports a gateway that depends on an exception.
func (k *checker) gateway(at string, g grant) {
	for i, p := range k.chain[:len(k.chain)-1] {
		n := p.Spec.Network
		if n == nil || n.Egress == nil || n.Gateways != nil || g.says(p).Word != withholds {
			continue
		}
		if e := k.chain.lifted(g, i+1, len(k.chain)); e != nil {
			other := schema.OriginOf(p, atEgressList).Pos
			k.add(at, codeExceptionWidens, "list the host, or the gateway, in every layer above",
				fmt.Sprintf("%s is left out at %s (%s), and %s allows only connections to it: an exception "+
					"grants no gateway",
					clip(g.name), other, layerName(p), e.ID), other)
			return
		}
	}
}
