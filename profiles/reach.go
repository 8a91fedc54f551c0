package profiles

import (
	"slices"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/spelling"
)

// reach is the indexed network policy of one agent.
type reach struct {
	list    *egress.List
	hosts   []string // listed hosts, sorted
	allowed []string // the reason of an allowed connection, for each entry and then for each gateway
}

func newReach(e *Egress) reach {
	mode := egress.Closed
	switch e.Mode {
	case EgressGatewayOnly:
		mode = egress.Gateway
	case EgressAllowlist:
		mode = egress.Allowlist
	}
	virtual := make([]egress.Virtual, len(e.Gateways))
	for i, g := range e.Gateways {
		virtual[i] = egress.Virtual{Name: g.Name, Methods: g.Methods, Paths: g.Paths, Headers: g.Headers,
			Expires: egress.Expiry(g.Expires)}
	}
	r := reach{list: egress.NewList(mode, entries(e.Allow), entries(e.Deny), virtual)}
	for i := range e.Allow {
		r.hosts = append(r.hosts, e.Allow[i].Host)
		why := "the policy lists " + e.Allow[i].Host
		if id := e.Allow[i].Exception; id != "" {
			why += " by exception " + id
		}
		r.allowed = append(r.allowed, why)
	}
	for i := range e.Gateways {
		r.allowed = append(r.allowed, "the policy has the gateway "+e.Gateways[i].Name)
	}
	r.hosts = spelling.Sorted(r.hosts)
	return r
}

func entries(rules []EgressRule) []egress.Entry {
	out := make([]egress.Entry, len(rules))
	for i, r := range rules {
		out[i] = egress.Entry{Host: r.Host, Ports: r.Ports, AnyPort: r.AnyPort, Methods: r.Methods, Paths: r.Paths,
			ECH: r.ECH, Expires: egress.Expiry(r.Expires)}
	}
	return out
}

// Egress decides a described request in the same way as the listeners decide a real one, as of the time of the
// decider's Environment. If a request has several hops, the decision names the last hop. If a hop is denied, it
// names that hop.
func (d *Decider) Egress(a egress.Action) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	p := connectionPolicy{d, egress.DecideAction(d.reach.list, a, d.now)}
	dec := p.decision(egress.HostOf(a.Target))
	if dial := p.egress.Dial(); dec.Verdict == Allow && len(dial) > 0 {
		dec.Dial = dial[0].String()
	}
	return dec
}

// EgressList returns what the agent may reach, for callers that need the ports to listen on, the names to
// resolve or the next expiry. It is never nil. For a nil or closed Decider it is empty.
func (d *Decider) EgressList() *egress.List {
	if _, closed := d.refuse(); closed || d.reach.list == nil {
		return egress.NewList(egress.Closed, nil, nil, nil)
	}
	return d.reach.list
}

// closestListed lists the reachable hosts, those closest to host first. If only gateways are reachable, it lists the
// gateways.
func (r *reach) closestListed(e *Egress, host string) []string {
	if e.Mode == EgressAllowlist && len(e.Gateways) == 0 {
		return spelling.Instead(host, r.hosts)
	}
	names := make([]string, 0, len(e.Gateways)+len(r.hosts))
	for _, g := range e.Gateways {
		names = append(names, g.Name+"."+egress.Domain)
	}
	if e.Mode == EgressAllowlist {
		names = append(names, r.hosts...)
	}
	slices.Sort(names)
	return spelling.Instead(host, names)
}
