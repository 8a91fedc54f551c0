// This file compiles the rule of two: what happens when untrusted input,
// sensitive data and an external effect would meet in one agent, and in those that it
// may start. It is pure; the compiler calls it.

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

// The codes of findings. They are API.
const (
	codeRuleOfTwo     = "rule-of-two"    // all three powers meet, and the rule does not let them
	codePowerMismatch = "power-mismatch" // says that something has less power than it has
)

// Modes of the rule, what it does on three powers, and over what it counts.
const (
	enforce = "enforce"
	Report  = "report"
	dynamic = "dynamic"

	Deny    = "deny"
	approve = "require-approval"

	perRun     = "run"
	perSession = "session"
)

// ruleOfTwo compiles what a policy says of the rule; nil where it says nothing and no layer
// above it is there to expect that. What is left out is what is strictest.
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

// touchedPowers are the powers that an author names.
func touchedPowers(t *schema.Touches) (p profiles.Powers) {
	if t == nil {
		return p
	}
	is := func(b *bool) bool { return b != nil && *b }
	return profiles.Powers{Sensitive: is(t.Sensitive), Untrusted: is(t.Untrusted), External: is(t.External)}
}

// powersDeny reports whether an author says that nothing goes out by something.
func powersDeny(t *schema.Touches) bool { return t != nil && t.External != nil && !*t.External }

// checkPowers holds every agent to its rule of two. Where that denies, the agents count as
// well that it may start, which are all of the set. Where it asks, they do not: the
// interpreter ring counts what a run and its subagents touch together, and asks before
// something goes out.
func checkPowers(agents map[string]profiles.Agent) (out schema.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		if a.RuleOfTwo != nil && a.RuleOfTwo.Mode == dynamic {
			out = append(out, begins(a)...)
			continue
		}
		all := agents
		if !denies(a) {
			all = map[string]profiles.Agent{name: a}
		}
		if f := meet(a, powers.Of(all, name)); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// begins refuses an agent that is watched while it runs, and each of whose runs would
// begin with all three powers: there is no call that anybody could be asked about.
func begins(a profiles.Agent) schema.Diagnostics {
	read, written := powers.OfFiles(a)
	if !powers.Three(powers.Join(powers.Join(read, written), powers.OfInputs(a))) {
		return nil
	}
	return schema.Diagnostics{{Pos: pos(a.Rule), Code: codeRuleOfTwo, Related: []schema.Pos{pos(a.RuleOfTwo.Rule)},
		Msg: fmt.Sprintf("agent %q: its files and inputs alone bring untrusted input, sensitive data and an "+
			"external effect: none of its runs can begin", a.Name),
		Hint: "remove one of them: read or write fewer files, or use a bridge with an approval instead"}}
}

// denies reports whether three powers are refused, whoever is asked.
func denies(a profiles.Agent) bool { return a.RuleOfTwo != nil && a.RuleOfTwo.OnThree != approve }

// maxNamed is how many grants a finding names of one power.
const maxNamed = 4

// meet is the finding about an agent in which all three powers meet; nil: they do not,
// or people are asked before anything goes out.
func meet(a profiles.Agent, c powers.Account) *schema.Diagnostic {
	if !powers.Three(c.Powers) {
		return nil
	}
	deny, doors := denies(a), c.Doors()
	if !deny && len(doors) == 0 {
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
		if written(a.RuleOfTwo) {
			f.Msg += fmt.Sprintf("; the rule of two at %s denies that", pos(a.RuleOfTwo.Rule))
		} else {
			f.Msg += "; no layer sets ruleOfTwo, so the default (deny) applies"
		}
		f.Hint = "remove one power, or set ruleOfTwo: {onThree: require-approval} and give every external bridge an " +
			"approval"
	default:
		f.Msg += "; no approval is needed before data leaves by " + powers.Names(doors, maxNamed, a.Name)
		f.Hint = remedy(doors)
		for _, s := range doors[:min(len(doors), maxNamed)] {
			f.Related = append(f.Related, pos(s.Rule))
		}
	}
	if written(a.RuleOfTwo) {
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

// written reports whether an author wrote the rule, and it is not there because of a layer.
func written(r *profiles.RuleOfTwo) bool {
	return r != nil && strings.HasSuffix(r.Rule.Path, "ruleOfTwo")
}

// remedy says how doors of which nobody is asked can be closed.
func remedy(doors []powers.Source) string {
	var bridge, net, files bool
	for _, s := range doors {
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

// distinct drops places that are named before, and those that are none.
func distinct(all []schema.Pos) (out []schema.Pos) {
	for _, p := range all {
		if p != (schema.Pos{}) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
