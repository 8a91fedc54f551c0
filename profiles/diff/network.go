package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles"
)

func (c *comparer) egress(a, b *profiles.Agent) {
	x, y := &a.Egress, &b.Egress
	old, now := orRule(&x.Rule, &a.Rule), orRule(&y.Rule, &b.Rule)
	was, is := fallback(x.Mode, profiles.EgressOff), fallback(y.Mode, profiles.EgressOff)
	n := &network{comparer: c, reachCompared: compareReach(x, y, c.now), now: y, told: Targets{}}
	if was != is {
		c.ranked("egress.mode", "egress", "the network", []string{profiles.EgressOff, profiles.EgressGatewayOnly, profiles.EgressAllowlist}, was, is, old, now)
	}
	n.rules("egress.allow", "egress:", x.Allow, y.Allow, false)
	n.rules("egress.deny", "egress.deny:", x.Deny, y.Deny, true)
	n.rest(was != is)
	c.gateways(x.Gateways, y.Gateways)
	c.residue("egress", "egress", x, y)
}

// network compares two lists of hosts.
type network struct {
	*comparer
	*reachCompared
	now  *profiles.Egress
	told Targets // what changes tell of
}

// target is an entry as a person reads it.
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
	for _, s := range []string{strings.Join(r.Methods, " "), strings.Join(r.Paths, " "), map[bool]string{true: "ech"}[r.ECH], limitsText(r.Limits), expiry(r.Expires)} {
		if s != "" {
			out += " " + s
		}
	}
	return out
}

func limitsText(l profiles.EgressLimits) string {
	var out []string
	for _, one := range []struct {
		n    int64
		text string
	}{{l.UpBytes, size(l.UpBytes) + " up"}, {l.DownBytes, size(l.DownBytes) + " down"}, {l.Connections, plural(int(l.Connections), "connection")}, {l.PerMinute, plain.text(l.PerMinute) + " a minute"}} {
		if one.n != 0 {
			out = append(out, one.text)
		}
	}
	return strings.Join(out, ", ")
}

// rules compares the entries of one list: those of one host and meaning are one.
func (n *network) rules(field, capability string, a, b []profiles.EgressRule, deny bool) {
	old, now := map[string]*profiles.EgressRule{}, map[string]*profiles.EgressRule{}
	index := func(into map[string]*profiles.EgressRule, list []profiles.EgressRule) {
		for i := range list {
			if key := target(&list[i]); into[key] == nil {
				into[key] = &list[i]
			}
		}
	}
	index(old, a)
	index(now, b)
	came, went := map[string][]string{}, map[string][]string{} // keys by host
	for _, key := range both(old, now) {
		switch x, y := old[key], now[key]; {
		case x == nil:
			came[y.Host] = append(came[y.Host], key)
		case y == nil:
			went[x.Host] = append(went[x.Host], key)
		default:
			n.described(field, capability, x, y)
		}
	}
	for _, host := range both(came, went) {
		if len(came[host]) == 1 && len(went[host]) == 1 {
			n.rewritten(field, capability, old[went[host][0]], now[came[host][0]], a, b, deny)
			continue
		}
		for _, key := range went[host] {
			n.entry(field, capability, old[key], nil, a, b, deny)
		}
		for _, key := range came[host] {
			n.entry(field, capability, nil, now[key], a, b, deny)
		}
	}
}

// entry tells of an entry that came or went.
func (n *network) entry(field, capability string, x, y *profiles.EgressRule, a, b []profiles.EgressRule, deny bool) {
	ch, r := Change{Kind: Added, Field: field, Class: Neutral}, y
	if y != nil {
		ch.New, ch.NewRule = target(y), &y.Rule
	} else {
		r = x
		ch.Kind, ch.Old, ch.OldRule = Removed, target(x), &x.Rule
	}
	ch.Capability, ch.Exception = capability+r.Host, r.Exception
	ch.Says = n.says(ch.Kind, target(r), deny)
	n.judge(&ch, r, a, b, deny)
	if ch.Class == Neutral && deny && y == nil {
		ch.lifted(&x.Rule, n.says(ch.Kind, target(x), deny))
	}
	if ch.Class == Narrows && !deny {
		ch.Says = but(ch.Says, n.inside(r, b))
	}
	n.add(ch)
}

