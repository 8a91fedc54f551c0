package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/shape"
)

// ask takes one question through every step. An error means that the run cannot
// go on safely.
func (r *Run) ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	c := &call{id: q.Call, bridge: q.Bridge, size: int64(len(q.Args))}
	no := r.decide(c)
	if no == nil {
		no = c.check(q.Args, r.ring.cfg.CheckValue)
	}
	p := r.ring.provider(q.Bridge)
	if no == nil && p == nil {
		no = &refusal{name: nameBridge, text: "this host does not provide it",
			decision: r.deny(c, profiles.CodeBridgeUnavailable, "this host has no provider for bridge "+c.bridge)}
	}
	if no == nil {
		no = r.admit(c)
	}
	if no != nil {
		return r.refuse(c, no)
	}
	_, waits := p.(Harness)
	if err := r.open(c, waits); err != nil {
		r.release(c)
		return executors.Answer{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(millis(c.limits.TimeoutMillis), func() { cancel(errTimeout) })
	defer func() {
		timer.Stop()
		cancel(nil)
	}()
	no, err := r.begin(c, waits, cancel)
	if err != nil || no != nil {
		return r.unrun(c, no, err)
	}
	if waits {
		return r.await(ctx, c)
	}
	out, err := p.Call(ctx, Call{Run: r.id, ID: c.id, Agent: r.agentName, Actor: r.actor,
		Bridge: c.bridge, Args: c.args, Key: c.key})
	return r.close(ctx, c, out, err)
}

// decide decides a call under the run's own generation and under the one now in
// force, and notes what both grant. Nil: both allow.
func (r *Run) decide(c *call) *refusal {
	d := r.agent.decider.Bridge(r.executor, c.bridge, c.size)
	if no := refusalOf(d, nameDenied); no != nil {
		return no
	}
	c.grant = r.agent.grants[c.bridge]
	if c.grant == nil {
		return &refusal{name: nameDenied, text: "not granted", decision: r.deny(c, profiles.CodeBridgeNotGranted, "the grant cannot be read")}
	}
	c.limits, c.external = c.grant.Limits, c.grant.Powers.External
	g := r.ring.gen.Load()
	other, no := r.decideUnder(g, c)
	if no != nil {
		return no
	}
	c.gen, c.other = g, other
	if other != c.grant {
		c.limits = budget.Stricter(c.limits, other.Limits)
		c.external = c.external || other.Powers.External
	}
	return nil
}

// decideUnder decides a call under a generation that is not the run's own.
// Nothing of the run is read but what never changes.
func (r *Run) decideUnder(g *generation, c *call) (*grant, *refusal) {
	if reason, closed := g.closed[r.executor]; closed {
		return nil, &refusal{name: nameRevoked, text: "the executor is closed",
			decision: profiles.Decision{Code: profiles.CodeClosed, Reason: "the executor " + r.executor + " is closed: " + reason, Revision: g.revision}}
	}
	if g == r.bound {
		return c.grant, nil
	}
	a := g.agentOf(r.agentName)
	if a == nil {
		return nil, refusalOf(g.refusal(), nameRevoked)
	}
	d := a.decider.Bridge(r.executor, c.bridge, c.size)
	if no := refusalOf(d, nameRevoked); no != nil {
		return nil, no
	}
	other := a.grants[c.bridge]
	if other == nil {
		return nil, &refusal{name: nameRevoked, text: "no longer granted",
			decision: profiles.Decision{Code: profiles.CodeBridgeRevoked, Reason: "the grant cannot be read", Revision: g.revision}}
	}
	return other, nil
}

// refusalOf turns a decision into a refusal; nil when it allows.
func refusalOf(d profiles.Decision, name string) *refusal {
	switch d.Verdict {
	case profiles.Allow:
		return nil
	case profiles.Ask:
		d.Verdict = profiles.Deny
		d.Code, d.Reason = profiles.CodeRingUnavailable, "an approval is needed, and nothing here can ask for one"
		return &refusal{name: name, text: "an approval is needed, and nothing here can ask for one", decision: d}
	case profiles.Deny:
	default:
		d.Verdict = profiles.Deny
	}
	no := &refusal{name: name, decision: d, text: d.Reason}
	switch {
	case d.Code == profiles.CodeBridgeArgumentsBytes:
		no.name = nameArgument
	case name == nameRevoked:
		no.decision.Reason = "the policy now in force refuses it: " + d.Reason
		no.decision.Code = revokedCode(d.Code)
		no.text = textRevoked
	}
	return no
}

// revokedCode keeps the codes that say more than "revoked".
func revokedCode(c profiles.Code) profiles.Code {
	switch c {
	case profiles.CodeBridgeNotGranted, profiles.CodeUnknownAgent, profiles.CodeExecutorNotGranted:
		return profiles.CodeBridgeRevoked
	default:
		return c
	}
}

// deny makes a decision that refuses c, with the rule of its grant.
func (r *Run) deny(c *call, code profiles.Code, reason string) profiles.Decision {
	d := profiles.Decision{Code: code, Reason: reason, Revision: r.bound.revision}
	if c.grant != nil {
		rule := c.grant.Rule
		d.Rule = &rule
	}
	return d
}

// check reads the arguments, checks them against the schemas and counts the
// subagents they ask for.
func (c *call) check(args json.RawMessage, tagged func(json.RawMessage) error) *refusal {
	refuse := func(code profiles.Code, text, reason string) *refusal {
		rule := c.grant.Rule
		return &refusal{name: nameArgument, text: text,
			decision: profiles.Decision{Code: code, Reason: reason, Rule: &rule, Revision: c.gen.revision}}
	}
	bad := func(text, reason string) *refusal { return refuse(profiles.CodeBridgeArguments, text, reason) }
	s, err := shape.Scan(args)
	if err == nil && !s.List {
		err = errors.New("not a list")
	}
	if err == nil && s.Marked {
		err = tagged(args)
	}
	if err != nil {
		return bad("the arguments are no valid values", "the arguments of "+c.bridge+" are no valid values")
	}
	c.args, c.marked = args, s.Marked
	if s.Count == 1 {
		c.args = s.First
	}
	if c.grant.arguments != nil || c.other.arguments != nil {
		if s.Count != 1 {
			return bad(fmt.Sprintf("takes exactly one argument, got %d", s.Count), fmt.Sprintf("%s takes exactly one argument, got %d", c.bridge, s.Count))
		}
		// The value a schema has seen is the value a provider gets.
		if c.args, err = shape.Validate(c.args, c.marked, c.grant.arguments, c.other.arguments); err != nil {
			return bad(err.Error(), "the argument of "+c.bridge+" does not fit its schema")
		}
	}
	// What cannot be recorded must not happen, and is no fault of the record.
	if c.full = c.grant.Audit == auditFull || c.other.Audit == auditFull; c.full {
		if text, err := json.Marshal(c.args); err != nil || len(text) > MaxFull {
			return refuse(profiles.CodeBridgeArgumentsBytes, fmt.Sprintf("its arguments are recorded in full, and the record of these is larger than %d bytes", MaxFull),
				fmt.Sprintf("%s is audited in full, and its arguments have more than %d bytes in the record", c.bridge, MaxFull))
		}
	}
	if budget.Spawns(c.limits) {
		if c.agents, err = budget.AgentsOf(c.args); err == nil && s.Count > 1 {
			var first int64
			first, err = budget.AgentsOf(s.First)
			c.agents = max(c.agents, first)
		}
		if err != nil {
			return bad(err.Error(), "the subagents that "+c.bridge+" is asked for cannot be counted")
		}
	}
	return nil
}

// admit takes the call out of the budgets, under the lock that ends the run.
func (r *Run) admit(c *call) *refusal {
	c.digest = digest(c.args)
	r.mu.Lock()
	defer r.mu.Unlock()
	if over := r.spent.Admit(c.bridge, c.limits, c.agents, r.depth, r.tree); over != nil {
		return &refusal{name: nameBudget, text: over.Text, decision: r.deny(c, over.Code, over.Text)}
	}
	r.order++
	c.n = r.order
	r.calls[c.id] = c
	return nil
}

// release ends a call; the budget of open calls has room again.
func (r *Run) release(c *call) {
	r.mu.Lock()
	children := c.children
	c.children = nil
	if c.state != callClosed {
		c.state, c.cancel, c.args = callClosed, nil, nil
		r.spent.Open[c.bridge]--
		r.waiting = nil // the guest goes on
	}
	r.mu.Unlock()
	endAll(children)
}

// open records the intent, and commits it where it must survive: before the act.
func (r *Run) open(c *call, waits bool) error {
	durable := Written
	if c.external {
		durable = Synced
	}
	rec := r.callRecord(CallOpened, c)
	allow := profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Revision: c.gen.revision, Rule: &c.other.Rule}
	rec.State, rec.Decision = "open", &allow
	if c.full {
		rec.Full = c.args
	}
	if err := r.put(rec, durable); err != nil {
		return fmt.Errorf("record call %s of run %s: %w", c.id, r.id, err)
	}
	c.key = callKey(r.id, c)
	if !c.external && !waits {
		return nil
	}
	e := Entry{Run: r.id, Call: c.id, Bridge: c.bridge, Executing: !waits, Args: c.args, Digest: c.digest}
	if waits {
		e.For = forHarness
	}
	key, err := r.openCall(e)
	if err != nil {
		return fmt.Errorf("commit call %s of run %s: %w", c.id, r.id, err)
	}
	c.journaled = true
	if key != "" {
		c.key = key
	}
	return nil
}

