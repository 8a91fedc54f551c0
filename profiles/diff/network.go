package diff

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// hosts compares the listed and the denied hosts.
func hosts(c *comparer, s spot, _, _ []profiles.EgressRule) {
	x, y := &c.old.Egress, &c.new.Egress
	n := &network{comparer: c, reachCompared: compareReach(x, y, c.now), told: Targets{}}
	s.capability = "egress:"
	n.lists(hostLists{spot: s, old: x.Allow, now: y.Allow})
	s.field, s.capability = "egress.deny", "egress.deny:"
	n.lists(hostLists{spot: s, old: x.Deny, now: y.Deny, deny: true})
	// a changed mode covers all other changes
	mode := cmp.Or(x.Mode, profiles.EgressOff) != cmp.Or(y.Mode, profiles.EgressOff)
	if left := n.Left(n.told); len(left) > 0 && !mode {
		few := strings.Join(left[:min(len(left), 8)], ", ")
		c.add(Change{Kind: Changed, Capability: "egress", Field: "egress.allow", New: few,
			Says: "more may be done with " + few, Why: "no single entry does this: the lists together do"})
	}
}

// network compares lists of hosts.
type network struct {
	*comparer
	*reachCompared
	told Targets // covered by reported changes
}

// hostLists has the entries of both sides: the listed hosts, or the denied hosts.
type hostLists struct {
	spot
	old, now []profiles.EgressRule
	deny     bool
}

// entry returns the spot of an entry. One side may be absent.
func (l hostLists) entry(x, y *profiles.EgressRule) spot {
	s := pair[profiles.EgressRule]{x, y}.spot(l.spot, "")
	s.subject = cmp.Or(y, x).Host
	s.capability = l.capability + s.subject
	return s
}

// target returns an entry in the form for people.
func target(r *profiles.EgressRule) string {
	out := r.Host
	switch {
	case r.AnyPort:
		out += ":*"
	case len(r.Ports) > 0:
		list := make([]string, len(r.Ports))
		for i, p := range r.Ports {
			list[i] = strconv.Itoa(p)
		}
		out += ":" + strings.Join(list, ",")
	}
	if strings.Contains(r.Host, ":") && strings.Contains(out, r.Host+":") {
		out = "[" + r.Host + "]" + strings.TrimPrefix(out, r.Host)
	}
	ech := map[bool]string{true: "ech"}[r.ECH]
	methods, paths := strings.Join(r.Methods, " "), strings.Join(r.Paths, " ")
	for _, s := range []string{methods, paths, ech, limitsText(r.Limits), expiry(r.Expires)} {
		if s != "" {
			out += " " + s
		}
	}
	return out
}

func limitsText(l profiles.EgressLimits) string {
	var out []string
	add := func(n int64, text string) {
		if n != 0 {
			out = append(out, text)
		}
	}
	add(l.UpBytes, size(l.UpBytes)+" up")
	add(l.DownBytes, size(l.DownBytes)+" down")
	add(l.Connections, plural(int(l.Connections), "connection"))
	add(l.PerMinute, number(l.PerMinute)+" a minute")
	return strings.Join(out, ", ")
}

// lists compares the entries. Entries that have the same host and the same meaning are
// not a change.
func (n *network) lists(l hostLists) {
	came, went := map[string][]*profiles.EgressRule{}, map[string][]*profiles.EgressRule{} // by host
	for _, p := range pairs(l.old, l.now, target) {
		switch x, y := p.old, p.now; {
		case x == nil:
			came[y.Host] = append(came[y.Host], y)
		case y == nil:
			went[x.Host] = append(went[x.Host], x)
		default:
			n.described(l.entry(x, y), x, y)
		}
	}
	for _, host := range both(came, went) {
		if len(came[host]) == 1 && len(went[host]) == 1 {
			n.rewritten(l, went[host][0], came[host][0])
			continue
		}
		for _, x := range went[host] {
			n.gone(l, x)
		}
		for _, y := range came[host] {
			ch := l.entry(nil, y).added(target(y)).as(Neutral, l.says(Added, y), "")
			ch.Exception = y.Exception
			n.judge(l, &ch, y)
			n.add(ch)
		}
	}
}

// gone reports a removed entry.
func (n *network) gone(l hostLists, x *profiles.EgressRule) {
	says := l.says(Removed, x)
	ch := l.entry(x, nil).removed(target(x)).as(Neutral, says, "")
	ch.Exception = x.Exception
	n.judge(l, &ch, x)
	switch {
	case ch.Class == Neutral && l.deny:
		ch.Says = says
		ch = ch.lifted()
	case ch.Class == Narrows && !l.deny:
		ch.Says = but(ch.Says, n.inside(x, l.now))
	}
	n.add(ch)
}

// inside lists the entries of list whose hosts are a part of the names or addresses of
// the removed entry r.
func (n *network) inside(r *profiles.EgressRule, list []profiles.EgressRule) (out []string) {
	on := n.comparer.new.Egress.Mode == profiles.EgressAllowlist
	for i := range list {
		if y := &list[i]; on && Within(y.Host, r.Host) && !n.ended(y.Expires) {
			out = append(out, target(y))
		}
	}
	return out
}

