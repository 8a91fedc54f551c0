package run

import (
	"fmt"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// powersAccount applies the rule of two to one run: to its calls, its connections, and the powers that it starts
// with. It counts on the account of the tree of runs. If a use would bring the third power, people are asked, or
// the use is refused if people cannot be asked. Methods that change the powersAccount are called before the run
// is live, by the caller that makes it live. All other methods are safe for concurrent use, because the account
// of the tree has its own lock.
type powersAccount struct {
	host     *Host
	id       string
	bound    *binding.Binding
	tree     *ruleoftwo.Account
	uses     []ruleoftwo.Use // that the run starts with
	grown    ruleoftwo.Grown // by those, and not committed yet
	keep     func(run string, p profiles.Powers) error
	onFailed func(error)
}

// newPowersAccount returns the account of a run in a tree of its own.
func newPowersAccount(h *Host, id string) *powersAccount {
	return &powersAccount{host: h, id: id, tree: ruleoftwo.New()}
}

// Bind binds the run to its policies.
func (w *powersAccount) Bind(b *binding.Binding) { w.bound = b }

// OnCommit sets the function that keeps powers for runs that are paused on disk, and the
// one that ends the run if that fails.
func (w *powersAccount) OnCommit(keep func(run string, p profiles.Powers) error, onFailed func(error)) {
	w.keep, w.onFailed = keep, onFailed
}

// View returns what the tree has touched, or nil if no rule binds it.
func (w *powersAccount) View() *ruleoftwo.Touched { return w.tree.View() }

// Record returns what the tree has touched, for the next run of a session.
func (w *powersAccount) Record() *ruleoftwo.Touched { return w.tree.Record() }

// MarkPaused returns the powers that the tree has touched, for a pause. From then on, the powers that the tree
// touches are saved for the paused run.
func (w *powersAccount) MarkPaused() *ruleoftwo.Touched { return w.tree.MarkPaused(w.id) }

// Begin is called when the run begins or goes on. What it starts with is kept for the
// paused runs of its tree; if that fails the run ends. No lock is held.
func (w *powersAccount) Begin() {
	w.tree.UnmarkPaused(w.id)
	if err := w.CommitUse(w.grown); err != nil {
		w.onFailed(err)
	}
}

// Restore marks the run as paused on disk, with the powers t.
func (w *powersAccount) Restore(t *ruleoftwo.Touched) {
	w.tree.Restore(t)
	w.tree.Bind(w.bound.RuleOfTwo(w.host.InForce()))
	w.tree.MarkPaused(w.id)
}

// Join takes another life, or a subagent that was paused, into the tree of the run.
func (w *powersAccount) Join(other *powersAccount) {
	w.tree.Join(other.tree)
	other.tree = w.tree
}

// UseAtStart counts the powers that the run starts with: its files, its inputs if it gets any, and what the runs
// of its session have touched. For a subagent, the rule of two is applied later, in Adopt. The error is a
// *profiles.Denial.
func (w *powersAccount) UseAtStart(inputs, subagent bool, s *contract.SessionState) error {
	g := w.host.InForce()
	w.uses = w.bound.StartUses(g, inputs)
	if rule := w.bound.RuleOfTwo(g); s != nil && s.Touched != nil && ruleoftwo.PerSession(rule) {
		if !subagent {
			w.tree.Restore(s.Touched) // it was decided in the run that touched it
		} else {
			w.uses = append(w.uses,
				ruleoftwo.Use{What: "session", Brings: s.Touched.Powers, Rule: rule, Exit: s.Touched.Exit})
		}
	}
	if subagent {
		return nil
	}
	return w.Adopt(w)
}

// Adopt counts the powers that a subagent starts with on the account of the tree. From then on the subagent uses
// this account. The error is a *profiles.Denial.
func (w *powersAccount) Adopt(child *powersAccount) error {
	grown, d := w.tree.Begin(child.uses...)
	if d != nil {
		d.Revision = child.bound.First().Revision
		return fmt.Errorf("start run %s: %w", child.id, &profiles.Denial{Capability: "run", Decision: *d})
	}
	w.tree.Bind(child.bound.RuleOfTwo(child.host.InForce()))
	child.tree, child.grown = w.tree, grown
	return nil
}

// Approval returns the approval that a call needs because of the powers that it brings, nil
// if it needs none, or refuses the call.
func (w *powersAccount) Approval(k *binding.Request) (*profiles.Approval, *binding.Refusal) {
	k.RuleOfTwo = ""
	if k.IsAct() {
		return nil, nil
	}
	g := w.host.InForce()
	asks, why, no := w.tree.Asks(k.Use(w.bound, g))
	switch {
	case no != nil:
		return nil, w.refuse(no)
	case !asks:
		return nil, nil
	}
	k.RuleOfTwo = why
	return w.bound.RuleOfTwoApproval(g), nil
}

func (w *powersAccount) refuse(d *profiles.Decision) *binding.Refusal {
	d.Revision = w.bound.First().Revision
	return &binding.Refusal{Name: profiles.ErrorCapabilityDenied, Text: d.Reason, Decision: *d}
}

// Use counts the powers that a call brings, if then admits it; a nil then does. ok is false
// if people have to be asked first, which was not so at Approval: the caller has to ask
// again. CommitUse has to follow, once no lock is held.
func (w *powersAccount) Use(k *binding.Request, then func() bool) (ok bool, no *binding.Refusal) {
	u := ruleoftwo.Use{}
	if !k.IsAct() {
		u = k.Use(w.bound, w.host.InForce())
	}
	ok, grown, d := w.tree.Try(u, then)
	if d != nil {
		return false, w.refuse(d)
	}
	k.Grown = grown
	return ok, nil
}

// UseApproved counts the powers of a call that people have approved because of these powers. When it returns, the
// connections that had to be cut are closed.
func (w *powersAccount) UseApproved(k *binding.Request) (*binding.Refusal, error) {
	if k.RuleOfTwo == "" {
		return nil, nil
	}
	if _, no := w.Use(k, nil); no != nil {
		return no, nil
	}
	return nil, w.CommitUse(k.Grown)
}

// CommitUse keeps the powers that were touched for the paused runs of the tree, and closes
// the connections that are open if it was the third power. Both happen before the use that
// touched them goes on.
func (w *powersAccount) CommitUse(by ruleoftwo.Grown) error {
	if by.Powers == (profiles.Powers{}) {
		return nil
	}
	for _, run := range w.tree.PausedRuns() {
		if run == w.id {
			continue
		}
		if err := w.keep(run, by.Powers); err != nil {
			return fmt.Errorf("note what run %s has touched: %w", run, err)
		}
	}
	if by.Third && w.host.Narrowed != nil {
		w.host.Narrowed()
	}
	return nil
}

// Network watches what goes over connections, where people cannot be asked: connections of
// guests, or, forCall, of providers that work for calls. What a call sends was asked about
// when it was made. The result is nil if no rule binds the tree.
func (w *powersAccount) Network(g *binding.Generation, forCall bool) *binding.Watch {
	rule := w.bound.RuleOfTwo(g)
	if rule == nil && !w.tree.Bound() {
		return nil
	}
	ask := func(h *profiles.EgressRule, v *profiles.Gateway) *profiles.Decision {
		u := ruleoftwo.Use{Rule: rule}
		if v != nil {
			u.What, u.Brings = "gateway:"+v.Name, powers.OfGateway(*v)
		} else {
			u.What, u.Brings = "egress:"+h.Host, powers.OfHost(*h)
		}
		if forCall {
			u.Brings.External = false
		}
		return w.connect(u)
	}
	return &binding.Watch{Third: w.tree.Three(), Ask: ask}
}

// connect decides what goes over a connection. The caller may hold locks that Narrowed
// needs, so Narrowed is called in another goroutine.
func (w *powersAccount) connect(u ruleoftwo.Use) *profiles.Decision {
	by, no := w.tree.Connect(u)
	if no != nil {
		no.Revision = w.bound.First().Revision
		return no
	}
	third := by.Third
	by.Third = false
	if err := w.CommitUse(by); err != nil {
		w.onFailed(err)
		return &profiles.Decision{Code: profiles.CodeClosed, Reason: "the powers that it brings could not be recorded"}
	}
	if third && w.host.Narrowed != nil {
		w.host.Go(w.host.Narrowed)
	}
	return nil
}
