package profiles

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles/spelling"
)

// Names of the executors in policies and actions.
const (
	ExecutorJS     = "js"
	ExecutorPython = "python"
	ExecutorShell  = "shell"
)

// Environment is what the host adds to a profile for decisions. Workspace and Home are the folders that
// replace $WORKSPACE and ~ in paths. Each folder is absolute and clean. If a folder is not set, a grant that
// names it grants nothing, and a denial that names it denies every file.
type Environment struct {
	Workspace string
	Home      string
	// Condition evaluates the condition of an approval for a call. Only Decide calls Condition. It may be
	// called concurrently and must end by itself. If Condition is nil or returns an error or true, the call
	// needs its approval.
	Condition func(when string, c Call) (bool, error)
	// Guardrail evaluates a guardrail on calls and returns its reasons to deny. It is called like Condition.
	// If Guardrail is nil or returns an error or a reason, the call is denied.
	Guardrail func(rego string, c Call) ([]string, error)
	// Script reads a script for Shell. It decides the script by asking d about each command. It may be called
	// concurrently and must end by itself. If Script is nil, this process cannot read scripts, and every
	// script is denied.
	Script func(d *Decider, a ShellAction) Decision
	// Now is the time of decisions: see [Decider.At]. With a zero Now, grants that have an expiry are denied.
	Now time.Time
}

// Decider decides actions of one agent. It is made once for each revision, is immutable and safe for
// concurrent use. The nil Decider denies everything.
type Decider struct {
	agent     Agent
	revision  string
	condition func(when string, c Call) (bool, error)
	guardrail func(rego string, c Call) ([]string, error)
	script    func(d *Decider, a ShellAction) Decision
	now       time.Time
	place     string       // Environment.Workspace
	ends      []*time.Time // expiries of imports and programs
	closed    *Decision    // if set, the decision on every action
	watch     Watch        // of the network; may be nil
	strict    *Decider     // in mode audit: the decider of mode enforce

	js, python *importIndex
	bridges    map[string]*bridgeEntry
	names      []string // granted bridges, sorted
	files      fileIndex
	shell      shellIndex
	reach      reach
}

// Agent returns the agent's profile. It returns false for a nil set or an unknown name.
func (s *Set) Agent(name string) (Agent, bool) {
	if s == nil {
		return Agent{}, false
	}
	a, ok := s.Agents[name]
	return a, ok
}

// Decider returns the decider of one agent. It is never nil. If the set is nil or the agent is unknown, the
// decider denies everything and gives that as the reason.
func (s *Set) Decider(name string, env Environment) *Decider {
	if s == nil {
		return &Decider{closed: &Decision{Code: CodeNoPolicy, Reason: "no valid policy is in force"}}
	}
	a, ok := s.Agents[name]
	if !ok {
		names := slices.Sorted(maps.Keys(s.Agents))
		return &Decider{closed: &Decision{Code: CodeUnknownAgent, Revision: s.Revision,
			Reason: fmt.Sprintf("the policy has no agent %q", clip(name)), Instead: spelling.Instead(name, names)}}
	}
	return NewDecider(a, s.Revision, env)
}

// NewDecider indexes one agent's profile. Decisions carry the revision.
func NewDecider(a Agent, revision string, env Environment) *Decider {
	d := &Decider{agent: a, revision: revision, condition: env.Condition, guardrail: env.Guardrail, script: env.Script,
		now: env.Now, place: env.Workspace}
	if a.Strict != nil {
		d.strict = NewDecider(*a.Strict, revision, env)
	}
	d.bridges, d.names = indexBridges(&d.agent, revision)
	d.files = newFileIndex(&a.Files, env)
	d.reach = newReach(&a.Egress)
	d.ends = a.ends()
	d.indexTimed()
	return d
}

// indexTimed indexes the lists whose entries may expire, as of d.now.
func (d *Decider) indexTimed() {
	if js := d.agent.JS; js != nil {
		d.js = newImportIndex(&js.Imports, ExecutorJS, d.revision, d.now)
	}
	if py := d.agent.Python; py != nil {
		d.python = newImportIndex(&py.Imports, ExecutorPython, d.revision, d.now)
	}
	if sh := d.agent.Shell; sh != nil {
		d.shell = newShellIndex(sh, d.place, d.now)
	}
}

// Decide decides one action without an environment and without a revision. A caller with many actions should
// keep a Decider instead.
func (a Agent) Decide(action Action) Decision {
	return NewDecider(a, "", Environment{}).Decide(action)
}

