package ruleoftwo

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
)

// Modes of a rule, and what it does on three powers, as a policy writes them.
const (
	report  = "report"
	enforce = "enforce"
	approve = "require-approval"
	session = "session"
)

// rank orders the modes by how much is asked while a run goes on. A mode that nobody
// knows asks for everything.
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

// Strictest joins the rules of all policies that bind a run; nil where none has one.
// Of two that only report the place of the first is kept.
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

// PerSession reports whether a rule counts over the runs of a session. A scope that
// nobody knows does.
func PerSession(r *profiles.RuleOfTwo) bool { return r != nil && r.Scope != "run" }

// judgeLocked decides a use: it may pass, has to be asked about, or is refused.
//
// Once all three powers were touched what goes out is asked about, each time, and the
// rest no more: it gets no further. Before that a watched run is asked about whatever
// brings the third, and one whose policy was proven only about what goes out.
func (a *Account) judgeLocked(u Use) (no *profiles.Decision, asks bool) {
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

// whyLocked says what a use would bring to what was touched.
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
	return fmt.Sprintf("%s brings %s, and the run has touched %s", u.What, strings.Join(brings, " and "), strings.Join(has, " and "))
}

func by(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list[:min(len(list), 3)], ", ") + ")"
}

// refuseLocked is the decision that refuses a use; ask says that people would be asked
// if they could.
func (a *Account) refuseLocked(u Use, ask bool) *profiles.Decision {
	d := &profiles.Decision{Code: profiles.CodeRuleOfTwo, Reason: a.whyLocked(u)}
	if r := a.rule; r != nil && r.Rule != (profiles.Rule{}) {
		rule := r.Rule
		d.Rule = &rule
	}
	if ask {
		d.Reason += "; nobody can be asked about it"
		d.Instead = []string{"call a bridge with external power, which people can approve", "do it in a run that touches no more than two"}
		return d
	}
	d.Instead = []string{"do it in a run that touches no more than two"}
	return d
}
