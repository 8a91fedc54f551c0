// The comparison of two lists of hosts: the targets that only one of them allows.
//
// Entries for a name, or for a domain above it, allow a name and a port. So the names in the lists, and one
// unknown name below each, represent every target, on each port in the lists and on one other port. Both lists are
// asked about each target, as the listeners ask them. Addresses are compared entry by entry, because an entry inside a
// range can open more than the range does.

package diff

import (
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/powers"
)

// other is a label that no list has.
const other = "ringd-any-other"

// maxTargets limits how many targets the lists are asked about. If there are more targets, every added entry
// widens.
const maxTargets = 2_000_000

// reachable is the network of one side.
type reachable struct {
	egress *profiles.Egress
	list   *profiles.Decider
	at     time.Time
}

func reachSide(e *profiles.Egress, at time.Time) *reachable {
	if at.IsZero() {
		at = time.Unix(0, 0).UTC() // before anything expires
	}
	list := profiles.NewDecider(profiles.Agent{Egress: *e}, "", profiles.Environment{Now: at})
	return &reachable{egress: e, list: list, at: at}
}

// reachCompared is the result of comparing two lists.
type reachCompared struct {
	old, now *reachable
	// Gained has the targets that only the new list allows, or allows with fewer restrictions. Lost has the
	// same for the old list.
	Gained, Lost Targets
	Many         bool // there are too many targets to ask about: Gained and Lost are empty
	shares       map[string]*share
}

// compareReach compares two networks as of the time at. If at is zero, nothing has expired.
func compareReach(old, now *profiles.Egress, at time.Time) *reachCompared {
	n := &reachCompared{old: reachSide(old, at), now: reachSide(now, at), Gained: Targets{}, Lost: Targets{},
		shares: map[string]*share{}}
	n.ask()
	n.split()
	return n
}

// Left lists the gained targets that no reported entry covers, sorted.
func (n *reachCompared) Left(told Targets) (left []string) {
	for host, ports := range n.Gained {
		if strings.HasPrefix(host, "*.") {
			continue
		}
		for port := range ports {
			if !told.of(host, port) {
				entry := host
				if domain, is := strings.CutPrefix(host, other+"."); is {
					entry = "*." + domain // the names below it that no list has
				}
				left = append(left, entry+":"+strconv.Itoa(int(port)))
			}
		}
	}
	slices.Sort(left)
	left = slices.Compact(left)
	all := slices.Clone(left)
	return slices.DeleteFunc(left, func(s string) bool {
		return slices.ContainsFunc(all, func(o string) bool { return Within(s, o) }) // with its port
	})
}

// Reached reports whether the old or the new list allows any target.
func (n *reachCompared) Reached(old bool) bool {
	if old {
		return n.old.any()
	}
	return n.now.any()
}

// ask asks both lists about every representative target.
func (n *reachCompared) ask() {
	hosts, ports := map[string]bool{}, map[uint16]bool{80: true, 443: true}
	for _, side := range []*reachable{n.old, n.now} {
		for _, rules := range [][]profiles.EgressRule{side.egress.Allow, side.egress.Deny} {
			for _, r := range rules {
				for _, p := range r.Ports {
					ports[uint16(p)] = true //nolint:gosec // the compiler writes ports of 16 bits
				}
				if !addresses(r.Host) {
					name := strings.TrimPrefix(r.Host, "*.")
					hosts[name], hosts[other+"."+name] = true, true
				}
			}
		}
	}
	unlisted := uint16(1)
	for ports[unlisted] {
		unlisted++
	}
	ports[unlisted] = true
	if n.Many = len(hosts)*len(ports) > maxTargets; n.Many {
		return
	}
	for host := range hosts {
		for port := range ports {
			n.compare(host, port)
		}
	}
}

// Targets maps the entry that would cover a target (a name, or *. before a domain above it) to ports.
type Targets map[string]map[uint16]bool

// entriesFor yields the entries that cover a name: the name, and *. before each domain above it.
func entriesFor(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for entry, rest, more := host, host, true; more && yield(entry); entry = "*." + rest {
			_, rest, more = strings.Cut(rest, ".")
		}
	}
}

// put adds a target under every entry that covers it.
func (t Targets) put(host string, port uint16) {
	for entry := range entriesFor(host) {
		if t[entry] == nil {
			t[entry] = map[uint16]bool{}
		}
		t[entry][port] = true
	}
}

// Has reports whether an entry covers one of the targets.
func (t Targets) Has(r *profiles.EgressRule) bool {
	ports := t[r.Host]
	if r.AnyPort || len(r.Ports) == 0 {
		return len(ports) > 0
	}
	return slices.ContainsFunc(r.Ports, func(p int) bool { return ports[uint16(p)] }) //nolint:gosec // as above
}

// Tell records an entry that a change covers.
func (t Targets) Tell(r *profiles.EgressRule) {
	if t[r.Host] == nil {
		t[r.Host] = map[uint16]bool{}
	}
	if r.AnyPort || len(r.Ports) == 0 {
		t[r.Host][0] = true // every port
	}
	for _, p := range r.Ports {
		t[r.Host][uint16(p)] = true //nolint:gosec // as above
	}
}

// of reports whether a reported entry covers a target.
func (t Targets) of(host string, port uint16) bool {
	for entry := range entriesFor(host) {
		if t[entry][0] || t[entry][port] {
			return true
		}
	}
	return false
}

