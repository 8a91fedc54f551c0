package run

import (
	"maps"
	"slices"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// callBook has the calls of one run, what they have used of the budgets of the run, and
// the grants that were taken from it. The lock of the run guards it: each method needs
// that lock held.
type callBook struct {
	calls   map[string]*call // by id; nil for an id that is reserved, or whose call is answered
	order   int              // calls admitted so far
	floor   int64            // calls up to this number were made before the pause
	spent   budget.Spend
	queue   []*call         // wait until fewer of their bridges are open, in the order of N
	places  *executors.Turn // of the call that got a place last
	acts    pause.Acts
	begun   bool     // it is committed that an act of this life has an effect: the acts cannot be repeated
	waiting []string // the calls that the guest waits on and can do nothing before
	revoked map[string]bool
}

func newCallBook() callBook {
	return callBook{calls: map[string]*call{}, revoked: map[string]bool{},
		spent: budget.NewSpend()}
}

// restore fills the book from a pause. Each call is bound to b.
func (k *callBook) restore(p *pause.Record, b *binding.Binding) error {
	k.floor, k.order = p.LastCall, p.Order
	k.spent.Refused, k.acts = p.Refused, p.Acts.Clone()
	maps.Copy(k.spent.Calls, p.Spent)
	for _, g := range p.Revoked {
		k.revoked[g] = true
	}
	for i := range p.Calls {
		c, err := callOfPause(&p.Calls[i], false)
		if err != nil {
			return err
		}
		c.Rebind(b)
		k.calls[c.ID] = c
		k.spent.Open[c.Bridge]++
		c.Place.Has = true
	}
	for i := range p.Queued {
		c, err := callOfPause(&p.Queued[i], true)
		if err != nil {
			return err
		}
		c.Rebind(b)
		k.calls[c.ID] = c
		k.spent.Waiting[c.Bridge]++
		k.enqueue(c)
	}
	return nil
}

// charge counts an admitted call in the budgets. If the call would exceed a limit, charge counts nothing and
// returns the limit. waits reports whether the call has to wait until fewer of its bridge are open.
func (k *callBook) charge(c *call, depth int64, tree *budget.Tree) (waits bool, over *budget.Excess) {
	if c.IsAct() {
		return false, k.spent.AdmitAct(c.Bridge, &k.acts.Count, pause.MaxActs)
	}
	return k.spent.Admit(c.Bridge, c.Limits, c.Agents, depth, tree)
}

// add enters an admitted call.
func (k *callBook) add(c *call) {
	k.order++
	c.N = k.order
	k.calls[c.ID] = c
}

// close closes a call, which gives its place in the budget of open calls back, and returns
// its subagents.
func (k *callBook) close(c *call) []*Run {
	children := c.Children
	c.Children = nil
	if c.State != callClosed {
		c.State, c.Cancel, c.Args = callClosed, nil, nil
		switch {
		case c.Place.Waits:
			k.dequeue(c)
		case c.Place.Has:
			k.spent.Open[c.Bridge]--
		}
		k.waiting = nil // the guest goes on
	}
	return children
}

// cancelAll ends the contexts of all calls.
func (k *callBook) cancelAll(cause error) {
	for _, c := range k.calls {
		if c != nil && c.Cancel != nil {
			c.Cancel(cause)
		}
	}
}

// stopIf stops each call that has begun or waits for its turn, and for which not is true.
func (k *callBook) stopIf(not func(*call) bool) {
	for _, c := range k.calls {
		if c != nil && c.Stoppable() && not(c) {
			c.Stop(c.Cancel, errRevoked)
		}
	}
}

// revoke takes grants from the run.
func (k *callBook) revoke(grants []string) {
	for _, g := range grants {
		k.revoked[g] = true
	}
}

// revokedList returns the grants that were taken from the run, sorted.
func (k *callBook) revokedList() []string { return slices.Sorted(maps.Keys(k.revoked)) }

// children returns the subagents of all calls.
func (k *callBook) children() (out []*Run) {
	for _, c := range k.calls {
		if c != nil {
			out = append(out, c.Children...)
		}
	}
	return out
}

// takeChildren returns the subagents of all calls and takes them out of the calls.
func (k *callBook) takeChildren() []*Run {
	out := k.children()
	for _, c := range k.calls {
		if c != nil {
			c.Begun += int64(len(c.Children))
			c.Children = nil
		}
	}
	return out
}

// holdsProgramFor reports whether a call that waits for who holds the program.
func (k *callBook) holdsProgramFor(who string) bool {
	for _, c := range k.calls {
		if c != nil && c.HeldBy(who) {
			return true
		}
	}
	return false
}

// waitsOutside reports whether each call that the guest waits on, and each other open
// one, waits for people or the harness, or for the place of one that does.
func (k *callBook) waitsOutside() bool {
	if len(k.waiting) == 0 {
		return false
	}
	for _, id := range k.waiting {
		if c := k.calls[id]; c == nil || c.State != callPending && c.State != callQueued || c.Held {
			return false
		}
	}
	pending := false
	for _, c := range k.calls {
		if c != nil && c.State != callPending && c.State != callQueued && c.State != callClosed {
			return false
		}
		pending = pending || c != nil && c.State == callPending
	}
	return pending
}

// left returns the calls that are open and whose questions went away with the guest, in
// the order they were made.
func (k *callBook) left() (out []*call) {
	for _, c := range k.calls {
		if c != nil && c.State == callLeft {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *call) int { return a.N - b.N })
	return out
}

// allLeft reports whether every call is one that left returns.
func (k *callBook) allLeft() bool {
	for _, c := range k.calls {
		if c == nil || c.State != callLeft {
			return false
		}
	}
	return true
}

// lastNumber returns the highest number of the ids of calls so far.
func (k *callBook) lastNumber() int64 {
	last := k.floor
	for id := range k.calls {
		if n, ok := pause.Number(id); ok {
			last = max(last, n)
		}
	}
	return last
}

// pending returns the open calls as others see them, in the order they were made.
func (k *callBook) pending() (out []contract.Pending) {
	for _, c := range k.calls {
		if c != nil && c.Open() {
			out = append(out, c.Pending())
		}
	}
	slices.SortFunc(out, func(a, b contract.Pending) int { return k.calls[a.ID].N - k.calls[b.ID].N })
	return out
}

// fresh reports whether the id of a question is one that a new call of this life may have.
func (k *callBook) fresh(q executors.Question) bool {
	_, known := k.calls[q.Call]
	n, numbered := pause.Number(q.Call)
	return !known && contract.ValidCallID(q.Call) && (k.floor == 0 || numbered && n > k.floor)
}

// askedAgain returns the call of the pause that a question asks again, or nil.
func (k *callBook) askedAgain(q executors.Question) *call {
	c := k.calls[q.Call]
	if c != nil && c.State == callLeft && (c.Settled != nil || c.Place.Waits) && c.Is(q) {
		return c
	}
	return nil
}

// noteAllowed stores an act that the guest is allowed to do: the start of a program, or an approval that is valid
// for the rest of the run.
func (k *callBook) noteAllowed(c *call) {
	switch {
	case c.Action.Exec == nil:
	case !c.Ahead:
		k.acts.Start(c.Action.Exec.Argv)
	case c.Approved:
		k.acts.Give(pause.Given{Words: c.ApprovalKey(), Call: c.ID, By: c.By, Terms: *c.Terms})
	}
}

// anyChild reports whether one of the subagents of the calls lives.
func (k *callBook) anyChild(lives func(*Run) bool) bool {
	return slices.ContainsFunc(k.children(), lives)
}
