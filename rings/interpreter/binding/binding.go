package binding

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Binding is what binds a run whatever is in force: the policy of its start, narrowed by its
// grants, and the policies that were in force when it paused. It is immutable. The nil
// Binding denies.
type Binding struct {
	agent    string
	executor string
	host     Host     // that its guest is on
	agents   []*Agent // at least one
	recorded []pause.Profile
	handed   []profiles.Grants // narrow its subagents
	limits   profiles.Limits
}

// errPolicies says that the policy changed too often while the run waited.
var errPolicies = fmt.Errorf("more than %d policies were in force while the run waited", pause.MaxProfiles)

// Bind binds a run to g, in which its agent is granted. The policy is narrowed by what the
// parent run hands to it, and by grants if they are not nil. The error wraps
// profiles.ErrGrants.
func Bind(g *Generation, agent, executor string, grants *profiles.Grants, above *Binding) (*Binding, error) {
	a := g.Agent(agent)
	if a == nil {
		return nil, errors.New(g.Refusal(agent).Reason)
	}
	narrow, handed, err := a.Profile, above.Handed(), error(nil)
	for _, one := range handed {
		if narrow, err = narrow.Narrow(one); err != nil {
			return nil, err
		}
	}
	if grants != nil {
		// Without this check a grant that the agent does not have would be missed only when the program uses it.
		if err := narrow.CheckGrants(*grants); err != nil {
			return nil, err
		}
		if narrow, err = narrow.Narrow(*grants); err != nil {
			return nil, err
		}
		if handed = append(handed, grants.Handed()); len(handed) > pause.MaxHanded {
			return nil, fmt.Errorf("%w: more than %d runs above one another were given some",
				profiles.ErrGrants, pause.MaxHanded)
		}
	}
	if len(handed) > 0 {
		if a, err = newAgent(narrow, g.Revision, jsonvalue.Known{}, g.known(), g.at()); err != nil {
			return nil, err
		}
	}
	b := &Binding{agent: agent, executor: executor, agents: []*Agent{a}, handed: handed}
	b.recorded = []pause.Profile{{Generation: g.Number, Revision: g.Revision, Agent: a.Profile,
		Modules: digests(g.Modules)}}
	b.limits = executorLimits(&a.Profile, executor)
	return b, nil
}

// at returns the places of the host. A nil Generation knows none.
func (g *Generation) at() Places {
	if g == nil {
		return Places{}
	}
	return g.places
}

// OnHost returns the binding of a run whose guest is on this host.
func (b *Binding) OnHost(h Host) *Binding {
	on := *b
	on.host = h
	return &on
}

// Host returns the host that the guest of the run is on, or was.
func (b *Binding) Host() Host { return b.host }

// Handed returns the grants that narrow the subagents of the run: the grants of the run itself, and those that it
// got from its parent. The nil Binding has none.
func (b *Binding) Handed() []profiles.Grants {
	if b == nil {
		return nil
	}
	return slices.Clone(b.handed)
}

// Rebind binds a run again as its pause recorded it. Only the validators of g, the
// generation in force, are used.
func Rebind(p *pause.Record, g *Generation) (*Binding, error) {
	recorded, executor := p.Profiles, p.Executor
	b := &Binding{agent: p.Agent, executor: executor, recorded: slices.Clone(recorded), handed: slices.Clone(p.Handed)}
	known := jsonvalue.Known{}
	for _, p := range recorded {
		a, err := newAgent(p.Agent, p.Revision, known, g.known(), g.at())
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", jsonvalue.Clip(p.Revision, 80), err)
		}
		l := executorLimits(&a.Profile, executor)
		if len(b.agents) > 0 {
			l = budget.Effective(b.limits, l)
		}
		b.agents, b.limits = append(b.agents, a), l
	}
	if len(b.agents) == 0 {
		return nil, errors.New("no policy is recorded")
	}
	return b, nil
}

// RecordProfiles returns the policies that a pause keeps. The policy of g, the generation in
// force, is added if the run is not bound by it yet. The error is errPolicies.
func (b *Binding) RecordProfiles(g *Generation) ([]pause.Profile, error) {
	a := g.Agent(b.agent)
	if a == nil || slices.ContainsFunc(b.recorded, func(p pause.Profile) bool { return p.Revision == g.Revision }) {
		return slices.Clone(b.recorded), nil
	}
	if len(b.recorded) >= pause.MaxProfiles {
		return nil, errPolicies
	}
	return append(slices.Clone(b.recorded),
		pause.Profile{Generation: g.Number, Revision: g.Revision, Agent: a.Profile, Modules: digests(g.Modules)}), nil
}

