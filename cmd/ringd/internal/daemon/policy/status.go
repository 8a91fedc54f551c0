package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/schema/wire"
)

type statusReport struct {
	cfg       *Config
	situation *situation
	active    *activation
	closings  *closings
	lockdowns *lockdowns
	started   time.Time
}

// Reporter is a ring that reports the state of its executors.
type Reporter interface {
	Status() []interpreter.ExecutorStatus
}

// stateReporter is a ring that reports its own state, a state of wire.Part, with a reason.
type stateReporter interface {
	State() (state, reason string)
}

// egressReporter is the ring that owns connections and reports them.
type egressReporter interface {
	Egress() (wire.Network, []wire.Condition)
}

// canaryReporter is the ring that runs canaries.
type canaryReporter interface {
	Loaded(executor string) (wire.Canary, bool)
}

// stateOf returns the state of a ring while a generation is in force. An unknown state is closed.
func stateOf(r Ring) wire.Part {
	part := wire.Part{Name: r.Name(), State: wire.PartReady}
	s, ok := r.(stateReporter)
	if !ok {
		return part
	}
	part.State, part.Reason = s.State()
	switch part.State {
	case wire.PartReady, wire.PartPlain, wire.PartRestartNeeded, wire.PartUnavailable:
	default:
		part.State = wire.PartClosed
	}
	return part
}

// Status fills in what is in force, and what is wrong. It does not wait for a push in progress. unwritable is
// why records cannot be written. full means that new runs are refused for another reason of the daemon.
func (d *statusReport) Status(out *wire.Status, unwritable error, full bool) {
	g := d.active.inForce.Load()
	var over *wire.Condition
	if d.active.expired(g) != nil { // expired writes, so it is called without mu
		why := d.active.expiredCondition(g)
		g, over = nil, &why
	}
	if g != nil {
		at := g.Activated
		out.Generation, out.Revision, out.Activated = g.Number, g.Revision, &at
		out.Exceptions = exceptionsOf(g.Set, d.cfg.Clock.Now())
		out.Signed = signedState(g.Signed)
	}
	if at, ok := d.closings.Deadline(); ok {
		out.Closes = &at
	}
	if at, ok := d.active.pushExpiry(g); ok && (out.Closes == nil || at.Before(*out.Closes)) {
		out.Closes = &at
	}
	d.situation.mu.Lock()
	defer d.situation.mu.Unlock()
	switch {
	case over != nil:
		out.Conditions = append(out.Conditions, *over)
	case g == nil && d.situation.stale != nil:
		out.Conditions = append(out.Conditions, *d.situation.stale)
	case g == nil:
		out.Conditions = append(out.Conditions, wire.Condition{Code: wire.ConditionNoPolicy,
			Message: "no valid policy is in force: everything is denied until the sync folder holds one that " +
				"compiles; " +
				"try it with ringd vet", Since: d.started})
	}
	for _, c := range d.situation.sourceConditions {
		out.Conditions = append(out.Conditions, c)
	}
	for name, c := range d.situation.closedBy {
		if name != "" {
			c.Message = name + ": " + c.Message
		}
		out.Conditions = append(out.Conditions, c.Condition)
	}
	if d.situation.lastPush != nil {
		push := *d.situation.lastPush
		out.LastPush = &push
	}
	_, all := d.situation.closedBy[""]
	why := "nothing is in force"
	locked := d.cfg.Lock.State()
	if locked != nil {
		why = "lockdown"
		now := d.cfg.Lock.Show(out.Runs.Live)
		out.Lockdown = &now
		out.Conditions = append(
			out.Conditions,
			wire.Condition{Code: wire.ConditionLockdown, Message: locked.String(), Since: locked.Since},
		)
		if locked.Unrecorded != "" {
			last := &out.Conditions[len(out.Conditions)-1]
			last.Message += "; it is not on disk, and a restart would forget it: " + locked.Unrecorded
		}
	}
	d.lockdowns.addOrder(out)
	out.Ready = g != nil && unwritable == nil && !full && !all && locked == nil
	d.partsLocked(out, g != nil && unwritable == nil && locked == nil, why)
}

// partsLocked adds rings and executors. If open is false, nothing may run, for the reason why.
func (d *statusReport) partsLocked(out *wire.Status, open bool, why string) {
	have := map[string]wire.Part{}
	for _, r := range d.cfg.Rings {
		part := wire.Part{Name: r.Name(), State: wire.PartClosed, Reason: why}
		if open {
			part = stateOf(r)
		}
		addPart(out, &out.Rings, part)
		if n, ok := r.(egressReporter); ok && open {
			e, trouble := n.Egress()
			out.Egress, out.Conditions = &e, append(out.Conditions, trouble...)
		}
		if reporter, ok := r.(Reporter); ok {
			for _, e := range reporter.Status() {
				have[e.Name] = executorPart(e)
			}
		}
	}
	for _, name := range []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell} {
		part, ok := have[name]
		switch c, closed := d.situation.closedFor(name); {
		case !ok:
			part = wire.Part{Name: name, State: wire.PartUnavailable, Reason: "this build has no such executor"}
		case closed:
			part.State, part.Reason = wire.PartClosed, c.Message
		case !open:
			part.State, part.Reason = wire.PartClosed, why
		}
		part.Canary = d.canary(name)
		addPart(out, &out.Executors, part)
	}
}

// addPart adds a part to a list of the status, with the condition that it needs a restart.
func addPart(out *wire.Status, parts *[]wire.Part, part wire.Part) {
	*parts = append(*parts, part)
	if part.State == wire.PartRestartNeeded {
		out.Conditions = append(out.Conditions, wire.Condition{
			Code: wire.ConditionRestartNeeded, Message: part.Name + ": " + part.Reason,
		})
	}
}

// executorPart is the state of an executor. An unknown state is closed.
func executorPart(e interpreter.ExecutorStatus) wire.Part {
	part := wire.Part{Name: e.Name, State: wire.PartClosed, Reason: e.Reason}
	switch e.State {
	case wire.PartReady, wire.PartRestartNeeded:
		part.State = e.State
	}
	if e.Sessions > 0 {
		part.Sessions = &wire.LiveSessions{Live: e.Sessions, Bytes: e.SessionBytes}
	}
	return part
}

// canary is the result of the canary of an executor; nil if there is none.
func (d *statusReport) canary(executor string) *wire.Canary {
	for _, r := range d.cfg.Rings {
		if t, ok := r.(canaryReporter); ok {
			if c, ok := t.Loaded(executor); ok {
				return &c
			}
		}
	}
	return nil
}

// exceptionsOf lists the exceptions of a set, the next to end first.
func exceptionsOf(set *profiles.Set, now time.Time) (out []wire.ExceptionState) {
	for name, a := range set.Agents {
		for i := range a.Exceptions {
			e := &a.Exceptions[i]
			out = append(
				out,
				wire.ExceptionState{ID: e.ID, Agent: name, Owner: e.Owner, Lifts: append([]string{}, e.Lifts...),
					Expires: e.Expires.UTC(), Ended: e.Ended(now)},
			)
		}
	}
	slices.SortFunc(out, func(a, b wire.ExceptionState) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.ID, b.ID))
	})
	return out
}
