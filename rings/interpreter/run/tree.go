package run

import (
	"context"
	"fmt"
	"maps"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Still waits while the run stops: afterwards it runs, is over or has ended. An
// error is ctx's.
func (r *Run) Still(ctx context.Context) error {
	if err := r.lockStill(ctx); err != nil {
		return err
	}
	r.mu.Unlock()
	return nil
}

// Adopt makes child a subagent of the run, started for one of its open calls,
// which must pass under g, the generation in force, too. Errors: ErrParent,
// *profiles.Denial.
func (r *Run) Adopt(g *binding.Generation, child *Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[child.parent.Call]
	unfit := fmt.Errorf("start run %s: call %s of run %s: %w", child.id, jsonvalue.Clip(child.parent.Call, 40), r.id, contract.ErrParent)
	if !r.adoptsLocked(c) || !budget.Spawns(c.Limits) || c.WaitsFor() == pause.ForApprover {
		return unfit
	}
	no := r.takenLocked(c)
	var other *binding.Grant
	if no == nil {
		other, no = c.Still(r.bound, g)
	}
	if no != nil {
		return &profiles.Denial{Capability: binding.GrantBridge + c.Bridge, Decision: no.Decision}
	}
	l := budget.Stricter(c.Limits, other.Limits)
	switch {
	case c.Spawned() >= min(c.Agents, l.SpawnPerCall), !r.tree.Within(l.TotalSpawn):
		return unfit
	case r.depth+1 > l.Depth:
		return &profiles.Denial{Capability: binding.GrantBridge + c.Bridge, Decision: profiles.Decision{
			Code: profiles.CodeBridgeDepth, Rule: &other.Rule, Revision: g.Revision,
			Reason: fmt.Sprintf("%s may start subagents %d levels deep", c.Bridge, l.Depth)}}
	}
	if err := r.two.Adopt(child.two); err != nil {
		return err
	}
	c.Children = append(c.Children, child)
	child.depth, child.tree, child.root = r.depth+1, r.tree, r.root
	maps.Copy(child.revoked, r.revoked)
	return nil
}

// Begins notes what a run begins with, once it is bound, and judges that of a first run.
// The error is a *profiles.Denial.
func (r *Run) Begins(inputs bool, s *contract.SessionState) error {
	return r.two.Begins(inputs, r.parent != nil, s)
}

// adoptsLocked reports whether subagents may be started for the call.
func (r *Run) adoptsLocked(c *call) bool {
	return !r.ended && r.phase != keeping && r.phase != over && c != nil && c.Working()
}

// Readopt makes a resumed run a subagent of the run again.
func (r *Run) Readopt(child *Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[child.parent.Call]
	if !r.adoptsLocked(c) {
		return fmt.Errorf("resume run %s: call %s of run %s: %w", child.id, jsonvalue.Clip(child.parent.Call, 40), r.id, contract.ErrParent)
	}
	r.tree.Raise(child.tree.Total())
	r.two.Join(child.two)
	child.tree = r.tree
	maps.Copy(child.revoked, r.revoked) // with what was taken while it waited
	for i, old := range c.Children {
		if old.id == child.id { // its last life; the next one counts once
			c.Children[i] = child
			return nil
		}
	}
	c.Begun = max(c.Begun-1, 0) // it was counted when it was started
	c.Children = append(c.Children, child)
	return nil
}

// Hold makes a restored run live without a guest.
func (r *Run) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shiftLocked(held)
}

// IsHeld reports whether the run is live without a guest.
func (r *Run) IsHeld() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase == held && !r.ended
}

// Letting ends a hold unless a subagent of it lives, and reports whether it did:
// Leave follows. The ring's lock is held.
func (r *Run) Letting(lives func(*Run) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != held || r.ended || r.anyLocked(lives) {
		return false
	}
	r.overLocked()
	return true
}

// Any reports whether one of the run's subagents lives.
func (r *Run) Any(lives func(*Run) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.anyLocked(lives)
}

func (r *Run) anyLocked(lives func(*Run) bool) bool {
	for _, c := range r.calls {
		if c == nil {
			continue
		}
		for _, child := range c.Children {
			if lives(child) {
				return true
			}
		}
	}
	return false
}

// overLocked makes a held run one that is paused and not live.
func (r *Run) overLocked() {
	r.shiftLocked(over)
	v := r.viewLocked()
	v.State = executors.StatePaused
	r.final = &v
}

// Leave tells who waits that this life of a paused run is over.
func (r *Run) Leave() { r.depart(executors.StatePaused) }

// HandOver gives the subagents and the tree to the next life of the run, which is
// not shared yet. A held run is over then: Leave follows.
func (r *Run) HandOver(next *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tree.Raise(next.tree.Total())
	r.two.Join(next.two)
	next.tree = r.tree
	maps.Copy(next.revoked, r.revoked)
	for id, c := range next.calls {
		if mine := r.calls[id]; mine != nil {
			c.Begun = max(c.Begun-int64(len(mine.Children)), mine.Begun)
			c.Children, mine.Children = mine.Children, nil
		}
	}
	if r.phase == held {
		r.overLocked()
	}
}

// Spawned is what the run's calls have started, and what the tree has.
func (r *Run) Spawned() contract.Spawned {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := contract.Spawned{Total: r.tree.Total(), Calls: map[string]int64{}}
	for id, c := range r.calls {
		if c != nil && c.Spawned() > 0 {
			s.Calls[id] = c.Spawned()
		}
	}
	return s
}
