package run

import (
	"context"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// checkApproval finds out whether guardrails refuse the call or people have to approve it,
// under all that it was decided under, and on which terms.
func (a *attempt) checkApproval(ctx context.Context) *binding.Refusal {
	r, c := a.run, a.c
	if no := c.CheckGuardrails(ctx, r.bound, r.host.Conditions, c.Grants()...); no != nil {
		return no
	}
	var asked []*profiles.Approval
	for _, gr := range c.Grants() {
		if gr.Approval != nil && a.asks(ctx, gr.Approval) {
			asked = append(asked, gr.Approval)
		}
	}
	approval, no := r.powers.Approval(&c.Request)
	if no != nil {
		return no
	}
	if approval != nil {
		asked = append(asked, approval)
	}
	r.mu.Lock()
	given := r.book.acts.Of(c.ApprovalKey())
	r.mu.Unlock()
	return c.SetTerms(r.bound, r.host.Now(), given, asked...)
}

// asks reports whether the condition of an approval holds for the call. In doubt it does.
func (a *attempt) asks(ctx context.Context, approval *profiles.Approval) bool {
	r, c := a.run, a.c
	if approval.When == "" || r.host.Conditions == nil {
		return true
	}
	r.mu.Lock()
	known, args := c.Unasked[approval.When], c.Args
	r.mu.Unlock()
	if known {
		return false
	}
	ask, err := r.host.Conditions.Asks(ctx, approval.When, profiles.Call{Agent: r.agent, Bridge: c.Bridge, Args: args})
	if err != nil || ask {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Unasked == nil {
		c.Unasked = map[string]bool{}
	}
	c.Unasked[approval.When] = true
	return false
}

// checkApprovalConditions asks the conditions and guardrails of all policies before the
// lock is taken. The call keeps their answers for the decision under the lock.
func (a *attempt) checkApprovalConditions(ctx context.Context) {
	r, c := a.run, a.c
	current, _ := c.DecideInForce(r.bound, r.host.InForce())
	_ = c.CheckGuardrails(ctx, r.bound, r.host.Conditions, append(c.Grants(), current)...)
	for _, gr := range append(c.Grants(), current) {
		if gr != nil && gr.Approval != nil {
			_ = a.asks(ctx, gr.Approval)
		}
	}
}

// charge takes the call out of the budgets, under the lock that ends the run. ok is false
// if people have to be asked first, which was not so at checkApproval. Powers that the call
// brings are counted once it has a place among the open calls of its bridge.
func (a *attempt) charge() (ok bool, no *binding.Refusal) {
	r, c := a.run, a.c
	c.Digest = pause.Digest(c.Args)
	r.mu.Lock()
	defer r.mu.Unlock()
	var over *budget.Excess
	waits := false
	ok, no = r.powers.Use(&c.Request, func() bool {
		waits, over = r.book.charge(c, r.family.depth, r.family.tree)
		return over == nil && !waits && c.RuleOfTwo == "" // with a rule of two the use counts once it is approved
	})
	if over != nil {
		return false, &binding.Refusal{Name: profiles.ErrorBudgetExceeded, Text: over.Text,
			Decision: c.Deny(r.bound, over.Code, over.Text)}
	}
	if !ok {
		return false, no
	}
	r.book.add(c)
	if waits {
		r.book.enqueue(c)
	} else {
		r.book.give(c)
	}
	return true, no
}

// pace makes an admitted call wait until its agent may write as much to disk. The call ends
// at once if the run ends, or if it is no longer granted: nothing of it is on disk yet. The
// error says that its context has ended.
func (a *attempt) pace(ctx context.Context, waits bool) (*binding.Refusal, error) {
	r, c := a.run, a.c
	if c.Taken != nil {
		defer c.Taken()
	}
	n := a.bytesOnDisk(waits)
	if r.host.Pacer == nil || n == 0 {
		return nil, nil
	}
	turn, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	if r.ended {
		cancel(errRun)
	}
	c.Cancel = cancel
	r.mu.Unlock()
	err := r.host.Pacer.Wait(turn, r.agent, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Cancel = nil
	return a.recheckLocked(), err
}

// bytesOnDisk returns how many bytes the arguments of the call take on disk.
func (a *attempt) bytesOnDisk(waits bool) (n int) {
	if a.journals(waits) {
		n += len(a.c.Args)
	}
	if a.c.Full {
		n += len(a.c.Args)
	}
	return n
}

// journals reports whether the call is committed before it happens.
func (a *attempt) journals(waits bool) bool {
	return a.c.External || waits || a.run.family.parent != nil && a.c.Agents > 0 || a.firstEffect()
}

// firstEffect reports whether the call is the first act by which a run has an effect, or
// goes on from its pause. That is committed: the act counts as under way from then on, and
// the run is never resumed from a point before it.
func (a *attempt) firstEffect() bool {
	r, c := a.run, a.c
	if !c.IsAct() || c.Ahead || r.from == nil && (r.executor != profiles.ExecutorShell || !c.HasEffect()) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.book.begun
}