// inside lists the entries for a part of the names or addresses of one that is gone.
func (n *network) inside(r *profiles.EgressRule, list []profiles.EgressRule) (out []string) {
	for i := range list {
		if y := &list[i]; Within(y.Host, r.Host) && !n.ended(y.Expires) && n.now.Mode == profiles.EgressAllowlist {
			out = append(out, target(y))
		}
	}
	return out
}

// rewritten tells of the one entry for a host that says something else.
func (n *network) rewritten(field, capability string, x, y *profiles.EgressRule, a, b []profiles.EgressRule, deny bool) {
	went := Change{Kind: Removed, Class: Neutral}
	came := Change{Kind: Added, Class: Neutral}
	n.judge(&went, x, a, b, deny)
	n.judge(&came, y, a, b, deny)
	ch := Change{Kind: Changed, Class: ClassOf([]Change{went, came}), Capability: capability + y.Host, Field: field, Old: target(x), New: target(y), OldRule: &x.Rule, NewRule: &y.Rule,
		Exception: fallback(y.Exception, x.Exception), Undecided: came.Undecided || went.Undecided, Why: fallback(came.Why, went.Why), Says: "may reach " + target(y) + " instead of " + target(x)}
	if deny {
		ch.Says = target(y) + " is denied instead of " + target(x)
	}
	if ch.Class != Neutral && !ch.Undecided {
		ch.Why = ""
	}
	n.add(ch)
	n.powers(field+".powers", capability+y.Host, y.Host, x.Powers, y.Powers, &x.Rule, &y.Rule)
	if under, differ := shared(field, capability+y.Host, y.Host, x.Under, y.Under, &x.Rule, &y.Rule); differ && (n.Many || addresses(y.Host)) {
		n.add(under)
	}
}

func (n *network) says(kind Kind, key string, deny bool) string {
	switch {
	case deny && kind == Added:
		return key + " is now denied"
	case deny:
		return key + " is no longer denied"
	case kind == Added:
		return "may now reach " + key
	default:
		return "may no longer reach " + key
	}
}

// judge gives the class of an entry that came or went.
func (n *network) judge(ch *Change, r *profiles.EgressRule, a, b []profiles.EgressRule, deny bool) {
	added := ch.Kind == Added
	wider := added != deny
	switch {
	case addresses(r.Host):
		n.judgeAddress(ch, r, a, b, deny)
	case n.Many:
		ch.Class = Widens
		if !wider {
			ch.Class = Narrows
		} else {
			ch.Undecided, ch.Why = true, "there are too many hosts and ports to compare them all"
		}
	case wider && n.Gained.Has(r):
		ch.Class = Widens
		n.told.Tell(r)
	case !wider && n.Lost.Has(r):
		ch.Class = Narrows
	default:
		ch.Says = moot(ch.Says)
		ch.Why = "the other entries give the same"
		if n.ended(r.Expires) {
			ch.Why = "it has expired"
		}
	}
}

// judgeAddress compares an entry for addresses with those of the other side.
func (n *network) judgeAddress(ch *Change, r *profiles.EgressRule, a, b []profiles.EgressRule, deny bool) {
	added := ch.Kind == Added
	others := a
	if !added {
		others = b
	}
	others = slices.DeleteFunc(slices.Clone(others), func(o profiles.EgressRule) bool { return n.ended(o.Expires) })
	covered := slices.ContainsFunc(others, func(o profiles.EgressRule) bool { return sameOrMore(&o, r, deny) }) || Together(others, r, deny)
	allowlist := n.now.Mode == profiles.EgressAllowlist && !n.ended(r.Expires)
	switch {
	case !deny && !added && allowlist && Eased(r, b):
		ch.Class, ch.Why = Widens, "another entry gives these addresses more"
	case !deny && added && covered && allowlist && adds(r, a, b):
		ch.Class, ch.Why = Widens, "limits that are not shared add up"
	case covered || n.ended(r.Expires):
		ch.Says, ch.Why = moot(ch.Says), "other entries cover it, or it has expired"
	case deny && !n.Reached(added):
		ch.Says, ch.Why = moot(ch.Says), "nothing is reached at all"
	case added == deny:
		ch.Class = Narrows
	case !deny && n.now.Mode != profiles.EgressAllowlist:
		ch.Says, ch.Why = moot(ch.Says), "the mode of the network reaches no listed host"
	default:
		ch.Class = Widens
	}
}

