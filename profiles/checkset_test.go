package profiles_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

func soundDay(n int) *time.Time { t := time.Date(2026, 12, n, 0, 0, 0, 0, time.UTC); return &t }

// agent stands by one exception, until the 10th.
func soundAgent() profiles.Agent {
	return profiles.Agent{Name: "etl",
		JS: &profiles.JS{
			Imports: profiles.Imports{Allow: []profiles.ImportRule{
				{Name: "lodash", Exception: "EXC-1", Expires: soundDay(10)}}}},
		Python: &profiles.Python{Imports: profiles.Imports{
			Allow: []profiles.ImportRule{{Name: "json"}, {Name: "pyarrow", Exception: "EXC-1", Expires: soundDay(9)}}}},
		Shell: &profiles.Shell{Binaries: []profiles.Binary{
			{Path: "/usr/bin/jq", Exception: "EXC-1", Expires: soundDay(10)}}},
		Egress: profiles.Egress{Allow: []profiles.EgressRule{
			{Host: "a.example.com", Exception: "EXC-1", Expires: soundDay(10)}}},
		Exceptions: []profiles.Exception{
			{ID: "EXC-1", ApprovedBy: []string{"group:sec@acme.example"}, Expires: *soundDay(10)}},
	}
}

func set(name string, a profiles.Agent) *profiles.Set {
	return &profiles.Set{Agents: map[string]profiles.Agent{name: a}}
}

// TestCheck: each row is one thing that the compiler never says.
func TestCheck(t *testing.T) {
	if err := profiles.CheckSet(set("etl", soundAgent())); err != nil {
		t.Fatal(err)
	}
	if err := profiles.CheckSet(&profiles.Set{}); err != nil {
		t.Error("a set that grants nobody anything:", err)
	}
	audit := func(a *profiles.Agent) *profiles.Agent {
		strict := soundAgent()
		a.Mode, a.Strict = profiles.ModeAudit, &strict
		return a.Strict
	}
	below, above := int64(-1), int64(1<<53)
	for name, do := range map[string]func(a *profiles.Agent){
		"another name":                            func(a *profiles.Agent) { a.Name = "root" },
		"a mode that is none":                     func(a *profiles.Agent) { a.Mode = "off" },
		"audit without the strict agent":          func(a *profiles.Agent) { a.Mode = profiles.ModeAudit },
		"a strict agent without audit":            func(a *profiles.Agent) { audit(a); a.Mode = "" },
		"a strict agent in audit":                 func(a *profiles.Agent) { audit(audit(a)) },
		"a strict agent of another name":          func(a *profiles.Agent) { audit(a).Name = "root" },
		"a strict agent with another exception":   func(a *profiles.Agent) { audit(a).Exceptions[0].ID = "EXC-2" },
		"a strict agent approved by others":       func(a *profiles.Agent) { audit(a).Exceptions[0].ApprovedBy = nil },
		"exceptions of the strict agent alone":    func(a *profiles.Agent) { audit(a); a.Exceptions = nil },
		"a limit of the strict agent":             func(a *profiles.Agent) { audit(a).Limits.Files = &below },
		"a module by an unlisted exception":       func(a *profiles.Agent) { a.Python.Imports.Allow[1].Exception = "EXC-2" },
		"a JavaScript module by one":              func(a *profiles.Agent) { a.JS.Imports.Allow[0].Exception = "EXC-2" },
		"a program by one":                        func(a *profiles.Agent) { a.Shell.Binaries[0].Exception = "EXC-2" },
		"a host by one":                           func(a *profiles.Agent) { a.Egress.Allow[0].Exception = "EXC-2" },
		"no exception is listed":                  func(a *profiles.Agent) { a.Exceptions = nil },
		"a program that outlives its exception":   func(a *profiles.Agent) { a.Shell.Binaries[0].Expires = soundDay(11) },
		"a program whose exception does not end":  func(a *profiles.Agent) { a.Shell.Binaries[0].Expires = nil },
		"two exceptions of one name":              func(a *profiles.Agent) { a.Exceptions = append(a.Exceptions, a.Exceptions[0]) },
		"an exception without a name":             func(a *profiles.Agent) { a.Exceptions = append(a.Exceptions, profiles.Exception{}) },
		"an approver that is a role of the roots": func(a *profiles.Agent) { a.Exceptions[0].ApprovedBy = []string{"policy"} },
		"a limit below nothing":                   func(a *profiles.Agent) { a.Shell.Limits.Processes = &below },
		"a time that no host can count":           func(a *profiles.Agent) { a.JS.Limits.WallMillis = &above },
	} {
		a := soundAgent()
		do(&a)
		if err := profiles.CheckSet(set("etl", a)); err == nil {
			t.Errorf("%s: nothing is wrong with it", name)
		}
	}
	for _, name := range []string{"", "./etc", "a\x1b[2J", "A"} {
		a := soundAgent()
		a.Name = name
		if profiles.CheckSet(set(name, a)) == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	a := soundAgent()
	audit(&a)
	if err := profiles.CheckSet(set("etl", a)); err != nil {
		t.Error("mode audit:", err)
	}
}

// TestCompiled: what the compiler makes is sound, layers, exceptions and mode audit
// among it.
func TestCompiled(t *testing.T) {
	files, err := filepath.Glob("../testdata/policies/acme/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no policies", err)
	}
	var all []schema.Source
	for _, name := range files {
		if ok, _ := filepath.Match("*_test.yaml", filepath.Base(name)); ok {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, schema.Source{Name: filepath.Base(name), Data: text})
	}
	audit := schema.Source{Name: "audit.yaml", Data: []byte(`apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: trial, revision: 1, owner: "team:x@acme.example"}
spec: {mode: audit, agents: [{match: trial}], executors: {allowed: [python, shell]}}
`)}
	compact := schema.Source{Name: "compact.yaml", Data: []byte("interpreter_ring: {allowed_imports: [json]}\n")}
	for _, sources := range [][]schema.Source{all, {audit}, {compact}} {
		policies, found := schema.Decode(sources)
		if found.Refused() {
			t.Fatal(found)
		}
		made, found := compiler.Compile(compiler.Config{Policies: policies,
			Now: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
		if found.Refused() || len(made.Agents) == 0 {
			t.Fatal(found)
		}
		if err := profiles.CheckSet(&made); err != nil {
			t.Error(err)
		}
	}
}