// First returns the policy that the run was started under.
func (b *Binding) First() *Agent { return b.agents[0] }

// Generation returns the number of the generation that the run was started under.
func (b *Binding) Generation() int64 { return b.recorded[0].Generation }

// Limits returns the limits of the run: the strictest of all that bind it and of the policy
// in g, which may be nil. No field is nil but PauseMillis.
func (b *Binding) Limits(g *Generation) profiles.Limits {
	a := g.Agent(b.agent)
	if a == nil || a == b.agents[0] {
		return b.limits
	}
	return budget.Effective(b.limits, executorLimits(&a.Profile, b.executor))
}

// GuestAgent returns the agent and the limits of a guest that a provider runs on an executor
// for a call: the strictest of all that bind the run and of g. ok is false if one of them
// does not grant the executor.
func (b *Binding) GuestAgent(g *Generation, executor string) (profiles.Agent, profiles.Limits, bool) {
	now := g.Agent(b.agent)
	if now == nil {
		return profiles.Agent{}, profiles.Limits{}, false
	}
	if _, closed := g.Closed(executor); closed {
		return profiles.Agent{}, profiles.Limits{}, false
	}
	limits := executorLimits(&now.Profile, executor)
	for _, a := range append(slices.Clone(b.agents), now) {
		if !granted(&a.Profile, executor) {
			return profiles.Agent{}, profiles.Limits{}, false
		}
		limits = budget.Effective(limits, executorLimits(&a.Profile, executor))
	}
	return b.Agent(g), limits, true
}

// SyncsRecords reports whether a policy that binds the run, or the one in g, asks that each
// record is synced.
func (b *Binding) SyncsRecords(g *Generation) bool {
	const strict = "strict"
	now := g.Agent(b.agent)
	return now != nil && now.Profile.Audit == strict ||
		slices.ContainsFunc(b.agents, func(a *Agent) bool { return a.Profile.Audit == strict })
}

// RecordsWords reports whether a policy that binds the run asks for records of the words of
// scripts and of the programs that they start.
func (b *Binding) RecordsWords() bool {
	return slices.ContainsFunc(b.agents, func(a *Agent) bool {
		return a.Profile.Shell != nil && a.Profile.Shell.Audit == auditFull
	})
}

// Modules returns the modules of g that a resumed run may still load: they are allowed by
// all that binds it and by g, have the same digest everywhere, and are not revoked.
func (b *Binding) Modules(g *Generation, revoked func(string) bool) map[string]profiles.Module {
	out := map[string]profiles.Module{}
	now := g.Agent(b.agent)
	for name, m := range g.Modules {
		ok := now != nil && !revoked("import:"+name) && now.decider.Import(b.executor, name).Verdict == profiles.Allow
		for i, a := range b.agents {
			ok = ok && a.decider.Import(b.executor, name).Verdict == profiles.Allow &&
				b.recorded[i].Modules[name] == m.Digest
		}
		if ok {
			out[name] = m
		}
	}
	return out
}

func digests(modules map[string]profiles.Module) map[string]string {
	out := make(map[string]string, len(modules))
	for name, m := range modules {
		out[name] = m.Digest
	}
	return out
}

// Tier returns the decision that the host lacks the isolation that one of the policies asks
// for, or nil.
func (b *Binding) Tier(h Host) *profiles.Decision {
	for _, a := range b.agents {
		if d := a.tier(h); d != nil {
			return d
		}
	}
	return nil
}

// Deadline returns the end of the grants of the run, or nil if they have none.
func (b *Binding) Deadline() *time.Time { return b.agents[0].Profile.Deadline }

// Agent returns what an executor gets: the policy of the start, with the strictest isolation
// of all that bind the run and of the policy in g, which may be nil.
func (b *Binding) Agent(g *Generation) profiles.Agent {
	now := g.Agent(b.agent)
	a := b.agents[0].Profile
	for _, other := range append(slices.Clone(b.agents[1:]), now) {
		if other != nil && tierRank(other.Profile.MinTier) > tierRank(a.MinTier) {
			a.MinTier = other.Profile.MinTier
		}
	}
	return a
}

