package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// Log writes audit records.
type Log interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// ShadowConfig configures a Shadow. All fields but Workspace are required.
type ShadowConfig struct {
	Compiler    policy.Compiler // if it is no policy.Checker, candidates with guardrails are refused
	Log         Log
	Now         func() time.Time
	Logger      *slog.Logger
	Environment profiles.Environment      // the part of the host that decisions may depend on
	Workspace   func(agent string) string // value of $WORKSPACE; nil or "" means none
	// InForce returns the set that the guardrails of a candidate compare it with. It may return nil.
	InForce func() *profiles.Set
	// Enforced returns a decider for an agent under the policy in force. It may return nil.
	Enforced func(agent string) *profiles.Decider
}

// shadowSelf is the actor of the records of a Shadow.
const shadowSelf = "ringd"

// maxExamples limits the examples of differences in the status.
const maxExamples = 8

// Shadow decides in parallel with the policy in force. It asks a candidate policy, which has its own folder,
// about every decision that the daemon records. It counts and records the decisions that would differ. For an
// agent in mode audit it records the acts that its policy would have refused.
//
// It only reports. No act waits for its answers longer than maxDebt in all. A candidate that does not
// compile changes only the status. It never has a guest, a ring or a grant. The recorder calls
// [Shadow.Decided] for each decision, and a syncer of the candidate's folder calls Apply. It is safe for
// concurrent use.
type Shadow struct {
	cfg ShadowConfig

	mu         sync.Mutex
	candidate  *candidate // nil if none compiles
	state      wire.Shadow
	lastPush   syncer.Push // the last content of the folder
	unreadable bool        // the folder could not be read or compiled since then
}

// candidate is a revision with its deciders.
type candidate struct {
	set      *profiles.Set
	deciders map[string]*profiles.Decider // by agent
	seen     map[string]bool              // examples in the status
	debt     time.Duration                // time that its decisions took beyond decisionTime
}

// Limits of the time of a candidate. The writer of a record waits for the candidate's decision. A decision
// may take decisionTime. What it takes more is added to the candidate's debt. If the debt exceeds maxDebt,
// the candidate is asked no more. Faster decisions pay back a stall of the host.
const (
	decisionTime = 5 * time.Millisecond
	maxDebt      = 2 * time.Second
)

// NewShadow returns a shadow that has no candidate.
func NewShadow(cfg ShadowConfig) *Shadow {
	return &Shadow{
		cfg: cfg,
		state: wire.Shadow{
			State:    wire.ShadowNone,
			Since:    cfg.Now(),
			Examples: []wire.Difference{},
			Findings: []wire.Diagnostic{},
		},
	}
}

// Status returns the counts and examples of decisions that would differ.
func (s *Shadow) Status() *wire.Shadow {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.state
	out.Examples = append([]wire.Difference{}, s.state.Examples...)
	return &out
}

// Apply compiles the current content of the candidate's folder. A candidate that does not compile also
// replaces the previous one: decisions of an older text would mislead.
func (s *Shadow) Apply(ctx context.Context, p syncer.Push) error {
	set, found, err := s.compile(ctx, p)
	s.mu.Lock()
	s.lastPush, s.unreadable = p, err != nil
	s.mu.Unlock()
	switch {
	case err != nil:
		s.clear(wire.ShadowRejected, "the compiler could not be run: "+err.Error(), found)
		return fmt.Errorf("compile the candidate: %w", err)
	case set == nil:
		s.clear(wire.ShadowRejected, "the candidate does not compile", found)
		return nil
	case found.Refused():
		s.clear(wire.ShadowRejected, "a guardrail refuses the candidate", found)
		return nil
	}
	set = set.In(s.cfg.Workspace)
	c := &candidate{set: set, deciders: map[string]*profiles.Decider{}, seen: map[string]bool{}}
	for name := range set.Agents {
		c.deciders[name] = set.Decider(name, s.cfg.Environment)
	}
	s.mu.Lock()
	if s.candidate == nil || s.candidate.set.Revision != set.Revision {
		s.state = wire.Shadow{Examples: []wire.Difference{}, Since: s.cfg.Now()}
		s.candidate = c
	}
	s.state.State, s.state.Reason, s.state.Revision, s.state.Findings = wire.ShadowReady, "", set.Revision,
		view.Findings(
			found,
		)
	s.mu.Unlock()
	s.cfg.Logger.Info("candidate decides in parallel with the policy", "revision", set.Revision)
	return nil
}

