package ruleoftwo

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
)

// Modes of a rule, its action on three powers, and its scope, as a policy writes them.
const (
	report  = "report"
	enforce = "enforce"
	approve = "require-approval"
	session = "session"
)

// rank orders the modes by how much is asked while a run goes on. An unknown mode asks for
// everything.
func rank(r *profiles.RuleOfTwo) int {
	switch {
	case r == nil:
		return 0
	case r.Mode == report:
		return 1
	case r.Mode == enforce:
		return 2
	default:
		return 3
	}
}

// binds reports whether a rule refuses or asks anything.
func binds(r *profiles.RuleOfTwo) bool { return rank(r) >= rank(&profiles.RuleOfTwo{Mode: enforce}) }

// Strictest joins the rules of all policies that bind a run. It is nil if none has one. Of
// two rules that only report, the place of the first is kept.
func Strictest(rules ...*profiles.RuleOfTwo) (out *profiles.RuleOfTwo) {
	for _, r := range rules {
		switch {
		case r == nil || r == out:
		case out == nil || rank(r) > rank(out) && !binds(out):
			out = r
		case binds(r):
			one := *out
			if rank(r) > rank(&one) {
				one.Mode = r.Mode
			}
			if one.OnThree == approve && r.OnThree != approve {
				one.OnThree, one.Rule = r.OnThree, r.Rule
			}
			if r.Scope != one.Scope && r.Scope == session {
				one.Scope = session
			}
			out = &one
		}
	}
	return out
}

// PerSession reports whether a rule counts over the runs of a session. An unknown scope
// does.
func PerSession(r *profiles.RuleOfTwo) bool { return r != nil && r.Scope != "run" }

// decideLocked decides whether a use may pass, has to be asked about, or is refused.
//
// Once all three powers were touched, each use that goes out is asked about, and no other
// use: it cannot carry anything out. Before that, a rule that is stricter than "enforce"
// asks about any use that brings the third power. A rule that enforces was proven at compile
// time, so it asks only about uses that go out.
func (a *Account) decideLocked(u Use) (no *profiles.Decision, asks bool) {
	r := a.rule
	if !binds(r) || u.Brings == (profiles.Powers{}) || !powers.Three(powers.Join(a.t.Powers, u.Brings)) {
		return nil, false
	}
	third := !powers.Three(a.t.Powers)
	if r.OnThree != approve {
		if third || u.Brings.External {
			return a.refuseLocked(u, false), false
		}
		return nil, false
	}
	exit := a.t.Exit || u.Exit
	if u.Asked || !u.Brings.External && !exit && !(third && rank(r) > rank(&profiles.RuleOfTwo{Mode: enforce})) {
		return nil, false
	}
	return nil, true
}

// whyLocked returns the text that names the power that a use would bring, and the powers that were touched
// before.
func (a *Account) whyLocked(u Use) string {
	var brings, has []string
	for _, p := range powers.All() {
		switch {
		case powers.Has(u.Brings, p) && (!powers.Has(a.t.Powers, p) || p == powers.External):
			brings = append(brings, p.Words())
		case powers.Has(a.t.Powers, p):
			has = append(has, p.Words()+by(a.t.By[p]))
		}
	}
	if len(brings) == 0 {
		for _, p := range powers.List(u.Brings) {
			brings = append(brings, p.Words())
		}
	}
	return fmt.Sprintf("%s brings %s, and the run has already used %s",
		u.What, strings.Join(brings, " and "), strings.Join(has, " and "))
}

func by(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list[:min(len(list), 3)], ", ") + ")"
}

// refuseLocked makes the decision that refuses a use. ask says that people would be asked if
// that were possible.
func (a *Account) refuseLocked(u Use, ask bool) *profiles.Decision {
	d := &profiles.Decision{Code: profiles.CodeRuleOfTwo, Reason: a.whyLocked(u)}
	if r := a.rule; r != nil && r.Rule != (profiles.Rule{}) {
		rule := r.Rule
		d.Rule = &rule
	}
	if ask {
		d.Reason += "; people cannot be asked about it"
		d.Instead = []string{"call a bridge with external power, which can be approved",
			"do it in a run with at most two of the powers"}
		return d
	}
	d.Instead = []string{"do it in a run with at most two of the powers"}
	return d
}