// DecideBridge decides a call under what binds the run. If the verdict is allow or ask, the
// grants are those of every policy. later says that it was not the first policy that
// refused.
func (b *Binding) DecideBridge(bridge string, size int64) (grants []*Grant, d profiles.Decision, later bool) {
	for i, a := range b.agents {
		gr, one := a.decide(b.executor, bridge, size)
		if gr == nil {
			return nil, one, i > 0
		}
		if i == 0 || one.Verdict == profiles.Ask {
			d = one
		}
		grants = append(grants, gr)
	}
	return grants, d, false
}

// DecideBridge decides a call under g, the generation in force, for a run that may be bound
// by it. Without a grant the decision refuses.
func (g *Generation) DecideBridge(agent, executor, bridge string, size int64) (*Grant, profiles.Decision) {
	if reason, closed := g.Closed(executor); closed {
		return nil, closedDecision(g, executor, reason)
	}
	a := g.Agent(agent)
	if a == nil {
		return nil, g.Refusal(agent)
	}
	return a.decide(executor, bridge, size)
}

// closedDecision refuses a call on an executor that is closed in g.
func closedDecision(g *Generation, executor, reason string) profiles.Decision {
	return profiles.Decision{Code: profiles.CodeClosed, Revision: g.Revision,
		Reason: "the executor " + executor + " is closed: " + reason}
}

// decide returns the grant of a bridge unless the call is refused.
func (a *Agent) decide(executor, bridge string, size int64) (*Grant, profiles.Decision) {
	d := a.decider.Bridge(executor, bridge, size)
	switch d.Verdict {
	case profiles.Allow, profiles.Ask:
	case profiles.Deny:
		return nil, d
	default:
		d.Verdict = profiles.Deny
		return nil, d
	}
	gr := a.grants[bridge]
	if gr == nil {
		return nil, profiles.Decision{Code: profiles.CodeBridgeNotGranted, Revision: a.Revision,
			Reason: "the grant cannot be read"}
	}
	if d.Verdict == profiles.Ask && gr.Approval == nil {
		return nil, noApprover(d)
	}
	return gr, d
}

// noApprover refuses a call whose decision asks for an approval that no grant describes.
func noApprover(d profiles.Decision) profiles.Decision {
	d.Verdict, d.Code = profiles.Deny, profiles.CodeRingUnavailable
	d.Reason = "an approval is needed, but no approver is known"
	return d
}

// arguments returns the schemas that all grants put on the arguments, each once.
func arguments(grants ...*Grant) (out []*jsonvalue.Schema) {
	for _, g := range grants {
		if g != nil && g.arguments != nil && !slices.Contains(out, g.arguments) {
			out = append(out, g.arguments)
		}
	}
	return out
}

// Sessions returns the strictest limits on sessions of all that bind the run and of g. It is
// nil if one of them grants none.
func (b *Binding) Sessions(g *Generation) *profiles.Sessions {
	now := g.Agent(b.agent)
	var out *profiles.Sessions
	for _, a := range append(slices.Clone(b.agents), now) {
		if a == nil || a.Profile.Sessions == nil {
			return nil
		}
		if out == nil {
			s := *a.Profile.Sessions
			out = &s
			continue
		}
		out.AgeMillis = min(out.AgeMillis, a.Profile.Sessions.AgeMillis)
		out.Bytes = min(out.Bytes, a.Profile.Sessions.Bytes)
	}
	return out
}

// executorLimits returns the limits of one executor in a profile.
func executorLimits(a *profiles.Agent, executor string) profiles.Limits {
	switch {
	case executor == profiles.ExecutorJS && a.JS != nil:
		return budget.Effective(a.Limits, a.JS.Limits)
	case executor == profiles.ExecutorPython && a.Python != nil:
		return budget.Effective(a.Limits, a.Python.Limits)
	case executor == profiles.ExecutorShell && a.Shell != nil:
		return budget.Effective(a.Limits, a.Shell.Limits)
	default:
		return budget.Effective(profiles.Limits{}, profiles.Limits{})
	}
}
