package egress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/egress/budget"
)

// limited is one limit that holds for a connection.
type limited struct {
	key    string
	limits profiles.EgressLimits
}

// limits lists those of the rules that cover a connection, the strictest where
// two deciders know the same rule. It is nil for nearly every connection.
func (s standing) limits(matches []egress.Match) []limited {
	var out []limited
	for i, d := range s.deciders {
		l, ok := limitsOf(d, matches[i])
		if !ok {
			continue
		}
		at := slices.IndexFunc(out, func(o limited) bool { return o.key == l.key })
		if at < 0 {
			out = append(out, l)
			continue
		}
		out[at].limits = budget.Strictest(out[at].limits, l.limits)
	}
	return out
}

// limitsOf names a rule by what it grants, and not by where it stands: a policy
// that changes elsewhere does not give a budget anew, nor do grants that narrow an
// entry to several of its parts.
func limitsOf(d *profiles.Decider, m egress.Match) (limited, bool) {
	if g, ok := d.Gateway(m); ok {
		return limited{"gateway " + g.Name, g.Limits}, g.Limits != profiles.EgressLimits{}
	}
	r := d.EgressRule(m)
	if r == nil || r.Limits == (profiles.EgressLimits{}) {
		return limited{}, false
	}
	return limited{fmt.Sprint("rule ", cmp.Or(r.Of, r.Host), r.Ports, r.AnyPort, strings.Join(r.Methods, ","), " ", strings.Join(r.Paths, ",")), r.Limits}, true
}

// tally finds those of a connection, with the limits that hold by s.
func (g *Guest) tally(s standing, list []limited) budget.List {
	if len(list) == 0 {
		return nil
	}
	out := make(budget.List, 0, len(list))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range list {
		t := g.tallies[l.key]
		if t == nil {
			t = &budget.Tally{}
			g.tallies[l.key] = t
		}
		t.Limit(l.limits, s.generation)
		out = append(out, t)
	}
	return out
}

// spend counts a connection or a request against its rules; nil: it may go on.
func (g *Guest) spend(s standing, matches []egress.Match, connection, counted bool) (budget.List, *profiles.Decision) {
	list := g.tally(s, s.limits(matches))
	if why := list.Admit(g.egress.cfg.Now(), connection, counted); why != "" {
		d := refusal(egress.Budget, why)
		return nil, &d
	}
	return list, nil
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
	var on budget.List
	if held := l.tallies.Load(); held != nil {
		on = *held
	}
	return slices.Equal(on, g.tally(s, s.limits(matches)))
}

// hold replaces the tallies that a link is open on.
func (l *link) hold(list budget.List) {
	var next *budget.List
	if len(list) > 0 {
		next = &list
	}
	if was := l.tallies.Swap(next); was != nil {
		was.Moved(-1)
	}
}
