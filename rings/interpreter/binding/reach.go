package binding

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// Reach caches the deciders of what a run may reach, until something changes them. So a caller that asks for
// every live connection gets the same deciders each time. The zero Reach is ready. It is not safe for concurrent
// use: its owner has to lock.
type Reach struct {
	gen   *Generation
	taken int
	watch *bool // Watch.Third; nil without a Watch
	made  []*profiles.Decider
}

// Watch is asked about all that the deciders allow. Third says that it refuses more than
// before. Then new deciders are made, so that a caller that compares them decides again.
type Watch struct {
	Ask   profiles.Watch
	Third bool
}

// Deciders returns the deciders of every policy that binds the run and of g, the generation
// in force. If hosts were taken from the run, one more decider denies them first. What was
// handed to the run narrows the policy of its start. g has to allow as well, so it cannot
// widen that. The result is shared and must not be changed. revoked may only grow between
// calls. w watches the run; may be nil.
func (k *Reach) Deciders(b *Binding, g *Generation, revoked map[string]bool, w *Watch) []*profiles.Decider {
	if b == nil || g == nil {
		return nil
	}
	sameWatch := (k.watch == nil) == (w == nil) && (w == nil || *k.watch == w.Third)
	if k.made != nil && k.gen == g && k.taken == len(revoked) && sameWatch {
		return k.made
	}
	k.gen, k.taken, k.made, k.watch = g, len(revoked), b.reach(g, revoked), nil
	if w != nil {
		k.watch = &w.Third
		for i, d := range k.made {
			k.made[i] = d.Watched(w.Ask)
		}
	}
	return k.made
}

func (b *Binding) reach(g *Generation, revoked map[string]bool) (out []*profiles.Decider) {
	if d := b.without(revoked); d != nil {
		out = append(out, d)
	}
	now := g.Agent(b.agent)
	_, closed := g.Closed(b.executor)
	switch {
	case !g.Open:
		return append(out, (*profiles.Set)(nil).Decider(b.agent, profiles.Environment{}))
	case closed:
		return append(out, nil) // a nil decider refuses everything
	case now == nil:
		return append(out, (&profiles.Set{Revision: g.Revision}).Decider(b.agent, profiles.Environment{}))
	}
	for _, a := range b.agents {
		out = append(out, a.decider)
	}
	if !slices.Contains(b.agents, now) {
		out = append(out, now.decider)
	}
	return out
}

// without returns the decider of the policy of the start without the hosts that were taken
// from the run. It is nil if none was taken.
func (b *Binding) without(revoked map[string]bool) *profiles.Decider {
	a := b.agents[0].Profile
	a.Egress.Deny, a.Egress.Gateways = slices.Clone(a.Egress.Deny), slices.Clone(a.Egress.Gateways)
	taken := false
	for grant := range revoked {
		host, ok := strings.CutPrefix(grant, grantHost)
		if !ok {
			continue
		}
		taken = true
		a.Egress.Deny = append(a.Egress.Deny,
			profiles.EgressRule{Host: host, AnyPort: true, Reason: "it was taken from the run"})
		a.Egress.Gateways = slices.DeleteFunc(a.Egress.Gateways, func(w profiles.Gateway) bool {
			return host == w.Name+"."+egress.Domain || host == "*."+egress.Domain
		})
	}
	if !taken {
		return nil
	}
	return profiles.NewDecider(a, b.agents[0].Revision, profiles.Environment{})
}
