package compiler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/schema"
)

// Codes of findings. They are API.
const (
	codeRuleOfTwo     = "rule-of-two"    // all three powers meet, which the rule of two denies
	codePowerMismatch = "power-mismatch" // something is declared to have less power than it has
)

// Modes of the rule of two, its actions on three powers, and its scopes.
const (
	enforce = "enforce"
	Report  = "report"
	dynamic = "dynamic"

	Deny    = "deny"
	approve = "require-approval"

	perRun     = "run"
	perSession = "session"
)

// ruleOfTwo compiles the rule of two. It returns nil if the policy does not set it and no layer above
// requires it. Absent fields get the strictest value.
func ruleOfTwo(r *schema.RuleOfTwo, layered bool, at profiles.Rule) *profiles.RuleOfTwo {
	if r == nil {
		if !layered {
			return nil
		}
		r = &schema.RuleOfTwo{}
	}
	or := func(v, strictest string) string {
		if v == "" {
			return strictest
		}
		return v
	}
	return &profiles.RuleOfTwo{Mode: or(r.Mode, enforce), OnThree: or(r.OnThree, Deny), Scope: or(r.Scope, perSession),
		Rule: at}
}

// touchedPowers returns the powers that an author declares.
func touchedPowers(t *schema.Touches) (p profiles.Powers) {
	if t == nil {
		return p
	}
	is := func(b *bool) bool { return b != nil && *b }
	return profiles.Powers{Sensitive: is(t.Sensitive), Untrusted: is(t.Untrusted), External: is(t.External)}
}

// powersDeny reports whether an author declares that nothing is sent out.
func powersDeny(t *schema.Touches) bool { return t != nil && t.External != nil && !*t.External }

// checkPowers checks every agent against its rule of two. If the rule denies, the powers of all agents that
// the agent may start (any of the set) are added. If it requires an approval, they are not: the interpreter
// ring counts the powers of a run and its subagents together, and asks before an external effect.
func checkPowers(agents map[string]profiles.Agent) (out schema.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		if a.RuleOfTwo != nil && a.RuleOfTwo.Mode == dynamic {
			out = append(out, startsWithThreePowers(a)...)
			continue
		}
		all := agents
		if !denies(a) {
			all = map[string]profiles.Agent{name: a}
		}
		if f := threePowersFinding(a, powers.Of(all, name)); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// startsWithThreePowers rejects an agent with a dynamic rule whose every run starts with all three powers:
// there would be no call at which to ask for approval.
func startsWithThreePowers(a profiles.Agent) schema.Diagnostics {
	read, written := powers.OfFiles(a)
	if !powers.Three(powers.Join(powers.Join(read, written), powers.OfInputs(a))) {
		return nil
	}
	return schema.Diagnostics{{Pos: pos(a.Rule), Code: codeRuleOfTwo, Related: []schema.Pos{pos(a.RuleOfTwo.Rule)},
		Msg: fmt.Sprintf("agent %q: its files and inputs alone bring untrusted input, sensitive data and an "+
			"external effect: none of its runs can begin", a.Name),
		Hint: "remove one of them: read or write fewer files, or use a bridge with an approval instead"}}
}

// denies reports whether the combination of three powers is denied, without an approval.
func denies(a profiles.Agent) bool { return a.RuleOfTwo != nil && a.RuleOfTwo.OnThree != approve }

// maxNamed is the largest number of grants that a finding names for one power.
const maxNamed = 4

// threePowersFinding returns the finding about an agent in which all three powers meet. It returns nil if
// the powers do not meet, or if every external effect needs an approval.
func threePowersFinding(a profiles.Agent, c powers.Account) *schema.Diagnostic {
	if !powers.Three(c.Powers) {
		return nil
	}
	deny, unapproved := denies(a), c.Unapproved()
	if !deny && len(unapproved) == 0 {
		return nil
	}
	f := &schema.Diagnostic{Pos: pos(a.Rule), Code: codeRuleOfTwo}
	var has []string
	for _, p := range powers.All() {
		list := c.Brings(p)
		has = append(has, p.Words()+" by "+powers.Names(list, maxNamed, a.Name))
		for _, s := range list[:min(len(list), maxNamed)] {
			f.Related = append(f.Related, pos(s.Rule))
		}
	}
	f.Msg = fmt.Sprintf("agent %q has all three powers: %s", a.Name, strings.Join(has, "; "))
	if len(c.Starts) > 0 {
		f.Msg += " (it may start any agent of the policy, so it has their powers too)"
	}
	switch {
	case deny:
		if writtenByAuthor(a.RuleOfTwo) {
			f.Msg += fmt.Sprintf("; the rule of two at %s denies that", pos(a.RuleOfTwo.Rule))
		} else {
			f.Msg += "; no layer sets ruleOfTwo, so the default (deny) applies"
		}
		f.Hint = "remove one power, or set ruleOfTwo: {onThree: require-approval} and give every external bridge an " +
			"approval"
	default:
		f.Msg += "; no approval is needed before data leaves by " + powers.Names(unapproved, maxNamed, a.Name)
		f.Hint = remedy(unapproved)
		for _, s := range unapproved[:min(len(unapproved), maxNamed)] {
			f.Related = append(f.Related, pos(s.Rule))
		}
	}
	if writtenByAuthor(a.RuleOfTwo) {
		f.Related = append(f.Related, pos(a.RuleOfTwo.Rule))
	} else if a.RuleOfTwo == nil {
		f.Hint += "; or set ruleOfTwo to deny or approve this"
	}
	if a.RuleOfTwo == nil || a.RuleOfTwo.Mode == Report {
		f.Severity = schema.Warning
	}
	f.Related = distinct(f.Related)
	return f
}

// writtenByAuthor reports whether the author wrote the rule, rather than a layer implying it.
func writtenByAuthor(r *profiles.RuleOfTwo) bool {
	return r != nil && strings.HasSuffix(r.Rule.Path, "ruleOfTwo")
}

// remedy returns the hint for external effects without an approval: what the author can write instead of
// each kind.
func remedy(unapproved []powers.Source) string {
	var bridge, net, files bool
	for _, s := range unapproved {
		switch kind, _, _ := strings.Cut(s.What, ":"); kind {
		case "bridge":
			bridge = true
		case "files":
			files = true
		default:
			net = true
		}
	}
	var out []string
	if bridge {
		out = append(out, "give the bridge approval: {required: true}, without when")
	}
	if net {
		out = append(out, "a connection cannot ask for an approval: grant a bridge with an approval in its place, or "+
			"a gateway with methods: [GET, HEAD]")
	}
	if files {
		out = append(out, "writing a file cannot ask for an approval: grant a bridge with an approval in its place")
	}
	return strings.Join(append(out, "or set ruleOfTwo: {mode: dynamic}, which asks when a run uses its third power"),
		"; ")
}

func pos(r profiles.Rule) schema.Pos {
	return schema.Pos{File: r.File, Line: r.Line, Column: r.Column}
}

// distinct drops duplicates and zero positions.
func distinct(all []schema.Pos) (out []schema.Pos) {
	for _, p := range all {
		if p != (schema.Pos{}) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