// Decide decides one action. An action that no rule allows is denied. A malformed action is denied as well.
// In mode audit, Would of the decision is the decision that mode enforce would have made.
func (d *Decider) Decide(a Action) Decision {
	dec := d.decide(a)
	if d == nil || d.strict == nil {
		return dec
	}
	if w := d.strict.decide(a); w.Verdict != dec.Verdict {
		dec.Would = &Would{Verdict: w.Verdict, Code: w.Code, Reason: w.Reason, Rule: w.Rule}
	}
	return dec
}

func (d *Decider) decide(a Action) Decision {
	set := 0
	for _, is := range []bool{a.Shell != nil, a.Import != nil, a.Egress != nil, a.Bridge != nil, a.File != nil,
		a.Exec != nil, a.Variable != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		dec := Malformed(fmt.Errorf("an action has exactly one key, not %d", set))
		if d != nil {
			dec.Revision = d.revision
		}
		return dec
	}
	switch {
	case a.Shell != nil:
		return d.Shell(*a.Shell)
	case a.Import != nil:
		return d.ImportFor(a.Import.Executor, a.Import.Module, a.Import.Origin)
	case a.Egress != nil:
		return d.Egress(*a.Egress)
	case a.Bridge != nil:
		return d.bridgeAction(a.Bridge)
	case a.File != nil:
		return d.File(a.File.Op, a.File.Path)
	case a.Exec != nil:
		return d.Exec(*a.Exec)
	case a.Variable != nil:
		return d.Variable(*a.Variable)
	default:
		return Decision{Code: CodeActionMalformed, Reason: "no action"}
	}
}

// Malformed is the decision for a text that is not a valid action.
func Malformed(err error) Decision {
	return Decision{Code: CodeActionMalformed, Reason: "not a valid action: " + err.Error()}
}

// At returns the decider for the time now. It decides on the network as of that time, and has no grants of
// exceptions that have ended by then. The receiver may be nil and is not changed.
func (d *Decider) At(now time.Time) *Decider {
	if d == nil {
		return nil
	}
	at := *d
	at.now, at.strict = now, d.strict.At(now)
	if slices.ContainsFunc(d.ends, func(end *time.Time) bool { return live(end, d.now) != live(end, now) }) {
		at.indexTimed()
	}
	return &at
}

// Now returns the time of decisions, or zero if d is nil.
func (d *Decider) Now() time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.now
}

// Watch is called before a use of the network that the policy allows. It gets the entry or the gateway that
// allows the use, and nil for the other one. If Watch returns a decision, the use is denied with it. Watch
// may be called concurrently, and more than once for one connection.
type Watch func(*EgressRule, *Gateway) *Decision

// Watched returns a decider that also calls w for live decisions on the network. If the requests on a
// connection are read, it calls w for each request. If they are not read, it calls w for the connection. The
// receiver may be nil and is not changed.
func (d *Decider) Watched(w Watch) *Decider {
	if d == nil {
		return nil
	}
	one := *d
	one.watch = w
	return &one
}

// Profile returns the agent's profile, or the zero Agent if d is nil or closed.
func (d *Decider) Profile() Agent {
	if d == nil {
		return Agent{}
	}
	return d.agent
}

// Revision returns the revision of the policy, or "" if d is nil.
func (d *Decider) Revision() string {
	if d == nil {
		return ""
	}
	return d.revision
}

// refuse returns the decision of a decider that denies everything.
func (d *Decider) refuse() (Decision, bool) {
	if d == nil {
		return Decision{Code: CodeClosed, Reason: "no profile is in force"}, true
	}
	if d.closed != nil {
		return *d.closed, true
	}
	return Decision{}, false
}

func (d *Decider) deny(code Code, rule *Rule, format string, args ...any) Decision {
	return Decision{Code: code, Reason: fmt.Sprintf(format, args...), Rule: ruleOrNil(rule), Revision: d.revision}
}

func (d *Decider) allow(rule *Rule, reason string) Decision {
	return Decision{Verdict: Allow, Code: CodeAllowed, Reason: reason, Rule: ruleOrNil(rule), Revision: d.revision}
}

func (d *Decider) notGranted(executor string) Decision {
	rule := ruleOrNil(&d.agent.ExecutorsRule)
	if rule == nil {
		rule = &d.agent.Rule
	}
	return d.deny(CodeExecutorNotGranted, rule, "the policy does not grant the executor %s", clip(executor))
}

// ruleOrNil returns r, or nil if r is the zero Rule.
func ruleOrNil(r *Rule) *Rule {
	if r == nil || *r == (Rule{}) {
		return nil
	}
	return r
}

// grantsExecutor reports whether an agent's policy grants an executor.
func grantsExecutor(a *Agent, name string) bool {
	switch name {
	case ExecutorJS:
		return a.JS != nil
	case ExecutorPython:
		return a.Python != nil
	case ExecutorShell:
		return a.Shell != nil
	default:
		return false
	}
}
