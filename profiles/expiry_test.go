package profiles_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
)

func day(n int) time.Time { return time.Date(2026, 12, n, 0, 0, 0, 0, time.UTC) }

func end(n int) *time.Time { t := day(n); return &t }

// demo has two exceptions: EXC-1 until the 10th, EXC-2 until the 20th.
func demo(t *testing.T) *profiles.Set {
	t.Helper()
	a := profiles.Agent{Name: "etl", Policy: "etl", Bridges: map[string]profiles.Bridge{},
		JS: &profiles.JS{Imports: profiles.Imports{Allow: []profiles.ImportRule{
			{Name: "math"}, {Name: "lodash", Exception: "EXC-2", Expires: end(20)}}}},
		Python: &profiles.Python{Imports: profiles.Imports{
			Allow: []profiles.ImportRule{{Name: "json"}, {Name: "pyarrow", Exception: "EXC-1", Expires: end(10)},
				{Name: "requests", Exception: "EXC-1", Expires: end(10)}},
			Deny: []profiles.ImportRule{{Name: "requests"}}}},
		Shell: &profiles.Shell{Binaries: []profiles.Binary{{Path: "/usr/bin/git"},
			{Path: "/usr/bin/jq", Exception: "EXC-1", Expires: end(10)}, {Path: "/usr/bin/rg"}}},
		Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: []profiles.EgressRule{
			{Host: "api.example.com", Ports: []int{443}}, {Host: "eu.example.com", Ports: []int{443}, Exception: "EXC-2", Expires: end(20)},
			{Host: "old.example.com", Ports: []int{443}, Expires: end(1)}}},
		Exceptions: []profiles.Exception{
			{ID: "EXC-1", Owner: "user:ana", Expires: day(10), Rule: profiles.Rule{File: "a.yaml", Line: 3}, Grants: profiles.Excepted{Imports: []string{"pyarrow.*", "requests"}, Binaries: []string{"/usr/bin/jq"}}},
			{ID: "EXC-2", Owner: "user:ben", Expires: day(20), Rule: profiles.Rule{File: "a.yaml", Line: 9}, Grants: profiles.Excepted{Imports: []string{"lodash"}, Egress: []string{"eu.example.com:443"}}},
		}}
	s, _, err := profiles.Set{Agents: map[string]profiles.Agent{"etl": a}, Modules: map[string]profiles.Module{}}.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func at(t *testing.T, s *profiles.Set, now time.Time) *profiles.Set {
	t.Helper()
	out, err := profiles.Unexpired(s, now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(t *testing.T, s *profiles.Set) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAt(t *testing.T) {
	s := demo(t)
	before := text(t, s)
	if at(t, s, day(9)) != s {
		t.Error("nothing has ended, and the set is another one")
	}
	first := at(t, s, day(10))
	if first.Revision == s.Revision {
		t.Error("another set under the same revision")
	}
	b, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := profiles.DecodeSet(b); err != nil || cmp.Diff(text(t, again), text(t, first)) != "" {
		t.Errorf("the stripped set does not verify: %v", err)
	}
	got := text(t, first)
	for _, gone := range []string{`"pyarrow"`, `"path":"/usr/bin/jq"`} {
		if strings.Contains(got, gone) {
			t.Errorf("%s is still granted: %s", gone, got)
		}
	}
	for _, kept := range []string{`"lodash"`, `"eu.example.com"`, `"old.example.com"`, `"EXC-1"`, `"/usr/bin/git"`} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is gone: %s", kept, got)
		}
	}
	ended := profiles.EndedExceptions(s, first)
	if len(ended) != 1 || len(ended["etl"]) != 1 || ended["etl"][0].ID != "EXC-1" {
		t.Errorf("ended: %+v", ended)
	}
	if text(t, s) != before {
		t.Error("the set that was given is changed")
	}
	if text(t, at(t, first, day(10))) != got || text(t, at(t, first, day(1))) != got {
		t.Error("asking twice, or with the clock put back, gives something else")
	}
	if text(t, at(t, at(t, s, day(10)), day(20))) != text(t, at(t, s, day(20))) {
		t.Error("the order of the steps counts")
	}
	if text(t, at(t, s, time.Time{})) != text(t, at(t, s, day(20))) {
		t.Error("at no known time something of an exception is left")
	}
	if none, err := profiles.Unexpired(nil, day(1)); none != nil || err != nil {
		t.Errorf("nothing gives %v, %v", none, err)
	}
}

// TestAudited: what would be enforced of an agent in mode audit ends as well.
func TestAudited(t *testing.T) {
	a := demo(t).Agents["etl"]
	strict := a
	a.Mode, a.Strict = profiles.ModeAudit, &strict
	s, _, err := profiles.Set{Agents: map[string]profiles.Agent{"etl": a}, Modules: map[string]profiles.Module{}}.Seal()
	if err != nil {
		t.Fatal(err)
	}
	got := at(t, &s, day(10)).Agents["etl"]
	want := at(t, demo(t), day(10)).Agents["etl"]
	if diff := cmp.Diff(want, *got.Strict); diff != "" {
		t.Error(diff)
	}
	if len(strict.Shell.Binaries) != 3 {
		t.Error("the set that was given is changed")
	}
}

func TestNext(t *testing.T) {
	s := demo(t)
	for _, tt := range []struct{ now, want int }{{1, 10}, {9, 10}, {10, 20}, {19, 20}, {20, 0}, {25, 0}} {
		got, ok := profiles.NextExpiry(s, day(tt.now))
		if ok != (tt.want != 0) || ok && !got.Equal(day(tt.want)) {
			t.Errorf("after the %d.: %v, %t", tt.now, got, ok)
		}
	}
	if _, ok := profiles.NextExpiry(nil, day(1)); ok {
		t.Error("nothing ends")
	}
}