// compile returns the set of a candidate, and checks it against its guardrails as before a push comes into
// force. It returns nil without an error if the candidate does not compile.
func (s *Shadow) compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	set, found, err := s.cfg.Compiler.Compile(ctx, p)
	if err != nil || set == nil || found.Refused() {
		return nil, found, err
	}
	if c, ok := s.cfg.Compiler.(policy.Checker); ok {
		more, err := c.Check(ctx, set, s.cfg.InForce())
		return set, append(found, more...), err
	}
	if set.Guarded() {
		return nil, found, errors.New("this host cannot evaluate the guardrails of the candidate")
	}
	return set, found, nil
}

// Current applies the last content again if the folder was unreadable meanwhile. Otherwise nothing has
// changed.
func (s *Shadow) Current(ctx context.Context, _ string) {
	s.mu.Lock()
	p, away := s.lastPush, s.unreadable
	s.mu.Unlock()
	if away {
		_ = s.Apply(ctx, p) // the status has the error
	}
}

// Reject reports that the folder has no policy.
func (s *Shadow) Reject(_ context.Context, err error) { s.unavailable(wire.ShadowRejected, err) }

// Lost reports that the folder is missing.
func (s *Shadow) Lost(_ context.Context, err error) { s.unavailable(wire.ShadowNone, err) }

// unavailable ends a candidate that cannot be read.
func (s *Shadow) unavailable(state string, err error) {
	s.mu.Lock()
	s.unreadable = true
	s.mu.Unlock()
	s.clear(state, err.Error(), nil)
}

// clear removes the candidate and sets the state.
func (s *Shadow) clear(state, why string, found schema.Diagnostics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.candidate != nil || s.state.State != state {
		s.cfg.Logger.Warn("no candidate decides in parallel with the policy", "reason", why)
	}
	s.candidate = nil
	s.state = wire.Shadow{
		State:    state,
		Reason:   why,
		Since:    s.cfg.Now(),
		Examples: []wire.Difference{},
		Findings: view.Findings(found),
	}
}

// Decided compares a recorded decision with that of the candidate, and records a difference. a is the action
// if the record does not hold all of it.
func (s *Shadow) Decided(ctx context.Context, r audit.Record, a *profiles.Action) {
	for _, q := range questions(r, a) {
		for _, diff := range []*audit.Record{s.compare(r, q), s.auditRecord(r, q)} {
			if diff == nil {
				continue
			}
			if _, err := s.cfg.Log.Append(ctx, *diff, audit.Written); err != nil && !errors.Is(err, context.Canceled) {
				s.cfg.Logger.Error("record what would have been decided", "error", err)
			}
		}
	}
}

// auditRecord returns the record of an act of an agent in mode audit that its policy would not have allowed, or
// nil.
func (s *Shadow) auditRecord(r audit.Record, q question) *audit.Record {
	d := s.cfg.Enforced(r.Agent)
	if d.Profile().Mode != profiles.ModeAudit {
		return nil
	}
	would := d.At(s.cfg.Now()).Decide(q.action).Would
	if would == nil || would.Verdict == q.was {
		return nil
	}
	return &audit.Record{Kind: audit.AuditDecided, Actor: shadowSelf, Agent: r.Agent, Run: r.Run, Call: r.Call,
		Generation: r.Generation, Revision: r.Revision, Capability: q.capability, State: wouldOutcome(would.Verdict),
		Decision: &audit.Decision{Verdict: would.Verdict, Code: would.Code, Rule: would.Rule},
		Detail:   map[string]string{"enforced": q.was.String()}}
}

// question is a decision that was made, in a form that can be decided again.
type question struct {
	capability string
	action     profiles.Action
	was        profiles.Verdict
}

