package layers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// TestNarrowingOfExceptions asks random agents with exceptions, before and after each of
// these ends: what a layer by itself refuses is allowed only while there is an exception
// that names the thing, its own or one of a document below that its owner has approved.
func TestNarrowingOfExceptions(t *testing.T) {
	judged, lifted := 0, 0
	for round := range 400 {
		g := gen{rand.New(rand.NewPCG(uint64(round), 10))}
		var docs []schema.Policy
		for _, d := range [][3]string{{"OrgPolicy", "org", ""}, {"TeamPolicy", "team", "org"},
			{"AgentPolicy", "agent", "team"}} {
			p := document(d[0], d[1], d[2], g.lists(d[1] == "agent"))
			p.Metadata.Owner = "team:" + d[1] + "@y"
			for i := range g.IntN(3) {
				if d[1] != "org" {
					p.Spec.Exceptions = append(p.Spec.Exceptions, g.exception(fmt.Sprintf("EXC-%d%d", len(docs), i)))
				}
			}
			docs = append(docs, p)
		}
		set, found := compiler.Compile(compiler.Config{Policies: docs, Now: end(1).Add(-time.Hour)})
		if found.Refused() {
			continue
		}
		judged++
		for day := range 5 {
			now := end(day + 1).Add(-time.Hour)
			left, err := profiles.Unexpired(&set, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*profiles.Set{&set, left} {
				lifted += g.held(t, round, docs, s.Decider("agent", profiles.Environment{Now: now}), now)
			}
		}
	}
	t.Logf("%d judged, %d answers by exception", judged, lifted)
	if judged < 100 || lifted < 100 {
		t.Errorf("%d judged, %d answers by exception: too few to say anything", judged, lifted)
	}
}

func end(day int) time.Time { return time.Date(2027, 1, day, 0, 0, 0, 0, time.UTC) }

// lists are those that an exception can add to.
func (g gen) lists(agent bool) (s schema.Spec) {
	if agent || g.IntN(3) > 0 {
		e := &schema.Executors{Allowed: []string{"python", "shell"}}
		if g.IntN(4) > 0 {
			e.Python = &schema.Python{Imports: &schema.PythonImports{
				Allow: g.one2(nil, []string{}, []string{"json"}, []string{"json", "xml.dom"},
					[]string{"json", "re", "http"}, []string{"*"}, []string{"pandas.core", "json"})}}
		}
		if g.IntN(2) == 0 {
			e.Shell = &schema.Shell{}
			for _, p := range g.some("/usr/bin/git", "/usr/bin/jq") {
				e.Shell.Binaries = append(e.Shell.Binaries, schema.Binary{Path: p})
			}
		}
		s.Executors = e
	}
	if agent || g.IntN(2) == 0 {
		s.Network = &schema.Network{Mode: "allowlist"}
		if g.IntN(3) > 0 {
			s.Network.Egress = []schema.Egress{}
			for _, host := range g.some("a.test", "*.b.test", "8.0.0.0/5") {
				s.Network.Egress = append(s.Network.Egress, schema.Egress{Host: host})
			}
		}
	}
	return s
}

func (g gen) exception(id string) schema.Exception {
	e := schema.Exception{ID: id, Owner: "user:a@y", Expires: end(1 + g.IntN(4)).Format(time.DateOnly), Reason: "r",
		ApprovedBy: g.one2([]string{"team:org@y", "team:team@y"}, []string{"team:org@y", "team:team@y"},
			[]string{"team:org@y"}, []string{"team:team@y"})}
	switch g.IntN(3) {
	case 0:
		e.Grants.Imports = []string{g.one("re", "pandas", "pandas.core", "xml", "http", "http.client", "socket")}
	case 1:
		e.Grants.Binaries = []string{g.one("/usr/bin/git", "/usr/bin/rg")}
	default:
		e.Grants.Egress = []schema.Egress{{Host: g.one("a.test", "x.b.test", "*.c.test", "10.0.0.0/8", "10.1.2.3")}}
	}
	return e
}

// held asks for everything, and each layer by itself about what is allowed.
func (g gen) held(t *testing.T, round int, docs []schema.Policy, d *profiles.Decider, now time.Time) (lifted int) {
	t.Helper()
	ask := func(what string, a profiles.Action, listed func(*schema.Spec) bool, named func(*schema.Exception) bool) {
		if d.Decide(a).Verdict != profiles.Allow {
			return
		}
		for i, p := range docs[:2] {
			bare := p
			bare.Spec.Exceptions = nil
			up, ok := alone(bare)
			if !ok || !listed(&p.Spec) || profiles.NewDecider(up, "", profiles.Environment{Now: now}).Decide(
				a).Verdict == profiles.Allow {
				continue
			}
			lifted++
			if !slices.ContainsFunc(docs[i:], func(below schema.Policy) bool {
				return slices.ContainsFunc(below.Spec.Exceptions, func(e schema.Exception) bool {
					until, _ := time.Parse(time.DateOnly, e.Expires)
					return now.Before(until) && named(&e) &&
						(below.Metadata.Name == p.Metadata.Name || slices.Contains(e.ApprovedBy, p.Metadata.Owner))
				})
			}) {
				t.Fatalf("round %d, %s: %s is allowed, %s refuses it, and no exception that stands lifts that", round,
					now, what, p.Metadata.Name)
			}
		}
	}
	for _, m := range []string{"json", "re", "os", "pandas", "pandas.core", "pandas.io", "xml.dom", "xml.etree", "http",
		"http.client", "socket", "requests"} {
		ask(m, profiles.Action{Import: &profiles.ImportAction{Executor: "python", Module: m}},
			func(s *schema.Spec) bool {
				return s.Executors != nil && s.Executors.Python != nil && s.Executors.Python.Imports != nil &&
					s.Executors.Python.Imports.Allow != nil
			}, func(e *schema.Exception) bool {
				return slices.ContainsFunc(e.Grants.Imports, func(n string) bool {
					return m == n || strings.HasPrefix(m, n+".")
				})
			})
	}
	for _, p := range []string{"/usr/bin/git", "/usr/bin/jq", "/usr/bin/rg"} {
		ask(p, profiles.Action{Exec: &profiles.ExecAction{Argv: []string{p}}}, func(s *schema.Spec) bool {
			return s.Executors != nil && s.Executors.Shell != nil && s.Executors.Shell.Binaries != nil
		}, func(e *schema.Exception) bool { return slices.Contains(e.Grants.Binaries, p) })
	}
	for host, by := range map[string][]string{"a.test": {"a.test"}, "x.b.test": {"x.b.test"}, "y.b.test": nil,
		"z.c.test": {"*.c.test"}, "10.1.2.3": {"10.0.0.0/8", "10.1.2.3"}, "10.9.9.9": {"10.0.0.0/8"}, "8.8.8.8": nil} {
		ask(host, profiles.Action{Egress: &egress.Action{Kind: "connect", Target: host + ":443"}},
			func(s *schema.Spec) bool { return s.Network != nil && s.Network.Egress != nil },
			func(e *schema.Exception) bool {
				return slices.ContainsFunc(e.Grants.Egress, func(o schema.Egress) bool {
					return slices.Contains(by, o.Host)
				})
			})
	}
	return lifted
}