// rewritten reports a changed entry for one host.
func (n *network) rewritten(l hostLists, x, y *profiles.EgressRule) {
	went, came := Change{Kind: Removed, Class: Neutral}, Change{Kind: Added, Class: Neutral}
	n.judge(l, &went, x)
	n.judge(l, &came, y)
	s := l.entry(x, y)
	says := "may reach " + nowWas(target(y), target(x))
	if l.deny {
		says = target(y) + " is denied (was " + target(x) + ")"
	}
	ch := s.changed(target(x), target(y)).as(ClassOf([]Change{went, came}), says, cmp.Or(came.Why, went.Why))
	ch.Exception, ch.Undecided = cmp.Or(y.Exception, x.Exception), came.Undecided || went.Undecided
	if ch.Class != Neutral && !ch.Undecided {
		ch.Why = ""
	}
	n.add(ch)
	comparePowers(n.comparer, s.part(".powers", ""), x.Powers, y.Powers)
	if n.Many || addresses(y.Host) {
		shared(n.comparer, s.part(".under", ""), x.Under, y.Under)
	}
}

// says returns the sentence of an added or removed entry.
func (l hostLists) says(kind Kind, r *profiles.EgressRule) string {
	switch {
	case l.deny && kind == Added:
		return target(r) + " is now denied"
	case l.deny:
		return target(r) + " is no longer denied"
	case kind == Added:
		return "may now reach " + target(r)
	default:
		return "may no longer reach " + target(r)
	}
}

// judge sets the class of an added or removed entry.
func (n *network) judge(l hostLists, ch *Change, r *profiles.EgressRule) {
	wider := (ch.Kind == Added) != l.deny
	switch {
	case addresses(r.Host):
		n.judgeAddress(l, ch, r)
	case n.Many && wider:
		*ch = ch.undecided(ch.Says, "there are too many hosts and ports to compare them all")
	case n.Many:
		ch.Class = Narrows
	case wider && n.Gained.Has(r):
		ch.Class = Widens
		n.told.Tell(r)
	case !wider && n.Lost.Has(r):
		ch.Class = Narrows
	case n.ended(r.Expires):
		ch.Says, ch.Why = moot(ch.Says), "it has expired"
	default:
		ch.Says, ch.Why = moot(ch.Says), "the other entries grant the same"
	}
}

// judgeAddress compares an address entry with those of the other side.
func (n *network) judgeAddress(l hostLists, ch *Change, r *profiles.EgressRule) {
	added := ch.Kind == Added
	others := l.old
	if !added {
		others = l.now
	}
	others = slices.DeleteFunc(slices.Clone(others), func(o profiles.EgressRule) bool { return n.ended(o.Expires) })
	covered := Together(others, r, l.deny) ||
		slices.ContainsFunc(others, func(o profiles.EgressRule) bool { return sameOrMore(&o, r, l.deny) })
	mode := n.comparer.new.Egress.Mode == profiles.EgressAllowlist
	allowlist := mode && !n.ended(r.Expires)
	switch {
	case !l.deny && !added && allowlist && Eased(r, l.now):
		ch.Class, ch.Why = Widens, "another entry gives these addresses more"
	case !l.deny && added && covered && allowlist && adds(r, l.old, l.now):
		ch.Class, ch.Why = Widens, "limits that are not shared add up"
	case covered || n.ended(r.Expires):
		ch.Says, ch.Why = moot(ch.Says), "other entries cover it, or it has expired"
	case l.deny && !n.Reached(added):
		ch.Says, ch.Why = moot(ch.Says), "nothing is reached at all"
	case added == l.deny:
		ch.Class = Narrows
	case !l.deny && !mode:
		ch.Says, ch.Why = moot(ch.Says), "the mode of the network reaches no listed host"
	default:
		ch.Class = Widens
	}
}

// described compares an entry that both lists have: its powers, reason and shared limits.
func (n *network) described(s spot, x, y *profiles.EgressRule) {
	if x.Powers != y.Powers {
		n.told.Tell(y)
	}
	comparePowers(n.comparer, s.part(".powers", ""), x.Powers, y.Powers)
	if x.Reason != y.Reason || x.Exception != y.Exception {
		was, is := strings.TrimSpace(x.Exception+" "+x.Reason), strings.TrimSpace(y.Exception+" "+y.Reason)
		ch := s.part(".reason", "").changed(was, is)
		ch.Exception = cmp.Or(y.Exception, x.Exception)
		n.add(ch.as(Neutral, x.Host+": another reason is given", "a reason grants nothing"))
	}
	if x.Of != y.Of {
		n.add(s.part(".of", "").changed(x.Of, y.Of).undecided(x.Host+": shares its limits with another entry",
			"limits that are not shared add up"))
	}
	before := len(n.out)
	shared(n.comparer, s.part(".under", ""), x.Under, y.Under)
	for i := range n.out[before:] {
		n.told.Tell(y)
		ch := &n.out[before+i]
		if counted := !n.Many && !addresses(y.Host); counted && ch.Class == Widens && !n.Gained.Has(y) {
			ch.Class, ch.Why = Neutral, "what the entries have together is no more than before"
		}
	}
	n.residue(s, reflect.ValueOf(*x), reflect.ValueOf(*y))
}

// shared compares the entries of layers above whose limits apply in addition to an
// entry's own.
func shared(c *comparer, s spot, a, b []profiles.Budget) {
	was, is := budgets(a), budgets(b)
	looser, stricter := Budgets(a, b)
	says := s.subject + ": shares the limits of " + nowWas(cmp.Or(is, "nothing"), cmp.Or(was, "nothing"))
	ch := s.changed(was, is).as(Neutral, says, "")
	switch {
	case looser:
		ch.Class = Widens
	case stricter:
		ch.Class = Narrows
	case was == is:
		return
	}
	c.add(ch)
}

// budgets formats entries of layers above.
func budgets(list []profiles.Budget) string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = target(&profiles.EgressRule{Host: b.Host, Ports: b.Ports, AnyPort: b.AnyPort, Methods: b.Methods,
			Paths: b.Paths, Limits: b.Limits})
	}
	return strings.Join(out, ", ")
}
