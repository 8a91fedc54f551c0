package binding

import (
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// longest is the longest time in which an approval may be given.
const longest = 90 * 24 * time.Hour

// Terms returns the terms of an approval that satisfies all the approvals: the owners that
// all of them name, the highest count and the shortest time. A nil approval asks nothing. If
// there is none at all, the terms are nil. ok is false if no approver could satisfy them.
func Terms(now time.Time, approvals ...*profiles.Approval) (t *pause.Terms, ok bool) {
	named := false
	for _, a := range approvals {
		if a == nil {
			continue
		}
		millis := min(max(a.ExpiresMillis, 0), longest.Milliseconds())
		if t == nil {
			t = &pause.Terms{Count: 1, Millis: millis}
		}
		if rule := a.Rule; rule.File != "" {
			t.Rule = &rule
		}
		t.Count, t.Millis = max(t.Count, a.Count), min(t.Millis, millis)
		switch {
		case len(a.From) == 0:
		case !named:
			named, t.From = true, slices.Clone(a.From)
		default:
			t.From = slices.DeleteFunc(t.From, func(owner string) bool { return !slices.Contains(a.From, owner) })
		}
	}
	if t == nil {
		return nil, true
	}
	t.Expires = now.Add(time.Duration(t.Millis) * time.Millisecond)
	return t, t.Millis > 0 && !(named && len(t.From) == 0)
}

// Satisfied reports whether an approval that was given under t is one that a asks for. Nil
// terms satisfy no approval.
func Satisfied(t *pause.Terms, a *profiles.Approval) bool {
	if a == nil {
		return true
	}
	if t == nil || t.Count < max(a.Count, 1) || t.Millis > a.ExpiresMillis {
		return false
	}
	if len(a.From) == 0 {
		return true
	}
	other := func(owner string) bool { return !slices.Contains(a.From, owner) }
	return len(t.From) > 0 && !slices.ContainsFunc(t.From, other)
}