// described compares what is said about an entry that both lists have.
func (n *network) described(field, capability string, x, y *profiles.EgressRule) {
	capability += x.Host
	if x.Powers != y.Powers {
		n.told.Tell(y)
	}
	n.powers(field+".powers", capability, x.Host, x.Powers, y.Powers, &x.Rule, &y.Rule)
	if x.Reason != y.Reason || x.Exception != y.Exception {
		n.add(Change{Kind: Changed, Class: Neutral, Capability: capability, Field: field + ".reason", Old: strings.TrimSpace(x.Exception + " " + x.Reason), New: strings.TrimSpace(y.Exception + " " + y.Reason), Exception: fallback(y.Exception, x.Exception), OldRule: &x.Rule, NewRule: &y.Rule,
			Says: "the reason for " + x.Host + " is another one", Why: "a reason grants nothing"})
	}
	if x.Of != y.Of {
		n.add(Change{Kind: Changed, Undecided: true, Capability: capability, Field: field + ".of", Old: x.Of, New: y.Of, OldRule: &x.Rule, NewRule: &y.Rule,
			Says: x.Host + " shares its limits with another entry", Why: "limits that are not shared add up"})
	}
	if ch, differ := shared(field, capability, x.Host, x.Under, y.Under, &x.Rule, &y.Rule); differ {
		if counted := !n.Many && !addresses(y.Host); counted && ch.Class == Widens && !n.Gained.Has(y) {
			ch.Class, ch.Why = Neutral, "what the entries have together is no more than before"
		}
		n.told.Tell(y)
		n.add(ch)
	}
	n.residue(field, capability, x, y)
}

// shared compares the entries of layers above that something shares the limits of.
func shared(field, capability, what string, a, b []profiles.Budget, old, now *profiles.Rule) (Change, bool) {
	was, is := budgets(a), budgets(b)
	looser, stricter := Budgets(a, b)
	if was == is && !looser && !stricter {
		return Change{}, false
	}
	ch := Change{Kind: Changed, Class: Neutral, Capability: capability, Field: field + ".under", Old: was, New: is, OldRule: old, NewRule: now,
		Says: what + " shares the limits of " + fallback(is, "nothing") + ", and not of " + fallback(was, "nothing")}
	switch {
	case looser:
		ch.Class = Widens
	case stricter:
		ch.Class = Narrows
	}
	return ch, true
}

// budgets shows entries of layers above, each as it is known.
func budgets(list []profiles.Budget) string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = target(&profiles.EgressRule{Host: b.Host, Ports: b.Ports, AnyPort: b.AnyPort, Methods: b.Methods, Paths: b.Paths, Limits: b.Limits})
	}
	return strings.Join(out, ", ")
}

// rest tells of targets that were gained and that no entry tells of.
func (n *network) rest(mode bool) {
	left := n.Left(n.told)
	if len(left) == 0 || mode {
		return
	}
	few := strings.Join(left[:min(len(left), 8)], ", ")
	n.add(Change{Kind: Changed, Capability: "egress", Field: "egress.allow", New: few,
		Says: "more may be done with " + few, Why: "no single entry says it: the lists together do"})
}

// gateways compares the virtual hosts by name; the first of a name counts.
func (c *comparer) gateways(a, b []profiles.Gateway) {
	old, now := map[string]*profiles.Gateway{}, map[string]*profiles.Gateway{}
	index := func(into map[string]*profiles.Gateway, list []profiles.Gateway) {
		for i := range list {
			if into[list[i].Name] == nil && !c.ended(list[i].Expires) {
				into[list[i].Name] = &list[i]
			}
		}
	}
	index(old, a)
	index(now, b)
	for _, name := range both(old, now) {
		x, y := old[name], now[name]
		switch {
		case x == nil:
			c.add(Change{Kind: Added, Capability: "gateway:" + name, Field: "egress.gateways", New: gateway(y), NewRule: &y.Rule, Says: "may now reach the gateway " + name + " (" + gateway(y) + ")"})
		case y == nil:
			c.add(Change{Kind: Removed, Class: Narrows, Capability: "gateway:" + name, Field: "egress.gateways", Old: gateway(x), OldRule: &x.Rule, Says: "may no longer reach the gateway " + name})
		default:
			c.gateway(x, y)
		}
	}
}

