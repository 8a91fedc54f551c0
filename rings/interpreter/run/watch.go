// This file holds one run to the rule of two: its calls, its connections, and what
// it begins with, on the account of the tree that it is in. What would bring the third
// power is asked about, or refused where nobody can be asked. The lives of runs call
// it.

package run

import (
	"fmt"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// powersHost is what a Run needs of its ring. InForce is required, and Go where Narrowed is.
type powersHost struct {
	InForce  func() *binding.Generation
	Narrowed func()       // connections have to be decided again; nil: there are none
	Go       func(func()) // calls Narrowed later: a connection that is being decided would wait for itself
}

// powersWatch is one run of a tree. What changes it is called before the run is live, and by
// who makes it live; the rest is safe for concurrent use.
type powersWatch struct {
	host   powersHost
	id     string
	bound  *binding.Binding
	tree   *ruleoftwo.Account
	begins []ruleoftwo.Use
	begun  ruleoftwo.Grown // by those, and not noted yet
	note   func(run string, p profiles.Powers) error
	end    func(error)
}

// newPowersWatch is a run in a tree of its own.
func newPowersWatch(h powersHost, id string) *powersWatch {
	return &powersWatch{host: h, id: id, tree: ruleoftwo.New()}
}

// Bind ties the run to what binds it.
func (w *powersWatch) Bind(b *binding.Binding) { w.bound = b }

// Under sets what notes powers for runs that wait on disk, and what ends the run when
// that cannot be done.
func (w *powersWatch) Under(note func(run string, p profiles.Powers) error, end func(error)) {
	w.note, w.end = note, end
}

// View is what the tree has touched; nil: no rule binds it.
func (w *powersWatch) View() *ruleoftwo.Touched { return w.tree.View() }

// Record is what the tree has touched, for the next run of a session.
func (w *powersWatch) Record() *ruleoftwo.Touched { return w.tree.Record() }

// Park is Record for a pause: from then on what the tree touches is noted for the run.
func (w *powersWatch) Park() *ruleoftwo.Touched { return w.tree.Park(w.id) }

// Live is told that the run goes on, or begins: then what it begins with is noted for
// those of its tree that wait on disk, or the run is ended. It holds no lock.
func (w *powersWatch) Live() {
	w.tree.Unpark(w.id)
	if err := w.Grew(w.begun); err != nil {
		w.end(err)
	}
}

// Restore makes the run one that waits on disk with t.
func (w *powersWatch) Restore(t *ruleoftwo.Touched) {
	w.tree.Restore(t)
	w.tree.Bind(w.bound.RuleOfTwo(w.host.InForce()))
	w.tree.Park(w.id)
}

// Join takes another life, or a subagent that was paused, into the tree of the run.
func (w *powersWatch) Join(other *powersWatch) {
	w.tree.Join(other.tree)
	other.tree = w.tree
}

// Begins notes what the run begins with: its files, inputs when it is given some, and
// what the runs of its session have touched. A subagent is judged once it is adopted.
// The error is a *profiles.Denial.
func (w *powersWatch) Begins(inputs, subagent bool, s *contract.SessionState) error {
	g := w.host.InForce()
	w.begins = w.bound.Begins(g, inputs)
	if rule := w.bound.RuleOfTwo(g); s != nil && s.Touched != nil && ruleoftwo.PerSession(rule) {
		if !subagent {
			w.tree.Restore(s.Touched) // it was judged then
		} else {
			w.begins = append(w.begins, ruleoftwo.Use{What: "session", Brings: s.Touched.Powers, Rule: rule, Exit: s.Touched.Exit})
		}
	}
	if subagent {
		return nil
	}
	return w.Adopt(w)
}

// Adopt counts what a run begins with in the tree, which is its own from then on. The
// error is a *profiles.Denial.
func (w *powersWatch) Adopt(child *powersWatch) error {
	by, d := w.tree.Begin(child.begins...)
	if d != nil {
		d.Revision = child.bound.First().Revision
		return fmt.Errorf("start run %s: %w", child.id, &profiles.Denial{Capability: "run", Decision: *d})
	}
	w.tree.Bind(child.bound.RuleOfTwo(child.host.InForce()))
	child.tree, child.begun = w.tree, by
	return nil
}

// Asks gives the approval that a call needs because of what it brings, if it needs one,
// or refuses the call.
func (w *powersWatch) Asks(k *binding.Case) (*profiles.Approval, *binding.Refusal) {
	k.Two = ""
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
	k.Two = why
	return w.bound.AskTwo(g), nil
}

func (w *powersWatch) refuse(d *profiles.Decision) *binding.Refusal {
	d.Revision = w.bound.First().Revision
	return &binding.Refusal{Name: profiles.ErrorCapabilityDenied, Text: d.Reason, Decision: *d}
}

// Touch counts what a call brings if then admits it; nil does. ok is false where people
// have to be asked first, which was not so when Asks was called: then it is called
// again. Grew follows, once no lock is held.
func (w *powersWatch) Touch(k *binding.Case, then func() bool) (ok bool, no *binding.Refusal) {
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

// Approved counts a call that people have approved because of what it brings. When it
// returns, what was open is closed.
func (w *powersWatch) Approved(k *binding.Case) (*binding.Refusal, error) {
	if k.Two == "" {
		return nil, nil
	}
	if _, no := w.Touch(k, nil); no != nil {
		return no, nil
	}
	return nil, w.Grew(k.Grown)
}

// Grew notes for runs that wait on disk what their tree has touched, and closes what
// was open when that was the third power: both before what touched it goes on.
func (w *powersWatch) Grew(by ruleoftwo.Grown) error {
	if by.Powers == (profiles.Powers{}) {
		return nil
	}
	for _, run := range w.tree.Waiting() {
		if run == w.id {
			continue
		}
		if err := w.note(run, by.Powers); err != nil {
			return fmt.Errorf("note what run %s has touched: %w", run, err)
		}
	}
	if by.Third && w.host.Narrowed != nil {
		w.host.Narrowed()
	}
	return nil
}

// Network watches what goes over connections, of which nobody can be asked: of guests,
// or of providers that work for calls, whose sending was asked about when they were
// made. Nil: no rule binds the tree.
func (w *powersWatch) Network(g *binding.Generation, calls bool) *binding.Watch {
	rule := w.bound.RuleOfTwo(g)
	if rule == nil && !w.tree.Bound() {
		return nil
	}
	return &binding.Watch{Third: w.tree.Three(), Ask: func(h *profiles.EgressRule, v *profiles.Gateway) *profiles.Decision {
		u := ruleoftwo.Use{Rule: rule}
		if v != nil {
			u.What, u.Brings = "gateway:"+v.Name, powers.OfGateway(*v)
		} else {
			u.What, u.Brings = "egress:"+h.Host, powers.OfHost(*h)
		}
		if calls {
			u.Brings.External = false
		}
		return w.connect(u)
	}}
}

// connect decides what goes over a connection. Who asks may hold locks that Narrowed
// needs: what closes then does so beside it.
func (w *powersWatch) connect(u ruleoftwo.Use) *profiles.Decision {
	by, no := w.tree.Connect(u)
	if no != nil {
		no.Revision = w.bound.First().Revision
		return no
	}
	third := by.Third
	by.Third = false
	if err := w.Grew(by); err != nil {
		w.end(err)
		return &profiles.Decision{Code: profiles.CodeClosed, Reason: "what it brings could not be noted"}
	}
	if third && w.host.Narrowed != nil {
		w.host.Go(w.host.Narrowed)
	}
	return nil
}