// begin is the point after which the act may happen. It holds the lock that
// ends the run, and looks at the generation once more: a push that was committed
// while the intent was written counts.
func (r *Run) begin(c *call, waits bool, cancel context.CancelCauseFunc) (*refusal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, ErrEnded
	}
	if g := r.ring.gen.Load(); g != c.gen {
		if no := r.decideAgain(g, c); no != nil {
			return no, nil
		}
	}
	c.cancel = cancel
	c.state = callActing
	if waits {
		c.state, c.reply = callPending, make(chan reply, 1)
		r.emitLocked(Event{Kind: EventCall, Call: &CallEvent{ID: c.id, Bridge: c.bridge, State: "pending", Digest: c.digest}})
		return nil, nil
	}
	r.emitLocked(Event{Kind: EventCall, Call: &CallEvent{ID: c.id, Bridge: c.bridge, State: "opened", Digest: c.digest}})
	return nil, nil
}

// decideAgain decides an admitted call under a newer generation. Its budgets are
// taken; what it asks for must fit the newer limits too, and a call that would
// need a record it does not have is refused.
func (r *Run) decideAgain(g *generation, c *call) *refusal {
	other, no := r.stillGranted(g, c)
	if no != nil {
		return no
	}
	l := budget.Stricter(c.limits, other.Limits)
	switch {
	case l.CallsPerRun < r.spent.Calls[c.bridge], l.Concurrent < r.spent.Open[c.bridge]:
		return revoked(g, other, "the policy now in force allows fewer calls")
	case budget.Spawns(l) && (c.agents > l.SpawnPerCall || r.depth+1 > l.Depth || !r.tree.Within(l.TotalSpawn)):
		return revoked(g, other, "the policy now in force allows fewer subagents")
	case other.Powers.External && !c.external:
		return revoked(g, other, "the policy now in force gives it external power")
	case other.Audit == auditFull && !c.full:
		return revoked(g, other, "the policy now in force records its arguments")
	case budget.Spawns(l) && !budget.Spawns(c.limits):
		return revoked(g, other, "the policy now in force counts its subagents")
	}
	c.gen, c.other, c.limits = g, other, l
	return nil
}

