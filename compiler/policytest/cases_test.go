package policytest_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler/policytest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// decode reads the body of a case, an action with what is expected.
func decode(t *testing.T, body string) policytest.Case {
	t.Helper()
	f, found := policytest.Decode(schema.Source{Name: "a_test.yaml", Data: []byte("cases:\n  - {name: x, expect: " +
		"deny, " + body + "}\n")})
	if len(found) > 0 || len(f.Cases) != 1 {
		t.Fatalf("%s: %v", body, found)
	}
	return f.Cases[0]
}

// Each way to write an action comes to the one that ringd decide takes.
func TestActions(t *testing.T) {
	for body, want := range map[string]string{
		`python: {import: a.b}`:                                     `{"import":{"executor":"python","module":"a.b"}}`,
		`python: {import: a, origin: library}`:                      `{"import":{"executor":"python","module":"a","origin":"library"}}`,
		`js: {import: "ringd:log"}`:                                 `{"import":{"executor":"js","module":"ringd:log"}}`,
		`egress: {host: a.example}`:                                 `{"egress":{"kind":"connect","target":"a.example:443"}}`,
		`egress: {host: a.example, port: 80, path: /x}`:             `{"egress":{"kind":"http","target":"http://a.example:80/x","method":"GET"}}`,
		`egress: {host: a.example, method: POST}`:                   `{"egress":{"kind":"fetch","target":"https://a.example:443/","method":"POST"}}`,
		`egress: {host: "2001:db8::1"}`:                             `{"egress":{"kind":"connect","target":"[2001:db8::1]:443"}}`,
		`egress: {host: a.example, resolves_to: ["10.0.0.1"]}`:      `{"egress":{"kind":"connect","target":"a.example:443","resolves_to":["10.0.0.1"]}}`,
		`egress: {kind: dns, target: a.example}`:                    `{"egress":{"kind":"dns","target":"a.example"}}`,
		`shell: {script: "a | b", cwd: /w}`:                         `{"shell":{"script":"a | b","cwd":"/w"}}`,
		`shell: {argv: [a, ""]}`:                                    `{"exec":{"argv":["a",""]}}`,
		`exec: {argv: [a], env: [B=c]}`:                             `{"exec":{"argv":["a"],"env":["B=c"]}}`,
		`file: {op: read, path: /a}`:                                `{"file":{"op":"read","path":"/a"}}`,
		`bridge: {name: a.b, args: [1, {"c": null}], executor: js}`: `{"bridge":{"name":"a.b","args":[1,{"c":null}],"executor":"js"}}`,
		`variable: {name: PATH, value: /x}`:                         `{"variable":{"name":"PATH","value":"/x"}}`,
	} {
		c := decode(t, body)
		wanted, err := profiles.DecodeAction([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, c.Action); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
	if c := decode(t, `bridge: {name: a, call: 21}`); c.Call != 21 || c.Expect != profiles.Deny {
		t.Errorf("got call %d, %s", c.Call, c.Expect)
	}
}

func TestHead(t *testing.T) {
	f, found := policytest.Decode(schema.Source{Name: "a_test.json", Data: []byte(`{"agent":"a","now":"2026-11-20T10:00:00Z","coverage":{"rules":"90%"},
		"cases":[{"name":"x","file":{"op":"read","path":"/a"},"expect":"allow"}]}`)})
	if len(found) > 0 {
		t.Fatal(found)
	}
	if !f.Now.Equal(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)) || f.Rules != 90 || f.Denies != 0 ||
		f.Workspace != "/workspace" || f.Home != "/home/agent" {
		t.Errorf("got %+v", f)
	}
}

// What stands in a second document would not be run, so it is refused.
func TestSecondDocument(t *testing.T) {
	const doc = "cases:\n  - {name: x, expect: deny, import: {executor: js, module: a}}\n"
	_, found := policytest.Decode(schema.Source{Name: "a_test.yaml", Data: []byte(doc + "---\n" + doc)})
	if len(found) != 1 || !found.Refused() || found[0].Pos.Line != 3 {
		t.Errorf("got %v", found)
	}
}

// A rule is named by its policy, that of the layer it stands in, or by its line.
func TestIsRule(t *testing.T) {
	a := profiles.Agent{Policy: "own"}
	own := &profiles.Rule{File: "team/a.yaml", Line: 7, Column: 3, Path: "spec.x[0]"}
	above := &profiles.Rule{File: "org.yaml", Line: 7, Column: 3, Path: "spec.x[0]", Layer: "OrgPolicy acme"}
	for _, tt := range []struct {
		text string
		rule *profiles.Rule
		want bool
	}{
		{"own#spec.x[0]", own, true}, {"own#spec.x[1]", own, false}, {"acme#spec.x[0]", own, false}, {"acme#spec.x[0]", above, true}, {"own#spec.x[0]", above, false},
		{"a.yaml:7", own, true}, {"team/a.yaml:7:3", own, true}, {"a.yaml:7:4", own, false}, {"a.yaml:8", own, false}, {"ba.yaml:7", own, false}, {"m/a.yaml:7", own, false},
		{"own#spec.x[0]", nil, false},
	} {
		if got := policytest.IsRule(tt.text, a, tt.rule); got != tt.want {
			t.Errorf("%s of %+v: got %v", tt.text, tt.rule, got)
		}
	}
}

// Coverage counts what grants by what was granted and what denies by what was denied.
func TestCoverage(t *testing.T) {
	at := func(line int) profiles.Rule { return profiles.Rule{File: "a.yaml", Line: line} }
	a := profiles.Agent{
		Bridges: map[string]profiles.Bridge{"b": {Rule: at(1)},
			"c": {Rule: at(2), Approval: &profiles.Approval{Rule: at(3)}}},
		Files: profiles.Files{Read: []profiles.PathRule{{Rule: at(4)}}, Deny: []profiles.PathRule{{Rule: at(5)}}},
	}
	c := policytest.NewCoverage(a)
	mark := func(line int, v profiles.Verdict) {
		r := at(line)
		r.Layer = "OrgPolicy acme"
		c.Mark(profiles.Decision{Verdict: v, Rule: &r})
	}
	mark(1, profiles.Deny)
	mark(2, profiles.Allow)
	mark(3, profiles.Ask)
	mark(5, profiles.Deny)
	var got []int
	for _, l := range c.Lines() {
		if l.Covered {
			got = append(got, l.Rule.Line)
		}
	}
	if diff := cmp.Diff([]int{3, 5}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(c.Lines()); n != 4 { // a bridge that always asks is its approval
		t.Errorf("%d lines", n)
	}
}

// A program is used by what is refused without it, and a sub-command by what is refused
// without its line or granted by it alone.
func TestPrograms(t *testing.T) {
	line := map[string]int{"status": 1, "stash": 2, "stash list": 3, "log": 4}
	var git profiles.Binary
	git.Path, git.Rule.Line = "/usr/bin/git", 10
	for _, text := range []string{"status", "stash", "stash list", "log"} {
		git.Allow = append(git.Allow, profiles.Pattern{Words: strings.Fields(text), Text: text,
			Rule: profiles.Rule{Line: line[text]}})
	}
	none := profiles.Binary{Path: "/usr/bin/none", Allow: []profiles.Pattern{}}
	a := profiles.Agent{Shell: &profiles.Shell{Binaries: []profiles.Binary{
		{Path: "/usr/bin/rg", Rule: profiles.Rule{Line: 20}}, git, none}}}
	for _, tt := range []struct {
		argv []string
		want []int
	}{
		{[]string{"git", "status", "-s"}, []int{10, 1}},
		{[]string{"git", "stash", "pop"}, []int{10, 2}},
		{[]string{"git", "stash", "list"}, []int{10, 2, 3}}, // either grants it
		{[]string{"env", "git", "log"}, nil},                // env is no listed program
		{[]string{"rg", "log"}, []int{20}},
		{[]string{"git", "push"}, nil},
		{[]string{"none", "x"}, nil},
	} {
		var got []int
		for _, r := range policytest.Programs(a, func(a profiles.Agent) bool {
			return profiles.NewDecider(a, "", profiles.Environment{}).Decide(
				profiles.Action{Exec: &profiles.ExecAction{Argv: tt.argv}}).Verdict == profiles.Allow
		}) {
			got = append(got, r.Line)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v: %s", tt.argv, diff)
		}
	}
	if len(a.Shell.Binaries[1].Allow) != 4 {
		t.Error("the agent was changed")
	}
	if policytest.Programs(profiles.Agent{}, nil) != nil {
		t.Error("an agent without a shell")
	}
}

func FuzzDecode(f *testing.F) {
	seeds, err := os.ReadFile("../../cmd/ringd/testdata/script/test_findings.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(seeds), "\n-- ") {
		_, text, _ := strings.Cut(part, "--\n")
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, found := policytest.Decode(schema.Source{Name: "a_test.yaml", Data: text})
		if found.Refused() != (len(file.Cases) == 0) {
			t.Errorf("%d cases with %v", len(file.Cases), found)
		}
		file.Targets(&profiles.Set{Agents: map[string]profiles.Agent{"a": {Policy: "p"}}})
	})
}
