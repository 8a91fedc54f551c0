package profiles

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
	"github.com/ringd/ringd/profiles/spelling"
)

// reach is the network of one agent, indexed.
type reach struct {
	list    *egress.List
	hosts   []string // that are listed, sorted
	allowed []string // for each entry, and then for each gateway: the reason of what it allows
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
		virtual[i] = egress.Virtual{Name: g.Name, Methods: g.Methods, Paths: g.Paths, Headers: g.Headers, Expires: egress.Expiry(g.Expires)}
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
		out[i] = egress.Entry{Host: r.Host, Ports: r.Ports, AnyPort: r.AnyPort, Methods: r.Methods, Paths: r.Paths, ECH: r.ECH, Expires: egress.Expiry(r.Expires)}
	}
	return out
}

// Egress decides a request that is only described, the way every door decides
// one, at the time of the decider's Environment. Of a request with several hops
// the decision names the last, or the one that is refused.
func (d *Decider) Egress(a egress.Action) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	out, r := egress.DecideAction(d.reach.list, a, d.now)
	if r != nil {
		return d.egressRefused(r, egress.HostOf(a.Target))
	}
	dec := d.egressAllowed(out.Match)
	if out.Dial.IsValid() {
		dec.Dial = out.Dial.String()
	}
	return dec
}

// EgressList is what the agent may reach, for those who need more of it than one
// decision: what to listen on, which names to answer, when something expires. It
// is never nil, and reaches nothing from a nil or closed Decider.
func (d *Decider) EgressList() *egress.List {
	if _, closed := d.refuse(); closed || d.reach.list == nil {
		return egress.NewList(egress.Closed, nil, nil, nil)
	}
	return d.reach.list
}

// EgressMatch decides on a target alone, before its name is looked up. The Match
// is what the later stages are asked with; they are to be asked of this Decider.
func (d *Decider) EgressMatch(to egress.Dest, now time.Time) (egress.Match, Decision) {
	if dec, closed := d.refuse(); closed {
		return egress.Match{}, dec
	}
	m, r := d.reach.list.Match(to, now)
	if r != nil {
		return egress.Match{}, d.egressRefused(r, to.Host())
	}
	if !m.Reads && m.Virtual == 0 { // else each request is decided
		if no := d.watched(m, len(m.Entries)); no != nil {
			return egress.Match{}, *no
		}
	}
	return m, d.egressAllowed(m)
}

// watched asks whoever watches about what the first entries of m allow.
func (d *Decider) watched(m egress.Match, first int) *Decision {
	if d.watch == nil {
		return nil
	}
	if g, ok := d.Gateway(m); ok {
		return d.watch(nil, g)
	}
	for _, i := range m.Entries[:min(first, len(m.Entries))] {
		if i < 0 || i >= len(d.agent.Egress.Allow) {
			continue
		}
		if no := d.watch(&d.agent.Egress.Allow[i], nil); no != nil {
			return no
		}
	}
	return nil
}

// EgressAddresses decides which answers for a name may be dialed, and keeps
// their order. It is asked once for a connection.
func (d *Decider) EgressAddresses(to egress.Dest, m egress.Match, answers []netip.Addr, now time.Time) ([]netip.Addr, Decision) {
	if dec, closed := d.refuse(); closed {
		return nil, dec
	}
	kept, r := d.reach.list.Addresses(to, m, answers, now)
	if r != nil {
		return nil, d.egressRefused(r, "")
	}
	return kept, d.egressAllowed(m)
}

// EgressDialable decides on an address that is about to be dialed, whatever led
// to it. It does not replace EgressMatch.
func (d *Decider) EgressDialable(to netip.AddrPort, now time.Time) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if r := d.reach.list.Dialable(to, now); r != nil {
		return d.egressRefused(r, "")
	}
	return Decision{Verdict: Allow, Code: CodeAllowed, Reason: "the address may be dialed", Revision: d.revision}
}

// EgressHello decides on the first bytes of a connection of m; err is that of the
// package clienthello. Where egress.Inspected says no, they are not looked at.
func (d *Decider) EgressHello(to egress.Dest, m egress.Match, h clienthello.Hello, err error, now time.Time) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if r := d.reach.list.Hello(to, m, h, err, now); r != nil {
		return d.egressRefused(r, "")
	}
	return d.egressAllowed(m)
}

