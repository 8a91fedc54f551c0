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

// Binding is what binds a run whatever is in force: the policy of its start,
// narrowed by its grants, and those that were in force when it paused. It is
// immutable; the nil Binding denies.
type Binding struct {
	agent    string
	executor string
	host     Host     // of its guest
	agents   []*Agent // at least one
	recorded []pause.Profile
	handed   []profiles.Grants // that narrow its subagents
	limits   profiles.Limits
}

// errPolicies: the policy changed too often while the run waited.
var errPolicies = fmt.Errorf("more than %d policies were in force while the run waited", pause.MaxProfiles)

// Bind binds a run to g, in which its agent is granted, narrowed by what the run
// that it is a subagent of hands to it, and by grants when they are not nil. The
// error wraps profiles.ErrGrants.
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
		// What the agent does not have would only be missed when the program asks.
		if err := narrow.CheckGrants(*grants); err != nil {
			return nil, err
		}
		if narrow, err = narrow.Narrow(*grants); err != nil {
			return nil, err
		}
		if handed = append(handed, grants.Handed()); len(handed) > pause.MaxHanded {
			return nil, fmt.Errorf("%w: more than %d runs above one another were given some", profiles.ErrGrants, pause.MaxHanded)
		}
	}
	if len(handed) > 0 {
		if a, err = newAgent(narrow, g.Revision, jsonvalue.Known{}, g.known(), g.at()); err != nil {
			return nil, err
		}
	}
	b := &Binding{agent: agent, executor: executor, agents: []*Agent{a}, handed: handed}
	b.recorded = []pause.Profile{{Generation: g.Number, Revision: g.Revision, Agent: a.Profile, Modules: digests(g.Modules)}}
	b.limits = executorLimits(&a.Profile, executor)
	return b, nil
}

// at are the places of the host; a nil Generation knows none.
func (g *Generation) at() Places {
	if g == nil {
		return Places{}
	}
	return g.places
}

// On is the binding of a run whose guest is on this host.
func (b *Binding) OnHost(h Host) *Binding {
	on := *b
	on.host = h
	return &on
}

// Host is where the guest of the run is, or was.
func (b *Binding) Host() Host { return b.host }

// Handed are the grants that narrow the subagents of the run: its own and those
// that were handed to it. The nil Binding hands none.
func (b *Binding) Handed() []profiles.Grants {
	if b == nil {
		return nil
	}
	return slices.Clone(b.handed)
}

// Rebind binds a run again as a pause recorded it. g, the generation in force,
// lends its validators and nothing else.
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

// Record is what a pause keeps of the binding: g, the generation in force, is
// added when the run is not bound by its policy yet. The error is ErrPolicies.
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

// First is the policy that the run was started under.
func (b *Binding) First() *Agent { return b.agents[0] }

// Generation is the number of the generation that the run was started under.
func (b *Binding) Generation() int64 { return b.recorded[0].Generation }

// Limits are those of the run, the strictest of all it is bound by and of the
// policy in g, which may be nil. No field is nil but PauseMillis.
func (b *Binding) Limits(g *Generation) profiles.Limits {
	a := g.Agent(b.agent)
	if a == nil || a == b.agents[0] {
		return b.limits
	}
	return budget.Effective(b.limits, executorLimits(&a.Profile, b.executor))
}

// Guest is what a guest of another executor runs under that works for the run: the
// policy of the start, with the strictest isolation and the strictest limits of all
// that bind the run and of g. False: one of them does not grant the executor.
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

// Strict reports whether a policy that binds the run, or that in g, syncs each
// record.
func (b *Binding) SyncsRecords(g *Generation) bool {
	const strict = "strict"
	now := g.Agent(b.agent)
	return now != nil && now.Profile.Audit == strict ||
		slices.ContainsFunc(b.agents, func(a *Agent) bool { return a.Profile.Audit == strict })
}

// FullWords reports whether a policy that binds the run has the words of scripts and of
// their programs on record.
func (b *Binding) RecordsWords() bool {
	return slices.ContainsFunc(b.agents, func(a *Agent) bool { return a.Profile.Shell != nil && a.Profile.Shell.Audit == auditFull })
}

// Modules are those of g that a resumed run may still load: allowed by all that
// binds it and by g, of the digest it has everywhere, and not taken back.
func (b *Binding) Modules(g *Generation, revoked func(string) bool) map[string]profiles.Module {
	out := map[string]profiles.Module{}
	now := g.Agent(b.agent)
	for name, m := range g.Modules {
		ok := now != nil && !revoked("import:"+name) && now.decider.Import(b.executor, name).Verdict == profiles.Allow
		for i, a := range b.agents {
			ok = ok && a.decider.Import(b.executor, name).Verdict == profiles.Allow && b.recorded[i].Modules[name] == m.Digest
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

// Tier is the decision that the host has not the isolation that one of the
// policies asks for; nil: it has.
func (b *Binding) Tier(h Host) *profiles.Decision {
	for _, a := range b.agents {
		if d := a.tier(h); d != nil {
			return d
		}
	}
	return nil
}

// Deadline is when the grants of the run end; nil: never.
func (b *Binding) Deadline() *time.Time { return b.agents[0].Profile.Deadline }

// Agent is what an executor gets: the policy of the start, with the strictest
// isolation of all that bind the run and of the policy in g, which may be nil.
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

// Own decides a call under what binds the run. With Allow and Ask the grants are
// those of every policy; later tells that it was not the first policy that
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

// Now decides a call under g, the generation in force, for a run that may be
// bound by it. Without a grant the decision refuses.
func (g *Generation) DecideBridge(agent, executor, bridge string, size int64) (*Grant, profiles.Decision) {
	if reason, closed := g.Closed(executor); closed {
		return nil, profiles.Decision{Code: profiles.CodeClosed, Reason: "the executor " + executor + " is closed: " + reason, Revision: g.Revision}
	}
	a := g.Agent(agent)
	if a == nil {
		return nil, g.Refusal(agent)
	}
	return a.decide(executor, bridge, size)
}

// decide gives the grant of a bridge unless it is refused.
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
		return nil, profiles.Decision{Code: profiles.CodeBridgeNotGranted, Reason: "the grant cannot be read", Revision: a.Revision}
	}
	if d.Verdict == profiles.Ask && gr.Approval == nil { // nobody could be asked
		d.Verdict, d.Code, d.Reason = profiles.Deny, profiles.CodeRingUnavailable, "an approval is needed, and nothing says of whom"
		return nil, d
	}
	return gr, d
}

// arguments are the schemas that all grants put on the arguments, each once.
func arguments(grants ...*Grant) (out []*jsonvalue.Schema) {
	for _, g := range grants {
		if g != nil && g.arguments != nil && !slices.Contains(out, g.arguments) {
			out = append(out, g.arguments)
		}
	}
	return out
}

// Sessions are the strictest bounds on sessions of all that bind the run and of
// g; nil when one of them grants none.
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

// executorLimits are the limits of one executor in a profile.
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
