package profiles

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// Connection is the decision of the policies in force on one connection. All of them must allow the
// connection. A Connection is refined in the same steps as an [egress.Decision]. Each step returns a new
// Connection. A denied Connection stays denied, and the zero Connection is denied.
//
// Its Decision is the first denial. If no policy denies, it is the decision of the first policy, with the
// rule that decided.
type Connection struct {
	policies []connectionPolicy // one for each decider; none if denied
	decision Decision
	dial     []netip.Addr
}

// connectionPolicy is the part of one policy in a Connection.
type connectionPolicy struct {
	decider *Decider
	egress  egress.Decision
}

// Connect decides on a target, before its name is looked up. Without deciders everything is
// denied.
func Connect(to egress.Dest, now time.Time, deciders ...*Decider) Connection {
	c := Connection{policies: make([]connectionPolicy, len(deciders))}
	for i, d := range deciders {
		if dec, closed := d.refuse(); closed {
			return c.Deny(dec)
		}
		p := connectionPolicy{d, d.reach.list.Decide(to, now)}
		dec := p.decision(to.Host())
		if dec.Verdict != Allow {
			return c.Deny(dec)
		}
		// If requests are read, the watch is called for each request instead.
		if m := p.egress.Match(); !m.Reads && m.Virtual == 0 {
			if no := p.watched(len(m.Entries)); no != nil {
				return c.Deny(*no)
			}
		}
		if c.policies[i] = p; i == 0 {
			c.decision = dec
		}
	}
	return c
}

// Addresses decides which of the resolved addresses may be dialed. It keeps their order. It is called once
// for each connection.
func (c Connection) Addresses(answers []netip.Addr, now time.Time) Connection {
	next := c.step(func(p connectionPolicy) (egress.Decision, int) {
		d := p.egress.Addresses(answers, now)
		answers = d.Dial()
		return d, 0
	})
	if next.Allowed() {
		next.dial = answers
	}
	return next
}

// Dialable decides on an address just before it is dialed, however the address was found. It is a second
// check, and Addresses must still be called.
func (c Connection) Dialable(at netip.AddrPort, now time.Time) Decision {
	for _, p := range c.policies {
		if r := p.egress.Dialable(at, now); r != nil {
			return p.refused(r, "")
		}
	}
	return c.Decision()
}

// Hello decides on the first bytes of the connection. err is the error of package clienthello. If
// [egress.Inspected] returns false, the bytes are not checked.
func (c Connection) Hello(h clienthello.Hello, err error, now time.Time) Connection {
	return c.step(func(p connectionPolicy) (egress.Decision, int) { return p.egress.Hello(h, err, now), 0 })
}

// Request decides one request that was read on the connection. The limits of the rule that grants the request
// apply to the Connection it returns. The next request of the connection is again decided from c.
func (c Connection) Request(method, path string, overrides egress.Overrides, now time.Time) Connection {
	return c.step(func(p connectionPolicy) (egress.Decision, int) {
		return p.egress.Request(method, path, overrides, now), 1
	})
}

// Deny returns a Connection that is denied with the decision why.
func (c Connection) Deny(why Decision) Connection {
	if why.Verdict == Allow {
		why.Verdict = Deny
	}
	return Connection{decision: why}
}

// step refines the decision of each policy in turn and stops at the first denial. refine returns how many of
// the entries that cover the connection are passed to the watch. The step is allowed only if the watch denies
// none of them.
func (c Connection) step(refine func(connectionPolicy) (d egress.Decision, watch int)) Connection {
	next := Connection{decision: c.Decision(), policies: make([]connectionPolicy, len(c.policies)), dial: c.dial}
	for i, p := range c.policies {
		var watch int
		p.egress, watch = refine(p)
		dec := p.decision("")
		if dec.Verdict != Allow {
			return c.Deny(dec)
		}
		if no := p.watched(watch); no != nil {
			return c.Deny(*no)
		}
		if next.policies[i] = p; i == 0 {
			next.decision = dec
		}
	}
	return next
}

// Allowed reports whether all policies allow the connection, as far as it has been decided.
func (c Connection) Allowed() bool { return len(c.policies) > 0 }

// Decision returns the first denial. If there is none, it returns the decision of the first policy.
func (c Connection) Decision() Decision {
	if len(c.policies) == 0 && c.decision.Code == "" {
		return Decision{Code: CodeClosed, Reason: "no profile is in force"}
	}
	return c.decision
}

// Dial returns the addresses that Addresses kept.
func (c Connection) Dial() []netip.Addr { return c.dial }

// Match is the match of the first policy.
func (c Connection) Match() egress.Match {
	if len(c.policies) == 0 {
		return egress.Match{}
	}
	return c.policies[0].egress.Match()
}

// Virtual reports whether the target is a virtual host.
func (c Connection) Virtual() bool {
	return c.any(func(m egress.Match) bool { return m.Virtual != 0 })
}

// Reads reports whether the requests on the connection are read. They always are for a virtual host.
func (c Connection) Reads() bool {
	return c.any(func(m egress.Match) bool { return m.Reads || m.Virtual != 0 })
}

// Several reports whether more than one rule grants requests, each rule by itself. Then the limits of another
// rule may apply to the next request.
func (c Connection) Several() bool {
	return c.any(func(m egress.Match) bool { return m.Reads && len(m.Entries) > 1 })
}

func (c Connection) any(is func(egress.Match) bool) bool {
	return slices.ContainsFunc(c.policies, func(p connectionPolicy) bool { return is(p.egress.Match()) })
}

// Rules yields, for each policy, the rule or the gateway whose limits apply to the connection, and nil for
// the other of the two.
func (c Connection) Rules() iter.Seq2[*EgressRule, *Gateway] {
	return func(yield func(*EgressRule, *Gateway) bool) {
		for _, p := range c.policies {
			if !yield(p.rule(), p.gateway()) {
				return
			}
		}
	}
}

// rule returns the entry of a decision, or nil for a gateway.
func (p connectionPolicy) rule() *EgressRule {
	m, allow := p.egress.Match(), p.decider.agent.Egress.Allow
	if m.Virtual != 0 || len(m.Entries) == 0 || m.Entries[0] < 0 || m.Entries[0] >= len(allow) {
		return nil
	}
	return &allow[m.Entries[0]]
}

// gateway returns the gateway of a virtual host, or nil.
func (p connectionPolicy) gateway() *Gateway {
	m, gateways := p.egress.Match(), p.decider.agent.Egress.Gateways
	if m.Virtual < 1 || m.Virtual > len(gateways) {
		return nil
	}
	return &gateways[m.Virtual-1]
}

// watched calls the watch of the decider for the first entries, or for the gateway. It returns the denial of
// the watch, or nil. If first is 0, it does not call the watch.
func (p connectionPolicy) watched(first int) *Decision {
	watch := p.decider.watch
	if watch == nil || first == 0 {
		return nil
	}
	if g := p.gateway(); g != nil {
		return watch(nil, g)
	}
	allow, entries := p.decider.agent.Egress.Allow, p.egress.Match().Entries
	for _, i := range entries[:min(first, len(entries))] {
		if i < 0 || i >= len(allow) {
			continue
		}
		if no := watch(&allow[i], nil); no != nil {
			return no
		}
	}
	return nil
}

// decision adds the rule that allows or denies. host is named in the hint for a target that is not listed.
func (p connectionPolicy) decision(host string) Decision {
	if r := p.egress.Refusal(); r != nil {
		return p.refused(r, host)
	}
	d := p.decider
	if g := p.gateway(); g != nil {
		at := len(d.agent.Egress.Allow) + p.egress.Match().Virtual - 1
		return Decision{Verdict: Allow, Code: CodeAllowed, Reason: d.reach.allowed[at], Rule: ruleOrNil(&g.Rule),
			Revision: d.revision}
	}
	if r := p.rule(); r != nil {
		at := p.egress.Match().Entries[0]
		return Decision{Verdict: Allow, Code: CodeAllowed, Reason: d.reach.allowed[at], Rule: ruleOrNil(&r.Rule),
			Revision: d.revision, Exception: r.Exception}
	}
	return d.deny(CodeEgressNotGranted, &d.agent.Egress.Rule, "no entry covers the target")
}

// refused adds the rule of a denial. If host is not listed, it also adds listed hosts with a similar name,
// and the ended exception that had granted the host.
func (p connectionPolicy) refused(r *egress.Refusal, host string) Decision {
	d := p.decider
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
	if r.Code != egress.NotGranted || host == "" {
		return dec
	}
	if len(dec.Instead) == 0 {
		dec.Instead = d.reach.closestListed(e, host)
	}
	addEnded(&dec, d.agent.Exceptions, d.now, func(g *Excepted) bool { return g.Host(host) })
	return dec
}
