package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles"
)

// reachTarget is a target that represents others.
type reachTarget struct {
	host string
	port uint16
}

// share compares limits whose use is counted together. The bytes and connections of one entry are counted in
// one sum. For an entry of a layer above, one sum covers all entries within that entry. So if an entry with a
// limit is split in two, the limits of the two parts add up.
type share struct {
	limits  profiles.EgressLimits
	now     map[string]profiles.EgressLimits // the limits of the targets now, by the sum in which they count
	targets []reachTarget
}

// bound is the limits of one sum, with the key of the sum.
type bound struct {
	key    string
	limits profiles.EgressLimits
}

// bounds lists the limits that the listeners apply to an entry: first the limits of the layers above, and
// last the entry's own.
func bounds(r *profiles.EgressRule) (out []bound) {
	for i := range r.Under {
		b := &r.Under[i]
		out = append(out, bound{"above " + above(b), b.Limits})
	}
	key := fmt.Sprintf("%q %v %t %q %q", cmp.Or(r.Of, r.Host), r.Ports, r.AnyPort, r.Methods, r.Paths)
	return append(out, bound{key, r.Limits})
}

// above identifies an entry of a layer above. If two layers have the same entry, the limits of both apply.
func above(b *profiles.Budget) string {
	return fmt.Sprintf("%q %v %t %q %q", b.Host, b.Ports, b.AnyPort, b.Methods, b.Paths)
}

// holds returns the limits of an entry that are not looser than the limits `than`. If there are several, it
// returns those that are shared with the most other entries. If there are none, it returns the entry's own
// limits.
func holds(r *profiles.EgressRule, than profiles.EgressLimits) bound {
	all := bounds(r)
	for _, b := range all {
		if !looserLimits(b.limits, than) {
			return b
		}
	}
	return all[len(all)-1]
}

func (s *share) put(b bound) {
	if s.now == nil {
		s.now = map[string]profiles.EgressLimits{}
	}
	s.now[b.key] = b.limits
}

// share records the limits that bound a target, in the old and the new list.
func (n *reachCompared) share(before, after []*profiles.EgressRule, t reachTarget) {
	for _, r := range before {
		for _, method := range orAny(r.Methods) {
			for _, path := range orAny(r.Paths) {
				is := first(after, method, path)
				if first(before, method, path) != r || is == nil {
					continue
				}
				for _, was := range bounds(r) {
					if was.limits != (profiles.EgressLimits{}) {
						n.shared(was).add(holds(is, was.limits), t)
					}
				}
			}
		}
	}
}

func (n *reachCompared) shared(was bound) *share {
	s := n.shares[was.key]
	if s == nil {
		s = &share{limits: was.limits}
		n.shares[was.key] = s
	}
	return s
}

func (s *share) add(b bound, t reachTarget) {
	s.put(b)
	s.targets = append(s.targets, t)
}

// split marks targets as gained if they had one common limit before, and now have several limits that add up
// to more.
func (n *reachCompared) split() {
	for _, s := range n.shares {
		if !s.more() {
			continue
		}
		for _, t := range s.targets {
			n.Gained.put(t.host, t.port)
		}
	}
}

// more reports whether the limits in force now add up to more than those before.
func (s *share) more() bool {
	var sum profiles.EgressLimits
	for _, l := range s.now {
		if looserLimits(l, s.limits) {
			return true
		}
		sum.UpBytes += l.UpBytes
		sum.DownBytes += l.DownBytes
		sum.Connections += l.Connections
		sum.PerMinute += l.PerMinute
	}
	return looserLimits(sum, s.limits)
}

// Budgets compares the shared limits of two entries. It reports whether some limit is now looser, and whether
// some limit is now stricter.
func Budgets(old, now []profiles.Budget) (looser, stricter bool) {
	return exceed(now, old), exceed(old, now)
}

// exceed reports whether a limit in `than` is missing in list, or is looser in list.
func exceed(list, than []profiles.Budget) bool {
	for i := range than {
		same := slices.ContainsFunc(list, func(b profiles.Budget) bool {
			return above(&b) == above(&than[i]) && !looserLimits(b.Limits, than[i].Limits)
		})
		if !same && than[i].Limits != (profiles.EgressLimits{}) {
			return true
		}
	}
	return false
}

// Eased reports whether another entry covers addresses of the removed entry r and allows more for them: a
// higher limit, or fewer powers.
func Eased(r *profiles.EgressRule, others []profiles.EgressRule) bool {
	for i := range others {
		o := &others[i]
		if overlap(r, o) && looser([]*profiles.EgressRule{o}, []*profiles.EgressRule{r}) {
			return true
		}
	}
	return false
}

// adds reports whether an added address entry gives more in total than before: the entry and other entries of
// its list now bound the addresses that one old entry bounded.
func adds(r *profiles.EgressRule, old, now []profiles.EgressRule) bool {
	for i := range old {
		o := &old[i]
		if !overlap(r, o) {
			continue
		}
		for _, was := range bounds(o) {
			s := share{limits: was.limits}
			for j := range now {
				if overlap(&now[j], o) {
					s.put(holds(&now[j], was.limits))
				}
			}
			if len(s.now) > 1 && s.more() {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two address entries have a target in common.
func overlap(a, b *profiles.EgressRule) bool {
	x, y := prefix(a.Host), prefix(b.Host)
	if !x.IsValid() || !y.IsValid() || !x.Overlaps(y) {
		return false
	}
	return a.AnyPort || b.AnyPort || len(missingPorts(a.Ports, b.Ports)) < len(a.Ports)
}
