package run

import (
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

// Family has the relations of a run to other runs: the call for which the run was started, and the tree that it
// belongs to. Its fields are set before the run is live. Its methods lock the run. They change a child only
// before other goroutines can see the child.
type Family struct {
	run    *Run
	parent *pause.Parent // nil for a first run
	root   string        // id of the first run of the tree
	depth  int64         // 0 for a first run
	tree   *budget.Tree
}

// Parent returns the call that the run was started for, or nil.
func (f *Family) Parent() *pause.Parent { return f.parent }

// Adopt makes child a subagent of the run, started for one of its open calls. That call
// must pass under g, the generation in force, too. Errors: ErrParent, *profiles.Denial.
func (f *Family) Adopt(g *binding.Generation, child *Run) error {
	r := f.run
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.book.calls[child.family.parent.Call]
	unfit := fmt.Errorf("start run %s: %w", child.id, f.notOpen(child))
	if !f.adoptsLocked(c) || !budget.Spawns(c.Limits) || c.WaitsFor() == pause.ForApprover {
		return unfit
	}
	no := r.book.taken(c, &r.identity)
	var current *binding.Grant
	if no == nil {
		current, no = c.StillGranted(r.bound, g)
	}
	if no != nil {
		return &profiles.Denial{Capability: binding.GrantBridge + c.Bridge, Decision: no.Decision}
	}
	l := budget.Stricter(c.Limits, current.Limits)
	switch {
	case c.Spawned() >= min(c.Agents, l.SpawnPerCall), !f.tree.Within(l.TotalSpawn):
		return unfit
	case f.depth+1 > l.Depth:
		return &profiles.Denial{Capability: binding.GrantBridge + c.Bridge, Decision: profiles.Decision{
			Code: profiles.CodeBridgeDepth, Rule: &current.Rule, Revision: g.Revision,
			Reason: fmt.Sprintf("%s may start subagents %d levels deep", c.Bridge, l.Depth)}}
	}
	if err := r.powers.Adopt(child.powers); err != nil {
		return err
	}
	c.Children = append(c.Children, child)
	child.family.depth, child.family.tree, child.family.root = f.depth+1, f.tree, f.root
	maps.Copy(child.book.revoked, r.book.revoked)
	return nil
}

// Readopt makes a resumed run a subagent of the run again. Error: ErrParent.
func (f *Family) Readopt(child *Run) error {
	r := f.run
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.book.calls[child.family.parent.Call]
	if !f.adoptsLocked(c) {
		return fmt.Errorf("resume run %s: %w", child.id, f.notOpen(child))
	}
	f.join(child)
	for i, old := range c.Children {
		if old.id == child.id { // its last life: the next one takes its place
			c.Children[i] = child
			return nil
		}
	}
	c.Begun = max(c.Begun-1, 0) // it was counted there when it was started
	c.Children = append(c.Children, child)
	return nil
}

// join takes another run, which is not live yet, into the tree of the run. It loses the
// grants that were taken from the run meanwhile.
func (f *Family) join(other *Run) {
	f.tree.Raise(other.family.tree.Total())
	f.run.powers.Join(other.powers)
	other.family.tree = f.tree
	maps.Copy(other.book.revoked, f.run.book.revoked)
}

// notOpen returns the error for a child whose call cannot start subagents.
func (f *Family) notOpen(child *Run) error {
	call := jsonvalue.Clip(child.family.parent.Call, 40)
	return fmt.Errorf("call %s of run %s: %w", call, f.run.id, contract.ErrParent)
}

// adoptsLocked reports whether subagents may be started for the call.
func (f *Family) adoptsLocked(c *call) bool {
	r := f.run
	return !r.ended && r.phase != phaseKeeping && r.phase != phasePaused && c != nil && c.Working() &&
		!c.Place.Waits
}

// Any reports whether one of the subagents of the run lives.
func (f *Family) Any(lives func(*Run) bool) bool {
	f.run.mu.Lock()
	defer f.run.mu.Unlock()
	return f.run.book.anyChild(lives)
}

// LetGo ends the hold of the run if none of its subagents lives, and reports whether it did.
// [Run.Leave] has to follow. The lock of the ring is held.
func (f *Family) LetGo(lives func(*Run) bool) bool {
	r := f.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != phaseHeld || r.ended || r.book.anyChild(lives) {
		return false
	}
	f.endHoldLocked()
	return true
}

// endHoldLocked ends the hold of a run: the run is then paused and no longer live.
func (f *Family) endHoldLocked() {
	r := f.run
	r.setPhaseLocked(phasePaused)
	v := r.viewLocked()
	v.State = executors.StatePaused
	r.final = &v
}

// HandOver gives the subagents and the tree to the next life of the run, which is not
// shared yet. A held run is paused then, and Leave has to follow.
func (f *Family) HandOver(next *Run) {
	r := f.run
	r.mu.Lock()
	defer r.mu.Unlock()
	f.join(next)
	for id, c := range next.book.calls {
		if mine := r.book.calls[id]; mine != nil {
			c.Begun = max(c.Begun-int64(len(mine.Children)), mine.Begun)
			c.Children, mine.Children = mine.Children, nil
		}
	}
	if r.phase == phaseHeld {
		f.endHoldLocked()
	}
}

// Spawned returns how many subagents the calls of the run have started, and how many the
// tree has.
func (f *Family) Spawned() contract.Spawned {
	r := f.run
	r.mu.Lock()
	defer r.mu.Unlock()
	s := contract.Spawned{Total: f.tree.Total(), Calls: map[string]int64{}}
	for id, c := range r.book.calls {
		if c != nil && c.Spawned() > 0 {
			s.Calls[id] = c.Spawned()
		}
	}
	return s
}

// endAll ends subagents whose call or parent has ended. No lock is held.
func endAll(children []*Run) {
	for _, child := range children {
		child.end(ending{State: executors.StateCancelled, Name: profiles.ErrorCancelled,
			Text: "the call that started it has ended"})
	}
}
