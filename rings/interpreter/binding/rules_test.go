package binding_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Terms are the strictest of all approvals. An approval given under them satisfies each of
// these, and one given under less does not.
func TestTerms(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := func(count, millis int64, from ...string) *profiles.Approval {
		return &profiles.Approval{Count: count, ExpiresMillis: millis, From: from}
	}
	at := func(file string, a *profiles.Approval) *profiles.Approval {
		a.Rule.File = file
		return a
	}
	tests := []struct {
		name string
		in   []*profiles.Approval
		want *pause.Terms
		ok   bool
	}{
		{"none", nil, nil, true},
		{"nil", []*profiles.Approval{nil}, nil, true},
		{"one", []*profiles.Approval{a(0, 5)}, &pause.Terms{Count: 1, Millis: 5}, true},
		{"the newest policy's rule", []*profiles.Approval{at("old", a(1, 5)), at("new", a(1, 5)), a(1, 5)},
			&pause.Terms{Count: 1, Millis: 5, Rule: &profiles.Rule{File: "new"}}, true},
		{"both", []*profiles.Approval{a(1, 9, "a", "b"), nil, a(2, 5, "b", "c")}, &pause.Terms{Count: 2, Millis: 5, From: []string{"b"}}, true},
		{"anyone and one", []*profiles.Approval{a(1, 5), a(1, 5, "a")}, &pause.Terms{Count: 1, Millis: 5, From: []string{"a"}}, true},
		{"nobody in common", []*profiles.Approval{a(1, 5, "a"), a(1, 5, "b")}, &pause.Terms{Count: 1, Millis: 5, From: []string{}}, false},
		{"nobody in common, then anyone", []*profiles.Approval{a(1, 5, "a"), a(1, 5, "b"), a(1, 5)}, &pause.Terms{Count: 1, Millis: 5, From: []string{}}, false},
		{"no time", []*profiles.Approval{a(1, 0)}, &pause.Terms{Count: 1}, false},
		{"negative time", []*profiles.Approval{a(1, -5)}, &pause.Terms{Count: 1}, false},
		{"endless", []*profiles.Approval{a(1, 1<<62)}, &pause.Terms{Count: 1, Millis: (90 * 24 * time.Hour).Milliseconds()}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := binding.Terms(now, test.in...)
			if test.want != nil {
				test.want.Expires = now.Add(time.Duration(test.want.Millis) * time.Millisecond)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || ok != test.ok {
				t.Errorf("%v %s", ok, diff)
			}
			for _, one := range test.in {
				if ok && !binding.Satisfied(got, one) {
					t.Errorf("%+v does not satisfy %+v", got, one)
				}
			}
		})
	}
	for name, test := range map[string]struct {
		terms *pause.Terms
		by    *profiles.Approval
		want  bool
	}{
		"nothing asked":  {nil, nil, true},
		"no terms":       {nil, a(1, 5), false},
		"more people":    {&pause.Terms{Count: 1, Millis: 5}, a(2, 5), false},
		"less time":      {&pause.Terms{Count: 1, Millis: 6}, a(1, 5), false},
		"named people":   {&pause.Terms{Count: 1, Millis: 5}, a(1, 5, "a"), false},
		"other people":   {&pause.Terms{Count: 1, Millis: 5, From: []string{"a", "b"}}, a(1, 5, "a"), false},
		"fewer people":   {&pause.Terms{Count: 1, Millis: 5, From: []string{"a"}}, a(1, 5, "a", "b"), true},
		"more than that": {&pause.Terms{Count: 3, Millis: 2, From: []string{"a"}}, a(1, 5), true},
	} {
		if got := binding.Satisfied(test.terms, test.by); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The zero values grant nothing.
func TestZeroDenies(t *testing.T) {
	var g *binding.Generation
	if a := g.Agent("x"); a != nil {
		t.Error("the nil generation has an agent")
	}
	if d := g.Refusal("x"); d.Verdict != profiles.Deny || d.Code != profiles.CodeNoPolicy {
		t.Errorf("%+v", d)
	}
	closed := &binding.Generation{}
	if gr, d := closed.DecideBridge("x", "js", "b", 0); gr != nil || d.Verdict != profiles.Deny {
		t.Errorf("%+v", d)
	}
	if d := closed.Start("x", binding.Host{Name: "js", Executor: true, Tier: profiles.TierRemote}); d == nil {
		t.Error("the closed generation starts runs")
	}
	if _, err := binding.Rebind(&pause.Record{Subject: pause.Subject{Agent: "x", Executor: "js"}}, closed); err == nil {
		t.Error("a run bound by nothing")
	}
	if _, err := binding.Bind(closed, "x", "js", nil, nil); err == nil {
		t.Error("a run bound by a closed generation")
	}
}
