package proxy

import (
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// limits lists those of the rules that cover a connection, the strictest where
// two deciders know the same rule. It is nil for nearly every connection.
func (s standing) limits(matches []egress.Match) (out []bound) {
	for i, d := range s.deciders {
		if g, ok := d.Gateway(matches[i]); ok {
			out = joinBounds(out, boundsOfGateway(g))
			continue
		}
		out = joinBounds(out, boundsOfRule(d.EgressRule(matches[i])))
	}
	return out
}

// tally finds those of a connection, with the limits that hold by s.
func (g *Guest) tally(s standing, list []bound) tallies {
	if len(list) == 0 {
		return nil
	}
	out := make(tallies, 0, len(list))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range list {
		t := g.tallies[l.Key]
		if t == nil {
			t = &usageTally{}
			g.tallies[l.Key] = t
		}
		t.Bind(l, s.generation)
		out = append(out, t)
	}
	return out
}

// spend counts a connection or a request against its rules; nil: it may go on.
func (g *Guest) spend(s standing, matches []egress.Match, connection, counted bool) (tallies, *profiles.Decision) {
	list := g.tally(s, s.limits(matches))
	if used := list.Admit(g.egress.cfg.Now(), connection, counted); used.Why != "" {
		return nil, spent(used)
	}
	return list, nil
}

// spent refuses what nothing is left for, by the rule of the layer whose budget it is.
func spent(used usageSpent) *profiles.Decision {
	d := refusal(egress.Budget, used.Why)
	if used.By != (profiles.Rule{}) {
		d.Rule = &used.By
	}
	return &d
}

// counted reports whether the request in flight counts against the limits that the
// link is open on. One that is refused is for who asks to refuse.
func (l *link) counted() bool {
	if !l.several.Load() {
		return true
	}
	g := l.guest
	c, _ := l.current()
	s := g.standing()
	matches, dec := s.allows(c, g.egress.own, g.egress.cfg.Now())
	if dec.Verdict != profiles.Allow {
		return true
	}
	var on tallies
	if held := l.tallies.Load(); held != nil {
		on = *held
	}
	return slices.Equal(on, g.tally(s, s.limits(matches)))
}

// hold replaces the tallies that a link is open on.
func (l *link) hold(list tallies) {
	var next *tallies
	if len(list) > 0 {
		next = &list
	}
	if was := l.tallies.Swap(next); was != nil {
		was.Moved(-1)
	}
}
