package profiles

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// Unexpired returns the set as of the time now. If nothing has ended, the result is the same set. Otherwise
// the result is a newly sealed set with another revision, without the grants of ended exceptions. The
// exceptions themselves stay, so that denials can name them. The result never allows more than the set, and
// applying Unexpired again changes nothing. At the zero time no exception grants anything. A nil set gives
// nil. The argument is not modified. When something expires, the daemon calls Unexpired and applies the
// result as a new generation.
func Unexpired(set *Set, now time.Time) (*Set, error) {
	if set == nil {
		return nil, nil
	}
	out := *set
	changed := false
	for name, a := range set.Agents {
		left, ended := withoutExpired(a, now)
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
		return nil, fmt.Errorf("remove ended exceptions: %w", err)
	}
	return &sealed, nil
}

// NextExpiry returns the next time after now at which something of the set expires, or false.
func NextExpiry(set *Set, now time.Time) (time.Time, bool) {
	var next time.Time
	if set == nil {
		return next, false
	}
	for _, a := range set.Agents {
		for id, end := range expiries(&a) {
			if end != nil && id != "" && end.After(now) && (next.IsZero() || end.Before(next)) {
				next = *end
			}
		}
	}
	return next, !next.IsZero()
}

// EndedExceptions lists, by agent, the exceptions that granted something in before and nothing in after.
func EndedExceptions(before, after *Set) map[string][]Exception {
	out := map[string][]Exception{}
	if before == nil || after == nil {
		return out
	}
	for name, a := range before.Agents {
		had, has := grantingExceptions(a), grantingExceptions(after.Agents[name])
		for _, e := range a.Exceptions {
			if had[e.ID] && !has[e.ID] {
				out[name] = append(out[name], e)
			}
		}
	}
	return out
}

// grantingExceptions returns the IDs of the exceptions that still grant something to the agent.
func grantingExceptions(a Agent) map[string]bool {
	out := map[string]bool{}
	for id := range expiries(&a) {
		if id != "" {
			out[id] = true
		}
	}
	return out
}

// expiries yields the entries that an exception can grant: the ID of the exception that grants the entry (or
// empty), and the expiry of the entry.
func expiries(a *Agent) iter.Seq2[string, *time.Time] {
	return func(yield func(string, *time.Time) bool) {
		var imports []ImportRule
		if a.JS != nil {
			imports = append(imports, a.JS.Imports.Allow...)
		}
		if a.Python != nil {
			imports = append(imports, a.Python.Imports.Allow...)
		}
		for _, r := range imports {
			if !yield(r.Exception, r.Expires) {
				return
			}
		}
		if a.Shell != nil {
			for _, b := range a.Shell.Binaries {
				if !yield(b.Exception, b.Expires) {
					return
				}
			}
		}
		for _, r := range a.Egress.Allow {
			if !yield(r.Exception, r.Expires) {
				return
			}
		}
	}
}

// expired reports whether a grant of exception id has expired. A grant of an exception without an expiry is
// invalid and treated as expired. If id is empty, the grant has not expired.
func expired(id string, end *time.Time, now time.Time) bool {
	return id != "" && (end == nil || now.IsZero() || !now.Before(*end))
}

// withoutExpired returns the agent without expired entries, and whether there were any.
func withoutExpired(a Agent, now time.Time) (Agent, bool) {
	ended := false
	for id, end := range expiries(&a) {
		ended = ended || expired(id, end, now)
	}
	if a.Strict != nil { // the profile of mode enforce, in mode audit
		strict, too := withoutExpired(*a.Strict, now)
		a.Strict, ended = &strict, ended || too
	}
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
		sh.Binaries = slices.DeleteFunc(slices.Clone(sh.Binaries),
			func(b Binary) bool { return expired(b.Exception, b.Expires, now) })
		a.Shell = &sh
	}
	a.Egress.Allow = slices.DeleteFunc(slices.Clone(a.Egress.Allow),
		func(r EgressRule) bool { return expired(r.Exception, r.Expires, now) })
	if a.Strict != nil {
		enforced, _ := withoutExpired(*a.Strict, now)
		a.Strict = &enforced
	}
	return a, true
}

func without(rules []ImportRule, now time.Time) []ImportRule {
	return slices.DeleteFunc(slices.Clone(rules),
		func(r ImportRule) bool { return expired(r.Exception, r.Expires, now) })
}
