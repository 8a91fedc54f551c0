package compiler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// layered decodes documents that lie over each other; "" is none.
func layered(t *testing.T, org, team, agent string) []schema.Policy {
	t.Helper()
	var sources []schema.Source
	parent := ""
	for _, d := range []struct{ kind, name, spec string }{{"OrgPolicy", "org", org}, {"TeamPolicy", "team", team},
		{"AgentPolicy", "agent", agent}} {
		if d.spec == "" {
			continue
		}
		sources = append(sources, schema.Source{Name: d.name + ".yaml", Data: fmt.Appendf(nil,
			"apiVersion: ringd/v1\nkind: %s\nmetadata: {name: %s, revision: 1, owner: \"group:%s@x.example\"%s}\nspec: {%s}\n", d.kind, d.name, d.name, parent, d.spec)})
		parent = ", parent: " + d.name
	}
	policies, found := schema.Decode(sources)
	if found.Refused() {
		t.Fatal(found)
	}
	return policies
}

// TestExceptionEnds asks before and after an exception ends: it gave what it says, to
// nobody else, and nothing of it is left.
func TestExceptionEnds(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	exc := func(id, end, grants string) string {
		return fmt.Sprintf(`{id: %s, owner: "user:a@x.example", approvedBy: ["group:org@x.example", "group:team@x.example"], expires: "%s", reason: r, grants: %s}`, id, end, grants)
	}
	one := func(grants string) string { return ", exceptions: [" + exc("EXC-1", "2026-12-01", grants) + "]" }
	py := func(imports string) string {
		return "executors: {allowed: [python], python: {imports: {allow: " + imports + "}}}"
	}
	const python = "executors: {allowed: [python]}"
	im := func(names ...string) (out []profiles.Action) {
		for _, n := range names {
			out = append(out, profiles.Action{Import: &profiles.ImportAction{Executor: "python", Module: n}})
		}
		return out
	}
	net := func(entries string) string {
		return python + ", network: {mode: allowlist, egress: [" + entries + "]}"
	}
	to := func(targets ...string) (out []profiles.Action) {
		for _, target := range targets {
			out = append(out, profiles.Action{Egress: &egress.Action{Kind: "connect", Target: target}})
		}
		return out
	}
	for _, tt := range []struct {
		name, org, team, agent string
		ask                    []profiles.Action
		before, after          string // a letter each: y, n
	}{
		{"a module of the default set, own", py("[json]"), "", python + one("{imports: [re]}"), im("json", "re", "os"), "yyn", "ynn"},
		{"a package, own", py("[json]"), "", python + one("{imports: [pandas]}"), im("json", "pandas", "os"), "yyn", "ynn"},
		{"a package, own, default set above", py("[]"), "", python + one("{imports: [pandas]}"), im("json", "pandas", "socket"), "yyn", "ynn"},
		{"listed as well, default set above", py("[]"), "", py("[json, pandas]") + one("{imports: [pandas]}"), im("json", "pandas", "re"), "yyn", "ynn"},
		{"a module outside of the default set, own", py("[]"), "", python + one("{imports: [socket]}"), im("json", "socket"), "yy", "yn"},
		{"a team's, an agent without a list", py("[json]"), "mode: enforce" + one("{imports: [re]}"), python, im("json", "re"), "yn", "yn"},
		{"a team's that lists it, an agent without a list", py("[json]"), py("[json, re]") + one("{imports: [re]}"), python, im("json", "re"), "yn", "yn"},
		{"a team's, an agent that lists it", py("[json]"), "mode: enforce" + one("{imports: [re]}"), py("[json, re]"), im("json", "re"), "yy", "yn"},
		{"a team's default set, an agent's own", py("[json]"), py("[]"), python + one("{imports: [re]}"), im("json", "re", "os"), "yyn", "ynn"},
		{"a team's default set, an agent that lists it", py("[json]"), py("[]"), py("[json, re]") + one("{imports: [re]}"), im("json", "re", "os"), "yyn", "ynn"},
		{"a wider module than above", py("[xml.dom]"), "", python + one("{imports: [xml]}"), im("xml.dom", "xml.etree"), "yy", "yn"},
		{"a wider module, the team's", py("[xml.dom]"), py("[xml]") + one("{imports: [xml]}"), python, im("xml.dom", "xml.etree"), "yn", "yn"},
		{"two that overlap, the longer one last", py("[json]"), "", python + ", exceptions: [" + exc("EXC-1", "2026-12-01", "{imports: [pandas]}") + ", " + exc("EXC-2", "2027-12-01", "{imports: [pandas]}") + "]", im("pandas"), "y", "y"},
		{"two that overlap, the longer one first", py("[json]"), "", python + ", exceptions: [" + exc("EXC-2", "2027-12-01", "{imports: [pandas]}") + ", " + exc("EXC-1", "2026-12-01", "{imports: [pandas]}") + "]", im("pandas"), "y", "y"},
		{"two that overlap, a part of it longer", py("[json]"), "", python + ", exceptions: [" + exc("EXC-1", "2026-12-01", "{imports: [pandas]}") + ", " + exc("EXC-2", "2027-12-01", "{imports: [pandas.core]}") + "]", im("pandas", "pandas.core"), "yy", "ny"},
		{"the team's and the agent's", py("[json]"), "mode: enforce" + one("{imports: [pandas]}"), python + ", exceptions: [" + exc("EXC-2", "2027-12-01", "{imports: [pandas]}") + "]", im("pandas"), "y", "y"},
		{"the team's, which the organisation approved, and the agent's, which it did not", py("[json]"), "mode: enforce" + one("{imports: [pandas]}"),
			python + ", exceptions: [" + strings.ReplaceAll(
				exc("EXC-2", "2027-12-01", "{imports: [pandas]}"), "group:org@x.example", "user:b@x.example") + "]",
			im("pandas"), "y", "n"},
		{"a team's own list, nobody above leaves it out", "mode: enforce", py("[json]") + one("{imports: [pandas]}"), py("[json, pandas.core]"), im("json", "pandas.core", "pandas"), "yyn", "ynn"},
		{"a module that holds some outside of the default set", py("[]"), "", python + one("{imports: [http]}"), im("http.client", "http"), "yy", "ny"},
		{"in mode audit", "mode: audit, " + py("[json]"), "", "mode: audit, " + python + one("{imports: [pandas]}"), im("json", "pandas"), "yy", "yw"},
		{"a host", net("{host: a.example.com}"), "", net("{host: a.example.com}") + one("{egress: [{host: b.example.com}]}"), to("a.example.com:443", "b.example.com:443"), "yy", "yn"},
		{"a host on one more port", net("{host: a.example.com}"), "", net("{host: a.example.com}") + one("{egress: [{host: a.example.com, ports: [22]}]}"), to("a.example.com:443", "a.example.com:22"), "yy", "yn"},
		{"two for a host, on other ports", net("{host: a.example.com}"), "", net("") + ", exceptions: [" + exc("EXC-1", "2026-12-01", "{egress: [{host: b.example.com}]}") + ", " + exc("EXC-2", "2027-12-01", "{egress: [{host: b.example.com, ports: [443, 22]}]}") + "]",
			to("b.example.com:443", "b.example.com:22"), "yy", "yy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, found := compiler.Compile(compiler.Config{Policies: layered(t, tt.org, tt.team, tt.agent), Now: now})
			if found.Refused() {
				t.Fatal(found)
			}
			later, err := profiles.Unexpired(&set, now.AddDate(0, 6, 0))
			if err != nil {
				t.Fatal(err)
			}
			asked := func(s *profiles.Set, at time.Time) (out string) {
				d := s.Decider("agent", profiles.Environment{Now: at})
				for _, a := range tt.ask {
					dec := d.Decide(a)
					if dec.Would != nil {
						out += "w"
						continue
					}
					out += map[profiles.Verdict]string{profiles.Deny: "n", profiles.Ask: "a",
						profiles.Allow: "y"}[dec.Verdict]
				}
				return out
			}
			if got := asked(&set, now); got != tt.before {
				t.Errorf("before: %s, want %s", got, tt.before)
			}
			if got := asked(&set, now.AddDate(0, 6, 0)); got != tt.after {
				t.Errorf("decided later: %s, want %s", got, tt.after)
			}
			if got := asked(later, now.AddDate(0, 6, 0)); got != tt.after {
				t.Errorf("taken out: %s, want %s", got, tt.after)
			}
		})
	}
}
