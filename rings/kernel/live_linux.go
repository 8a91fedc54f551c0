package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/rootfs"
)

// Prepare checks every path that s grants to an executor of this host. A path that cannot be enforced rejects
// the set, with an error whose method Executor names the executor. A tier that this host cannot give does not
// reject the set. Launch denies it for each run, so that one agent's tier does not close the others. The commit
// cannot fail. It ends the guests that have something s does not grant, and drops guests that were prepared for
// profiles that are not in s. A host that lacked a layer is examined again.
func (r *Ring) Prepare(ctx context.Context, s *profiles.Set) (commit func(), err error) {
	if s == nil {
		return nil, errors.New("prepare kernel ring: no set")
	}
	next, err := r.resolve(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	return func() { r.commit(next, nil) }, nil
}

// resolve checks every path of a set. before is nil, or the generation of the same set that is resolved again.
// Paths that cannot be resolved again keep their old state.
func (r *Ring) resolve(ctx context.Context, s *profiles.Set, before *generation) (*generation, error) {
	next := r.next(s, before)
	err := r.eachProfile(ctx, s, func(h holder, k profiles.Kernel) error {
		if k.Network == profiles.NetworkOwn && next.ports[h.agent] == nil {
			next.ports[h.agent] = listenedPorts(next.deciders.Of(h.agent, nil))
		}
		if err := next.add(h, k, r.places(next), before); err != nil {
			return &executorError{h.executor, fmt.Errorf("agent %s: %w", h.agent, err)}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// next is the generation of a set, without its profiles.
func (r *Ring) next(s *profiles.Set, before *generation) *generation {
	next := &generation{
		set: s, deciders: newRunDeciders(s), kernels: map[holder]profiles.Kernel{},
		grants: map[string][]initproto.Mount{}, known: map[string]initproto.Mount{}, ports: map[string][]uint16{},
	}
	var written []profiles.PathRule
	for _, agent := range s.Agents {
		for _, executor := range r.cfg.Executors {
			if k, ok := agent.Kernel(executor); ok {
				written = append(written, k.Write...)
			}
		}
	}
	next.written = rootfs.Real(written, r.places(nil))
	if before != nil { // live guests may write where they could before
		next.written = slices.Compact(slices.Sorted(slices.Values(slices.Concat(next.written, before.written))))
	}
	return next
}

// eachProfile calls do with the profile of each executor of each agent, until one fails.
func (r *Ring) eachProfile(ctx context.Context, s *profiles.Set, do func(holder, profiles.Kernel) error) error {
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("prepare kernel ring: %w", err)
		}
		agent := s.Agents[name]
		for _, executor := range r.cfg.Executors {
			if k, ok := agent.Kernel(executor); ok {
				if err := do(holder{name, executor}, k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Unmet lists every rule for which Prepare would reject the set on this host.
func (r *Ring) Unmet(ctx context.Context, s *profiles.Set) (out []unmet, err error) {
	next := r.next(s, nil)
	err = r.eachProfile(ctx, s, func(h holder, k profiles.Kernel) error {
		err := next.add(h, k, r.places(next), nil)
		if err == nil {
			return nil
		}
		refused := rootfs.Refusals(err)
		for _, no := range refused {
			out = append(
				out,
				unmet{
					Agent: h.agent, Executor: h.executor, Path: no.Path, Rule: no.Rule, Reason: no.Reason,
					Remedy: no.Remedy,
				},
			)
		}
		if len(refused) == 0 {
			out = append(out, unmet{Agent: h.agent, Executor: h.executor, Reason: err.Error()})
		}
		return nil
	})
	return out, err
}

// add resolves the profile of one executor of one agent.
func (g *generation) add(h holder, k profiles.Kernel, at rootfs.Places, before *generation) error {
	digest, err := k.Digest()
	if err != nil {
		return err
	}
	plan, err := rootfs.Resolve(k, "", at)
	switch {
	case before != nil && (err != nil || inWritableFolder(before.changedMounts(digest, plan.Mounts), g.written)):
		plan = rootfs.Plan{Kernel: before.kernels[h], Mounts: before.grants[digest]}
	case err != nil:
		return err
	}
	g.kernels[h], g.grants[digest] = plan.Kernel, plan.Mounts
	for _, m := range plan.Mounts {
		g.known[m.Path] = m
	}
	return nil
}

// commit puts a set in force. If over is not nil, it does so only in place of that generation.
func (r *Ring) commit(next, over *generation) {
	r.mu.Lock()
	if over != nil && r.inForce.Load() != over {
		r.mu.Unlock()
		return // another push was faster
	}
	before := r.inForce.Swap(next)
	stale := func(k kind) bool { return !next.keeps(before, k.profile) || !next.listens(k.ports) }
	maps.DeleteFunc(r.recipes, func(k kind, _ *recipe) bool { return stale(k) })
	r.age++
	if r.found != nil && r.found.kind != "" {
		r.found = nil
	}
	r.emptyLocked(stale)
	var ended []*guest
	for g := range r.live {
		g.listeners.Follow(next.deciders)
		switch next.changeFor(g) {
		case profiles.ChangeSame:
			g.wider = false
		case profiles.ChangeWider:
			g.wider = true
		case profiles.ChangeNarrower:
			ended = append(ended, g)
		default:
			ended = append(ended, g)
		}
	}
	r.mu.Unlock()
	for _, g := range ended {
		_ = g.revoke(executors.ErrRevoked) // the executor's Kill, or Close, meets the error again
	}
}

// keeps reports whether guests that were prepared under the generation before, for the profile with this
// digest, are the same as they would be now.
func (g *generation) keeps(before *generation, digest string) bool {
	now, ok := g.grants[digest]
	if !ok || before == nil {
		return false
	}
	then, ok := before.grants[digest]
	return ok && reflect.DeepEqual(now, then)
}

// listens reports whether a guest of any agent listens on these ports.
func (g *generation) listens(ports string) bool {
	if ports == "" {
		return true
	}
	for _, list := range g.ports {
		if portsText(list) == ports {
			return true
		}
	}
	return false
}

// changeFor returns what the set changes for a guest.
func (g *generation) changeFor(x *guest) profiles.Change {
	if x.agent == "" {
		if grants(x.kernel) {
			return profiles.ChangeNarrower // it has no agent, so no policy grants it that
		}
		return profiles.ChangeSame
	}
	now, ok := g.kernels[holder{x.agent, x.executor}]
	switch {
	case !ok || !x.kernel.Within(now):
		return profiles.ChangeNarrower
	case now.Within(x.base): // a run that was narrowed lacks nothing because of that
		return profiles.ChangeSame
	default:
		return profiles.ChangeWider
	}
}

// grants reports whether a profile grants anything of the host.
func grants(k profiles.Kernel) bool {
	return len(k.Read)+len(k.Write)+len(k.Exec)+len(k.Helpers)+len(k.Libraries) > 0 || k.Network == profiles.NetworkOwn
}

// Status lists the live guests.
func (r *Ring) Status() []Live {
	r.mu.Lock()
	wider := make(map[*guest]bool, len(r.live))
	for g := range r.live {
		wider[g] = g.wider
	}
	r.mu.Unlock()
	list := make([]Live, 0, len(wider))
	for g, restart := range wider {
		around := g.Attestation() // waits for a guest that ends
		list = append(
			list,
			Live{
				Agent: g.agent, Executor: g.executor, Run: g.run(), Profile: around.Profile, Around: around,
				Restart: restart,
			},
		)
	}
	slices.SortFunc(list, func(a, b Live) int {
		return cmp.Or(
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Executor, b.Executor), cmp.Compare(a.Profile, b.Profile),
			cmp.Compare(a.Run, b.Run),
		)
	})
	return list
}
