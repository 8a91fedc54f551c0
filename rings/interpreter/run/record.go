package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// recordIntent records the intent of the call. If the call must survive a crash, it also commits the call, before
// the act and before people or the harness are asked.
func (a *attempt) recordIntent(waits bool) error {
	r, c := a.run, a.c
	rec := c.Decided(r.callRecord(contract.CallOpened, c), r.executor)
	d := c.IntentDecision()
	rec.State, rec.Decision = "open", &d
	if c.Full {
		rec.Full = c.Args
	}
	rec.Placed = c.EndTurns
	if err := r.Put(rec, a.durability()); err != nil {
		return fmt.Errorf("record call %s of run %s: %w", c.ID, r.id, err)
	}
	c.EndTurns()
	if c.Unapproved() {
		a.noteAsked()
	}
	r.point("call_recorded")
	c.Key = pause.Key(r.id, c.ID, c.Digest)
	if !a.journals(waits) {
		return nil
	}
	key, err := r.journal.Open(c.Entry(r.id, r.family.root, r.family.tree.Total(), waits))
	if err != nil {
		return fmt.Errorf("commit call %s of run %s: %w", c.ID, r.id, err)
	}
	r.point("call_open")
	c.Journaled = true
	if key != "" {
		c.Key = key
	}
	return nil
}

// durability is that of a record before the effect of the call.
func (a *attempt) durability() contract.Durability {
	if a.c.External {
		return contract.Synced
	}
	return contract.Written
}

// noteAsked notes for View that people are asked about an act, or about a call that holds
// its program.
func (a *attempt) noteAsked() {
	if argv, when, shown := a.c.Shown(); shown {
		a.run.mu.Lock()
		defer a.run.mu.Unlock()
		a.run.book.acts.Ask(a.c.ID, a.c.Capability(), when, argv)
	}
}

// pauseClock stops two clocks while people are asked about a call that holds the program: the clock of the
// executor and the clock of the run. release starts them again. It may be called more than once. c.Release is the
// same function, and is called when the call has its approval.
func (a *attempt) pauseClock() (release func()) {
	r, c := a.run, a.c
	c.Release = func() {}
	if c.Held && c.Unapproved() {
		r.mu.Lock()
		clock := r.clock
		r.mu.Unlock()
		clock.Hold()
		c.Holder.Hold()
		c.Release = sync.OnceFunc(func() {
			c.Holder.Release()
			clock.Release()
		})
	}
	return c.Release
}

// startEffect is the point after which the act may happen. It holds the lock that ends the run, and decides the
// call once more, because a push may have been committed, or a grant revoked, while the intent was written.
func (a *attempt) startEffect(waits bool, cancel context.CancelCauseFunc) (*binding.Refusal, error) {
	r, c := a.run, a.c
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, contract.ErrEnded
	}
	if no := a.recheckLocked(); no != nil {
		return no, nil
	}
	c.Cancel = cancel
	c.State = callActing
	state := "opened"
	if waits {
		c.State, c.Reply, state = callPending, make(chan callReply, 1), "pending"
	}
	if c.HeldBy(pause.ForHarness) {
		r.feed.WakeSettled()
	}
	if waits || !c.IsAct() {
		r.emitCallLocked(c, state, "")
	}
	return nil, nil
}

// recheckLocked decides an admitted call once more.
func (a *attempt) recheckLocked() *binding.Refusal {
	r, c := a.run, a.c
	if no := r.book.taken(c, &r.identity); no != nil {
		return no
	}
	if g := r.host.InForce(); g != c.Generation {
		return c.DecideAgain(r.bound, g, a.usedLocked())
	}
	return nil
}

// usedLocked returns what the run has used of the budgets of the call.
func (a *attempt) usedLocked() binding.Used {
	r, c := a.run, a.c
	return binding.Used{Calls: r.book.spent.Calls[c.Bridge], Depth: r.family.depth, Tree: r.family.tree}
}

// startTimeout makes the call end in time. A call that needs an approval ends when that
// expires, which ends the run; any other call ends by the timeout of the bridge. A run that
// is stopping has no timeouts: the expiry of the pause bounds its wait.
func (a *attempt) startTimeout(cancel context.CancelCauseFunc) *time.Timer {
	r, c := a.run, a.c
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Unapproved() {
		return time.AfterFunc(c.Terms.Left(r.host.Now()), func() { a.expire(cancel) })
	}
	return a.startTimeoutLocked(cancel)
}

func (a *attempt) startTimeoutLocked(cancel context.CancelCauseFunc) *time.Timer {
	r, c := a.run, a.c
	return time.AfterFunc(budget.Millis(c.Limits.TimeoutMillis), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.phase == phaseRunning {
			c.Stop(cancel, errTimeout)
		}
	})
}

// expire ends a live run because one of its calls was not approved in time. If the call
// holds its program, only the call is refused.
func (a *attempt) expire(cancel context.CancelCauseFunc) {
	r, c := a.run, a.c
	r.mu.Lock()
	waits := c.State == callPending && c.WaitsFor() == pause.ForApprover && r.phase == phaseRunning
	if waits && c.Held {
		c.Stop(cancel, &unapprovedError{Within: c.HeldFor})
		waits = false
	}
	r.mu.Unlock()
	if waits {
		e := pause.Expiry(c.Terms.Expires, true)
		r.end(ending{State: executors.StateDenied, Name: e.Name, Text: e.Message})
	}
}