// EgressRequest decides one request that was read on a connection of m. Nothing of
// the request but its method and path counts, and what it says of them elsewhere. The Match is m, and of its rules the
// one that grants the request is the one that counts.
func (d *Decider) EgressRequest(to egress.Dest, m egress.Match, method, path string, says egress.Saying, now time.Time) (egress.Match, Decision) {
	if dec, closed := d.refuse(); closed {
		return egress.Match{}, dec
	}
	m, r := d.reach.list.Request(to, m, method, path, says, now)
	if r != nil {
		return egress.Match{}, d.egressRefused(r, "")
	}
	if no := d.watched(m, 1); no != nil {
		return egress.Match{}, *no
	}
	return m, d.egressAllowed(m)
}

// EgressRule is the rule that a decision on m names, and whose limits count; nil
// for a gateway and for a Match that covers nothing. For a request that was read,
// ask with the Match of EgressRequest.
func (d *Decider) EgressRule(m egress.Match) *EgressRule {
	if _, closed := d.refuse(); closed || m.Virtual != 0 || len(m.Entries) == 0 {
		return nil
	}
	if i := m.Entries[0]; i >= 0 && i < len(d.agent.Egress.Allow) {
		return &d.agent.Egress.Allow[i]
	}
	return nil
}

// Gateway is the gateway of m.
func (d *Decider) Gateway(m egress.Match) (*Gateway, bool) {
	if _, closed := d.refuse(); closed || m.Virtual < 1 || m.Virtual > len(d.agent.Egress.Gateways) {
		return nil, false
	}
	return &d.agent.Egress.Gateways[m.Virtual-1], true
}

func (d *Decider) egressAllowed(m egress.Match) Decision {
	e := &d.agent.Egress
	var at int
	var rule *Rule
	var exception string
	switch {
	case m.Virtual > 0 && m.Virtual <= len(e.Gateways):
		at, rule = len(e.Allow)+m.Virtual-1, &e.Gateways[m.Virtual-1].Rule
	case m.Virtual == 0 && len(m.Entries) > 0 && m.Entries[0] >= 0 && m.Entries[0] < len(e.Allow):
		at, rule, exception = m.Entries[0], &e.Allow[m.Entries[0]].Rule, e.Allow[m.Entries[0]].Exception
	default:
		return d.deny(CodeEgressNotGranted, &e.Rule, "nothing covers the target")
	}
	return Decision{Verdict: Allow, Code: CodeAllowed, Reason: d.reach.allowed[at], Rule: known(rule), Revision: d.revision, Exception: exception}
}

// egressRefused names the rule of a refusal, and for a host that is not listed
// what is.
func (d *Decider) egressRefused(r *egress.Refusal, host string) Decision {
	e := &d.agent.Egress
	rule, from, why := &e.Rule, e.Allow, r.Why
	if r.Deny {
		from = e.Deny
	}
	if r.Entry >= 0 && r.Entry < len(from) {
		rule = &from[r.Entry].Rule
		if said := from[r.Entry].Reason; r.Deny && said != "" {
			why += ": " + said
		}
	}
	if r.Virtual > 0 && r.Virtual <= len(e.Gateways) {
		rule = &e.Gateways[r.Virtual-1].Rule
	}
	dec := d.deny(Code(r.Code), rule, "%s", why)
	dec.Instead = r.Instead
	if r.Code == egress.NotGranted && host != "" && len(dec.Instead) == 0 {
		dec.Instead = d.reachable(host)
	}
	if r.Code == egress.NotGranted && host != "" {
		d.lapsed(&dec, func(g *Excepted) bool { return g.Host(host) })
	}
	return dec
}

// reachable lists what there is, the nearest to host first: the gateways alone
// where nothing else is reached.
func (d *Decider) reachable(host string) []string {
	e := &d.agent.Egress
	if e.Mode == EgressAllowlist && len(e.Gateways) == 0 {
		return spelling.Instead(host, d.reach.hosts)
	}
	names := make([]string, 0, len(e.Gateways)+len(d.reach.hosts))
	for _, g := range e.Gateways {
		names = append(names, g.Name+"."+egress.Domain)
	}
	if e.Mode == EgressAllowlist {
		names = append(names, d.reach.hosts...)
	}
	slices.SortFunc(names, strings.Compare)
	return spelling.Instead(host, names)
}