// addresses reports whether an entry is for addresses.
func addresses(host string) bool {
	_, one := netip.ParseAddr(host)
	_, block := netip.ParsePrefix(host)
	return one == nil || block == nil
}

func (n *reachCompared) compare(host string, port uint16) {
	to := egress.Dest{Name: host, Port: port}
	before, was := n.old.match(to)
	after, is := n.now.match(to)
	var more, less bool
	switch {
	case was && is:
		more, less = looser(after, before), looser(before, after)
		n.share(before, after, reachTarget{host, port})
	default:
		more, less = is, was
	}
	if more {
		n.Gained.put(host, port)
	}
	if less {
		n.Lost.put(host, port)
	}
}

// match returns the rules that allow a target, the deciding one first.
func (r *reachable) match(to egress.Dest) ([]*profiles.EgressRule, bool) {
	c := profiles.Connect(to, r.at, r.list)
	m := c.Match()
	if !c.Allowed() || m.Virtual != 0 {
		return nil, false
	}
	out := make([]*profiles.EgressRule, len(m.Entries))
	for i, at := range m.Entries {
		out[i] = &r.egress.Allow[at]
	}
	return out, len(out) > 0
}

// looser reports whether rules allow a request that the rules than do not allow. It tries the requests that
// each rule names.
func looser(rules, than []*profiles.EgressRule) bool {
	for _, r := range rules {
		if r.ECH && !slices.ContainsFunc(than, func(o *profiles.EgressRule) bool { return o.ECH }) {
			return true
		}
		for _, method := range orAny(r.Methods) {
			for _, path := range orAny(r.Paths) {
				mine, theirs := first(rules, method, path), first(than, method, path)
				if theirs == nil || mine == nil || looserLimits(mine.Limits, theirs.Limits) ||
					fewerPowers(mine, theirs) || outlasts(latest(rules, method, path), latest(than, method, path)) {
					return true
				}
			}
		}
	}
	return false
}

// orAny returns list. If the list is empty, which means everything, it returns a list with one "".
func orAny(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// lets reports whether a rule allows a method on a path. "" means every method or every path.
func lets(r *profiles.EgressRule, method, path string) bool {
	if len(r.Methods) > 0 && (method == "" || !slices.Contains(r.Methods, method)) {
		return false
	}
	return len(r.Paths) == 0 || path != "" && slices.ContainsFunc(r.Paths, func(p string) bool {
		return p == "/" || path == p || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
	})
}

func first(rules []*profiles.EgressRule, method, path string) *profiles.EgressRule {
	for _, r := range rules {
		if lets(r, method, path) {
			return r
		}
	}
	return nil
}

// latest returns the last expiry of the rules for a request. nil means never.
func latest(rules []*profiles.EgressRule, method, path string) *time.Time {
	var last *time.Time
	for _, r := range rules {
		switch {
		case !lets(r, method, path):
		case r.Expires == nil:
			return nil
		case last == nil || r.Expires.After(*last):
			last = r.Expires
		}
	}
	return last
}

func looserLimits(a, b profiles.EgressLimits) bool {
	return higher(a.UpBytes, b.UpBytes) || higher(a.DownBytes, b.DownBytes) ||
		higher(a.Connections, b.Connections) || higher(a.PerMinute, b.PerMinute)
}

// fewerPowers reports whether a rule has fewer powers than another one. The rule of two counts these powers.
func fewerPowers(r, than *profiles.EgressRule) bool {
	a, b := powers.OfHost(*r), than.Powers
	return b.Sensitive && !a.Sensitive || b.Untrusted && !a.Untrusted || b.External && !a.External
}

// higher reports whether limit a is higher than limit b. 0 means no limit.
func higher(a, b int64) bool { return b != 0 && (a == 0 || a > b) }

func (r *reachable) any() bool {
	listed := r.egress.Mode == profiles.EgressAllowlist
	return listed && len(r.egress.Allow) > 0 ||
		(listed || r.egress.Mode == profiles.EgressGatewayOnly) && len(r.egress.Gateways) > 0
}

// sameOrMore reports whether the address entry o allows everything that the address entry r allows.
func sameOrMore(o, r *profiles.EgressRule, deny bool) bool {
	whole, part := prefix(o.Host), prefix(r.Host)
	if !whole.IsValid() || !part.IsValid() || whole.Bits() > part.Bits() || !whole.Contains(part.Addr()) {
		return false
	}
	ports := o.AnyPort || len(o.Ports) == 0 && deny ||
		!r.AnyPort && len(r.Ports) > 0 && len(missingPorts(r.Ports, o.Ports)) == 0
	if deny || !ports {
		return ports
	}
	return o.AnyPort == r.AnyPort && !egress.Opens(part, whole) &&
		!looser([]*profiles.EgressRule{r}, []*profiles.EgressRule{o})
}

func missingPorts(a, b []int) (out []int) {
	for _, p := range a {
		if !slices.Contains(b, p) {
			out = append(out, p)
		}
	}
	return out
}

func prefix(host string) netip.Prefix {
	if p, err := netip.ParsePrefix(host); err == nil {
		return p
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	return netip.Prefix{}
}

// outlasts reports whether the expiry a is after the expiry b. nil means never.
func outlasts(a, b *time.Time) bool { return b != nil && (a == nil || a.After(*b)) }

// Same reports whether two expiries are equal. nil means never.
func Same(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }
