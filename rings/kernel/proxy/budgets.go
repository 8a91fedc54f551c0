package proxy

import (
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// budgets holds the tallies of a guest for the rules that have limits.
type budgets struct {
	now func() time.Time

	mu      sync.Mutex
	tallies map[string]*usageTally // by bound.Key
}

// limits lists the limits of the rules that cover a connection. If two policies have the same rule, the
// strictest limits apply. It is nil for nearly all connections.
func limits(c profiles.Connection) (out []bound) {
	for rule, gateway := range c.Rules() {
		if gateway != nil {
			out = joinBounds(out, boundsOfGateway(gateway))
			continue
		}
		out = joinBounds(out, boundsOfRule(rule))
	}
	return out
}

// tally returns the tallies for a list of limits, and sets the limits of a generation of the policy.
func (b *budgets) tally(generation int64, list []bound) tallies {
	if len(list) == 0 {
		return nil
	}
	out := make(tallies, 0, len(list))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range list {
		t := b.tallies[l.Key]
		if t == nil {
			t = &usageTally{}
			if b.tallies == nil {
				b.tallies = map[string]*usageTally{}
			}
			b.tallies[l.Key] = t
		}
		t.Bind(l, generation)
		out = append(out, t)
	}
	return out
}

// spend counts a connection or a request against its rules. The decision is nil if it is within the limits.
func (b *budgets) spend(c profiles.Connection, generation int64, connection, counted bool) (
	tallies, *profiles.Decision) {
	list := b.tally(generation, limits(c))
	if used := list.Admit(b.now(), connection, counted); used.Why != "" {
		return nil, spent(used)
	}
	return list, nil
}

// spent returns the denial for a used-up limit. It names the rule of the layer that has the budget.
func spent(used usageSpent) *profiles.Decision {
	d := refusal(egress.Budget, used.Why)
	if used.By != (profiles.Rule{}) {
		d.Rule = &used.By
	}
	return &d
}

// counted reports whether the tallies of the connection include the request in flight. It is true for a
// denied request, because the caller denies it anyway.
func (c *conn) counted() bool {
	if !c.several.Load() {
		return true
	}
	g := c.guest
	q, _ := c.current()
	d := g.deciders()
	decision := d.decide(q, g.egress.own, g.egress.cfg.Now())
	if !decision.Allowed() {
		return true
	}
	var on tallies
	if held := c.tallies.Load(); held != nil {
		on = *held
	}
	return slices.Equal(on, g.budgets.tally(d.generation, limits(decision)))
}

// hold replaces the tallies of the connection.
func (c *conn) hold(list tallies) {
	var next *tallies
	if len(list) > 0 {
		next = &list
	}
	if was := c.tallies.Swap(next); was != nil {
		was.Moved(-1)
	}
}