// stillGranted decides whether a call that was decided before passes under g:
// the grant, the size and the schema of the arguments.
func (r *Run) stillGranted(g *generation, c *call) (*grant, *refusal) {
	other, no := r.decideUnder(g, c)
	if no != nil {
		return nil, no
	}
	if other.arguments != nil && other.arguments != c.grant.arguments && other.arguments != c.other.arguments {
		if _, err := shape.Validate(c.args, c.marked, other.arguments, nil); err != nil {
			return nil, revoked(g, other, "the argument does not fit the schema now in force")
		}
	}
	return other, nil
}

func revoked(g *generation, gr *grant, reason string) *refusal {
	return &refusal{name: nameRevoked, text: textRevoked, decision: profiles.Decision{
		Code: profiles.CodeBridgeRevoked, Reason: reason, Rule: &gr.Rule, Revision: g.revision}}
}

const textRevoked = "the policy now in force no longer grants it"

// callRecord begins a record about a call.
func (r *Run) callRecord(kind Kind, c *call) Record {
	rec := r.record(kind)
	rec.Call, rec.Capability, rec.Digest = c.id, "bridge:"+shape.Clip(c.bridge, 200), c.digest
	return rec
}

// callKey is the idempotency key of a call that the journal does not know.
func callKey(run string, c *call) string {
	return digest([]byte(run + "\x00" + c.id + "\x00" + c.digest))
}