// questions returns the decisions in a record.
func questions(r audit.Record, a *profiles.Action) []question {
	was, decided := profiles.Allow, true
	if r.Decision != nil {
		was = r.Decision.Verdict
	} else {
		decided = r.Kind == audit.CallOpened || r.Kind == audit.RunEnded
	}
	kind, name, _ := strings.Cut(r.Capability, ":")
	switch {
	case !decided:
		return nil
	case r.Kind == audit.RunEnded:
		var out []question
		for module := range strings.SplitSeq(r.Detail["imports"], ",") {
			if module != "" {
				out = append(
					out,
					importQuestion(profiles.ExecutorPython, "import:"+module, module, profiles.Allow),
				) // no other record has them
			}
		}
		return out
	case a != nil:
		return []question{{r.Capability, *a, was}}
	case r.Kind == audit.ImportDecided && kind == "import":
		return []question{
			importQuestion(r.Detail["executor"], r.Capability, name, was),
		} // the same name is another module in each language
	case r.Claimed(): // it names no target
		return nil
	case r.Kind == audit.EgressDecided && kind == "egress":
		return []question{{r.Capability, profiles.Action{Egress: egressAction(r.Detail["door"], name)}, was}}
	default:
		return nil
	}
}

// egressAction returns the action of a recorded connection. It is a host with its port. For DNS it is a name, which
// matches an entry with any port.
func egressAction(listener, target string) *egress.Action {
	if to, ok := egress.ReadDest(target); ok && listener == egress.KindDNS {
		return &egress.Action{Kind: egress.KindDNS, Target: to.Host()}
	}
	return &egress.Action{Kind: egress.KindConnect, Target: target}
}

func importQuestion(executor, capability, module string, was profiles.Verdict) question {
	return question{
		capability,
		profiles.Action{Import: &profiles.ImportAction{Executor: executor, Module: module}},
		was,
	}
}

// compare decides q under the candidate. It returns nil if there is no candidate or the decision is the same.
func (s *Shadow) compare(r audit.Record, q question) *audit.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.candidate
	if c == nil {
		return nil
	}
	d := c.deciders[r.Agent]
	if d == nil {
		d = c.set.Decider(r.Agent, s.cfg.Environment)
	}
	at := s.cfg.Now()
	now := decideTarget(d.At(at), q.action, at)
	s.state.Decided++
	if c.debt = max(c.debt+s.cfg.Now().Sub(at)-decisionTime, 0); c.debt > maxDebt {
		s.candidate = nil
		s.state.State = wire.ShadowRejected
		s.state.Reason = "its decisions are too slow and would delay the policy in force: it decides nothing more " +
			"until it changes"
		s.cfg.Logger.Warn("no candidate decides in parallel with the policy", "reason", "its decisions are too slow")
	}
	if now.Verdict == q.was {
		return nil
	}
	outcome := wouldOutcome(now.Verdict)
	switch now.Verdict {
	case profiles.Allow:
		s.state.WouldAllow++
	case profiles.Ask:
		s.state.WouldAsk++
	case profiles.Deny:
		fallthrough
	default:
		s.state.WouldDeny++
	}
	s.exampleLocked(c, outcome, r, q, now)
	return &audit.Record{Kind: audit.ShadowDecided, Actor: shadowSelf, Agent: r.Agent, Run: r.Run, Call: r.Call,
		Generation: r.Generation, Revision: r.Revision, Capability: q.capability, State: outcome,
		Decision: audit.Decided(
			redacted(now),
		), Detail: map[string]string{"candidate": c.set.Revision, "enforced": q.was.String()}}
}

func wouldOutcome(v profiles.Verdict) string { return "would_" + v.String() }

// redacted drops the fields that quote the text of a program.
func redacted(d profiles.Decision) profiles.Decision {
	d.Reason, d.Evidence, d.Instead, d.Start = "", nil, nil, nil
	return d
}

func (s *Shadow) exampleLocked(c *candidate, outcome string, r audit.Record, q question, d profiles.Decision) {
	key := strings.Join([]string{outcome, r.Agent, q.capability}, "\x00")
	if len(s.state.Examples) >= maxExamples || c.seen[key] {
		return
	}
	c.seen[key] = true
	s.state.Examples = append(s.state.Examples, wire.Difference{Outcome: outcome, Agent: r.Agent, Run: r.Run,
		Capability: q.capability, Code: string(d.Code), Enforced: q.was.String()})
}

// decideTarget decides a target without a lookup: its name was looked up for the decision in force, and is not
// looked up again.
func decideTarget(d *profiles.Decider, a profiles.Action, at time.Time) profiles.Decision {
	if a.Egress == nil || a.Egress.Kind == egress.KindDNS {
		return d.Decide(a)
	}
	to, ok := egress.ReadDest(a.Egress.Target)
	if !ok {
		return d.Decide(a)
	}
	return profiles.Connect(to, at, d).Decision()
}