// TestDecider: the profile of before the end decides as the stripped one does.
func TestDecider(t *testing.T) {
	s := demo(t)
	actions := []string{
		`{"import":{"executor":"python","module":"pyarrow"}}`, `{"import":{"executor":"python","module":"pyarrow.parquet"}}`, `{"import":{"executor":"python","module":"json"}}`,
		`{"import":{"executor":"python","module":"requests"}}`, `{"import":{"executor":"js","module":"lodash"}}`, `{"import":{"executor":"js","module":"math"}}`,
		`{"import":{"executor":"python","module":"pyarrow","origin":"library"}}`,
		`{"exec":{"argv":["/usr/bin/jq","."]}}`, `{"exec":{"argv":["jq","."]}}`, `{"exec":{"argv":["git","status"]}}`, `{"exec":{"argv":["/usr/bin/rg","x"]}}`,
		`{"egress":{"kind":"connect","target":"eu.example.com:443","resolves_to":["93.184.216.34"]}}`, `{"egress":{"kind":"connect","target":"api.example.com:443","resolves_to":["93.184.216.34"]}}`,
	}
	times := []time.Time{{}, day(1), day(10).Add(-1), day(10), day(19), day(20), day(30)}
	early := s.Decider("etl", profiles.Environment{Now: day(1)})
	for _, now := range times {
		bare := s.Decider("etl", profiles.Environment{Now: now})
		stripped := at(t, s, now).Decider("etl", profiles.Environment{Now: now})
		for _, line := range actions {
			a, err := profiles.DecodeAction([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			x, y, z := bare.Decide(a), stripped.Decide(a), early.At(now).Decide(a)
			if x.Verdict != y.Verdict || x.Code != y.Code && x.Code != profiles.CodeEgressExpired ||
				x.Exception != y.Exception {
				t.Errorf("%v %s: %+v, and when it is taken out %+v", now, line, x, y)
			}
			if diff := cmp.Diff(x, z); diff != "" {
				t.Errorf("%v %s: made at that time, and asked at it: %s", now, line, diff)
			}
		}
	}
	say := func(now time.Time, line string) profiles.Decision {
		a, err := profiles.DecodeAction([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		return early.At(now).Decide(a)
	}
	for line, id := range map[string]string{actions[1]: "EXC-1", actions[4]: "EXC-2", actions[8]: "EXC-1",
		actions[11]: "EXC-2", actions[2]: "", actions[9]: ""} {
		if d := say(day(9), line); d.Verdict != profiles.Allow || d.Exception != id {
			t.Errorf("%s: %+v, want allowed by %q", line, d, id)
		}
	}
	if d := say(day(9), actions[3]); d.Code != profiles.CodeImportDenied {
		t.Errorf("an exception lifts a denial: %+v", d)
	}
	for _, line := range []string{actions[1], actions[8]} {
		for _, d := range []profiles.Decision{say(day(10), line),
			at(t, s, day(10)).Decider("etl", profiles.Environment{Now: day(10)}).Decide(decoded(t, line))} {
			if d.Verdict != profiles.Deny || !strings.Contains(
				d.Reason, "exception EXC-1, which granted it, ended at 2026-12-10T00:00:00Z") || d.Rule == nil ||
				d.Rule.Line != 3 {
				t.Errorf("%s: the refusal does not name the exception: %+v", line, d)
			}
		}
	}
	if d := at(t, s, day(20)).Decider("etl", profiles.Environment{Now: day(20)}).Decide(
		decoded(t, actions[11])); !strings.Contains(d.Reason, "EXC-2") {
		t.Errorf("the refusal of a host does not name the exception: %+v", d)
	}
}

func decoded(t *testing.T, line string) profiles.Action {
	t.Helper()
	a, err := profiles.DecodeAction([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestNeverWidens: later, a decision is never looser, for random sets.
func TestNeverWidens(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	names := []string{"a", "a.b", "a.b.c", "d", "d.e"}
	for range 500 {
		var py profiles.Imports
		for range r.IntN(6) {
			rule := profiles.ImportRule{Name: names[r.IntN(len(names))]}
			if r.IntN(2) == 0 {
				rule.Exception, rule.Expires = "EXC-1", end(1+r.IntN(20))
			}
			if r.IntN(4) == 0 {
				py.Deny = append(py.Deny, rule)
			} else {
				py.Allow = append(py.Allow, rule)
			}
		}
		s, _, err := profiles.Set{Agents: map[string]profiles.Agent{
			"x": {Name: "x", Python: &profiles.Python{Imports: py}}}}.Seal()
		if err != nil {
			t.Fatal(err)
		}
		d := s.Decider("x", profiles.Environment{Now: day(1)})
		last := map[string]profiles.Verdict{}
		for n := 1; n < 22; n++ {
			now := day(n)
			later := at(t, &s, now).Decider("x", profiles.Environment{Now: now})
			for _, name := range names {
				got, also := later.Import(profiles.ExecutorPython, name),
					d.At(now).Import(profiles.ExecutorPython, name)
				if got.Verdict != also.Verdict {
					t.Fatalf("%s on %d: %v and %v", name, n, got, also)
				}
				if before, ok := last[name]; ok && got.Verdict > before {
					t.Fatalf("%s on %d: %v after %v", name, n, got.Verdict, before)
				}
				last[name] = got.Verdict
			}
		}
	}
}
