// Package expiry owns what the end of an exception does to a compiled set: what it
// granted is taken out. It is pure; the daemon asks it on its clock, and brings the
// result in force as a generation of its own.
package expiry

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
)

// At is the set at a time: the same set while nothing of it has ended, and otherwise
// a sealed one of another revision, without what ended exceptions granted. The
// exceptions themselves stay, for refusals to name. It never widens, asking twice is
// asking once, and at the zero time nothing is left of any exception. A nil set gives
// nil; the set that is given is not changed.
func At(set *profiles.Set, now time.Time) (*profiles.Set, error) {
	if set == nil {
		return nil, nil
	}
	out := *set
	changed := false
	for name, a := range set.Agents {
		left, ended := strip(a, now)
		if !ended {
			continue
		}
		if !changed {
			out.Agents, changed = maps.Clone(set.Agents), true
		}
		out.Agents[name] = left
	}
	if !changed {
		return set, nil
	}
	sealed, _, err := out.Seal()
	if err != nil {
		return nil, fmt.Errorf("take ended exceptions out: %w", err)
	}
	return &sealed, nil
}

// Next is when something more of the set ends, after now; false: never.
func Next(set *profiles.Set, now time.Time) (time.Time, bool) {
	var next time.Time
	if set == nil {
		return next, false
	}
	for _, a := range set.Agents {
		each(&a, func(id string, end *time.Time) {
			if end != nil && id != "" && end.After(now) && (next.IsZero() || end.Before(next)) {
				next = *end
			}
		})
	}
	return next, !next.IsZero()
}

// Ended lists the exceptions, by agent, that granted something in before and nothing
// in after.
func Ended(before, after *profiles.Set) map[string][]profiles.Exception {
	out := map[string][]profiles.Exception{}
	if before == nil || after == nil {
		return out
	}
	for name, a := range before.Agents {
		had, has := grants(a), grants(after.Agents[name])
		for _, e := range a.Exceptions {
			if had[e.ID] && !has[e.ID] {
				out[name] = append(out[name], e)
			}
		}
	}
	return out
}

// grants are the exceptions that still grant something to the agent.
func grants(a profiles.Agent) map[string]bool {
	out := map[string]bool{}
	each(&a, func(id string, _ *time.Time) {
		if id != "" {
			out[id] = true
		}
	})
	return out
}

// each calls f for every entry that an exception can grant.
func each(a *profiles.Agent, f func(id string, end *time.Time)) {
	var imports []profiles.ImportRule
	if a.JS != nil {
		imports = append(imports, a.JS.Imports.Allow...)
	}
	if a.Python != nil {
		imports = append(imports, a.Python.Imports.Allow...)
	}
	for _, r := range imports {
		f(r.Exception, r.Expires)
	}
	if a.Shell != nil {
		for _, b := range a.Shell.Binaries {
			f(b.Exception, b.Expires)
		}
	}
	for _, r := range a.Egress.Allow {
		f(r.Exception, r.Expires)
	}
}

// over reports whether what an exception grants has ended. One without an end is
// none: it grants nothing.
func over(id string, end *time.Time, now time.Time) bool {
	return id != "" && (end == nil || now.IsZero() || !now.Before(*end))
}

// strip gives the agent without what has ended.
func strip(a profiles.Agent, now time.Time) (profiles.Agent, bool) {
	ended := false
	each(&a, func(id string, end *time.Time) { ended = ended || over(id, end, now) })
	if !ended {
		return a, false
	}
	if a.JS != nil {
		js := *a.JS
		js.Imports.Allow = without(js.Imports.Allow, now)
		a.JS = &js
	}
	if a.Python != nil {
		py := *a.Python
		py.Imports.Allow = without(py.Imports.Allow, now)
		a.Python = &py
	}
	if a.Shell != nil {
		sh := *a.Shell
		sh.Binaries = slices.DeleteFunc(slices.Clone(sh.Binaries), func(b profiles.Binary) bool { return over(b.Exception, b.Expires, now) })
		a.Shell = &sh
	}
	a.Egress.Allow = slices.DeleteFunc(slices.Clone(a.Egress.Allow), func(r profiles.EgressRule) bool { return over(r.Exception, r.Expires, now) })
	if a.Strict != nil {
		enforced, _ := strip(*a.Strict, now)
		a.Strict = &enforced
	}
	return a, true
}

func without(rules []profiles.ImportRule, now time.Time) []profiles.ImportRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r profiles.ImportRule) bool { return over(r.Exception, r.Expires, now) })
}
