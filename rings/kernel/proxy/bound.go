package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// bound is a set of limits for a connection. Bounds with the same Key are counted together.
type bound struct {
	Key    string
	Limits profiles.EgressLimits
	By     profiles.Rule // the rule of a layer above; zero: the entry's own limits
}

// boundsOfRule lists the limits of an entry: those of the layers above, the outermost first, and its own. The
// key of a rule is built from what it grants, not from its position. So an unrelated change of the policy
// does not reset a budget, and neither do grants that split an entry into parts. A nil rule has no limits.
func boundsOfRule(r *profiles.EgressRule) []bound {
	if r == nil {
		return nil
	}
	return under(r.Under, bound{Key: "rule " + named(cmp.Or(r.Of, r.Host), r.Ports, r.AnyPort, r.Methods, r.Paths),
		Limits: r.Limits})
}

// boundsOfGateway lists the limits of a gateway.
func boundsOfGateway(g *profiles.Gateway) []bound {
	return under(g.Under, bound{Key: "gateway " + g.Name, Limits: g.Limits})
}

func under(above []profiles.Budget, own bound) (out []bound) {
	for _, b := range above {
		if b.Limits != (profiles.EgressLimits{}) {
			out = append(out, bound{Key: "layer " + b.Rule.Layer + " " +
				named(b.Host, b.Ports, b.AnyPort, b.Methods, b.Paths), Limits: b.Limits, By: b.Rule})
		}
	}
	if own.Limits != (profiles.EgressLimits{}) {
		out = append(out, own)
	}
	return out
}

func named(host string, ports []int, everyPort bool, methods, paths []string) string {
	return fmt.Sprint(host, ports, everyPort, strings.Join(methods, ","), " ", strings.Join(paths, ","))
}

// joinBounds adds more to out. If both have a Key, the stricter limits apply.
func joinBounds(out, more []bound) []bound {
	for _, b := range more {
		if at := slices.IndexFunc(out, func(o bound) bool { return o.Key == b.Key }); at >= 0 {
			out[at].Limits = strictestLimits(out[at].Limits, b.Limits)
			continue
		}
		out = append(out, b)
	}
	return out
}