func gateway(g *profiles.Gateway) string {
	out := fallback(g.Upstream, "the upstream that the host names")
	if g.Credential != "" {
		out += " with the credential " + g.Credential
	}
	return out
}

func (c *comparer) gateway(x, y *profiles.Gateway) {
	field, capability, old, now := "egress.gateways", "gateway:"+x.Name, &x.Rule, &y.Rule
	if x.Upstream != y.Upstream {
		c.add(Change{Kind: Changed, Undecided: true, Capability: capability, Field: field + ".upstream", Old: fallback(x.Upstream, "the host's"), New: fallback(y.Upstream, "the host's"), OldRule: old, NewRule: now,
			Says: "the gateway " + x.Name + " goes to " + fallback(y.Upstream, "what the host names") + " now", Why: "another upstream is another place to send data to"})
	}
	if x.Credential != y.Credential {
		ch := Change{Kind: Changed, Undecided: true, Capability: capability, Field: field + ".credential", Old: fallback(x.Credential, "none"), New: fallback(y.Credential, "none"), OldRule: old, NewRule: now,
			Says: "the gateway " + x.Name + " uses the credential " + fallback(y.Credential, "none") + " now", Why: "what the credential gives is the host's to say"}
		if y.Credential == "" {
			ch.Undecided, ch.Class, ch.Why = false, Narrows, "requests go out without a credential"
		}
		c.add(ch)
	}
	if more, fewer := missing(y.Addresses, x.Addresses), missing(x.Addresses, y.Addresses); len(more)+len(fewer) > 0 {
		ch := Change{Kind: Changed, Capability: capability, Field: field + ".addresses", Old: listed(x.Addresses, "public ones"), New: listed(y.Addresses, "public ones"), OldRule: old, NewRule: now,
			Says: fmt.Sprintf("the gateway %s may be dialed at %s", x.Name, listed(y.Addresses, "public addresses"))}
		if len(more) == 0 {
			ch.Class = Narrows
		}
		c.add(ch)
	}
	c.only(list{field: field + ".methods", capability: capability, gives: "the gateway " + x.Name + " takes", all: "every method"}, x.Methods, y.Methods, old, now)
	c.only(list{field: field + ".paths", capability: capability, gives: "the gateway " + x.Name + " takes", all: "every path"}, x.Paths, y.Paths, old, now)
	if more, fewer := missing(y.Headers, x.Headers), missing(x.Headers, y.Headers); len(more)+len(fewer) > 0 {
		ch := Change{Kind: Changed, Capability: capability, Field: field + ".headers", Old: listed(x.Headers, "the usual ones"), New: listed(y.Headers, "the usual ones"), OldRule: old, NewRule: now,
			Says: fmt.Sprintf("the gateway %s passes the fields %s beside the usual ones", x.Name, listed(y.Headers, "none"))}
		if len(more) == 0 {
			ch.Class = Narrows
		}
		c.add(ch)
	}
	for _, l := range []struct {
		name, what string
		unit       unit
		a, b       int64
	}{
		{"upBytes", "what is sent to ", octets, x.Limits.UpBytes, y.Limits.UpBytes}, {"downBytes", "what is received from ", octets, x.Limits.DownBytes, y.Limits.DownBytes},
		{"connections", "number of connections to ", plain, x.Limits.Connections, y.Limits.Connections}, {"perMinute", "number of requests a minute to ", plain, x.Limits.PerMinute, y.Limits.PerMinute},
	} {
		c.bounded(field+".limits."+l.name, capability, l.what+x.Name, l.unit, l.a, l.b, old, now)
	}
	c.residue(field+".limits", capability, &x.Limits, &y.Limits)
	c.until(field, capability, "may reach the gateway "+x.Name, "", "", x.Expires, y.Expires, old, now)
	if x.Reason != y.Reason {
		c.add(Change{Kind: Changed, Class: Neutral, Capability: capability, Field: field + ".reason", Old: x.Reason, New: y.Reason, OldRule: old, NewRule: now,
			Says: "the reason for the gateway " + x.Name + " is another one", Why: "a reason grants nothing"})
	}
	c.powers(field+".powers", capability, "the gateway "+x.Name, x.Powers, y.Powers, old, now)
	if ch, differ := shared(field, capability, "the gateway "+x.Name, x.Under, y.Under, old, now); differ {
		c.add(ch)
	}
	c.residue(field, capability, x, y)
}
