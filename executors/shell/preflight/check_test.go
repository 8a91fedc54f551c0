package preflight_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/shell/preflight"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/command"
)

// Evidence of a refusal is where in the outermost script it stands, and what leads
// to it.
func TestEvidence(t *testing.T) {
	d := usual()
	tests := []struct {
		text      string
		line, col int
		argv      []string
		chain     []string
	}{
		{"git status\n  wget x", 2, 3, []string{"wget", "x"}, nil},
		{"git status && rm -rf $x", 1, 15, []string{"rm", "-rf", "…"}, nil},
		{"git fetch && bash -c 'cd b; find . -exec rm -fr {} +'", 1, 14, []string{"rm", "-fr", "…"}, []string{"bash -c", "find -exec"}},
		{"eval 'eval \"wget x\"'", 1, 1, []string{"wget", "x"}, []string{"eval", "eval"}},
		{"f() {\n  timeout 3 wget x\n}", 2, 3, []string{"wget", "x"}, []string{"timeout"}},
		{"trap 'wget x' EXIT", 1, 1, []string{"wget", "x"}, []string{"trap"}},
	}
	for _, tt := range tests {
		_, r := check(t, d, tt.text)
		e := r.Decision.Evidence
		if e == nil || e.Line != tt.line || e.Column != tt.col {
			t.Errorf("%q: %+v, want %d:%d", tt.text, e, tt.line, tt.col)
			continue
		}
		if diff := cmp.Diff(tt.chain, e.Chain); diff != "" {
			t.Errorf("%q: chain: %s", tt.text, diff)
		}
		if len(e.Argv) == 0 || e.Argv[0] != tt.argv[0] {
			t.Errorf("%q: argv %q, want %q", tt.text, e.Argv, tt.argv)
		}
	}
}

// Functions of an earlier text are no programs, unless they may be gone; what is no
// function is decided.
func TestFunctions(t *testing.T) {
	for text, want := range map[string]string{"f": "A", "f wget": "A", "g": "D", "f; wget x": "D", "unset -f f; f": "O",
		"command f": "D", "bash -c f": "D", "trap f EXIT": "A", "eval f": "A"} {
		s, bad := script.Parse(text)
		if bad != nil {
			t.Fatal(bad)
		}
		r := preflight.Check(t.Context(), s, preflight.Config{
			Decider: usual(), Cwd: "/workspace", Functions: []string{"f"}})
		got := "A"
		if r.Decision.Verdict == profiles.Deny {
			got = "D"
		} else if r.Open {
			got = "O"
		}
		if got != want {
			t.Errorf("%s: %s %s, want %s", text, got, r.Decision.Reason, want)
		}
	}
}

func TestHome(t *testing.T) {
	for text, want := range map[string]string{
		"echo x >> ~/.bashrc": "D", "false && echo x > \"$HOME/a\"": "D", "echo x > \"$HOME/a$b\"": "O", "echo x > ${HOME}": "D", "echo x > $HOME/../../workspace/a": "A", "echo x > ~root/a": "O", "echo x > ${HOME:-a}": "O",
	} {
		s, bad := script.Parse(text)
		if bad != nil {
			t.Fatal(bad)
		}
		r := preflight.Check(t.Context(), s, preflight.Config{Decider: usual(), Cwd: "/workspace", Home: "/home/agent"})
		got := "A"
		if r.Decision.Verdict == profiles.Deny {
			got = "D"
		} else if r.Open {
			got = "O"
		}
		if got != want {
			t.Errorf("%s: %s %s, want %s", text, got, r.Decision.Reason, want)
		}
	}
}

// All refusals are reported, in the order of the text, up to a bound.
func TestRefused(t *testing.T) {
	_, r := check(t, usual(), "f() { b1; }\ngit log $(b2) > /etc/x\nb3 | b4")
	var got []string
	for _, x := range r.Refused {
		got = append(got, strings.Join(x.Evidence.Argv, " ")+"@"+string(rune('0'+x.Evidence.Line)))
	}
	if diff := cmp.Diff([]string{"b1@1", "b2@2", "@2", "b3@3", "b4@3"}, got); diff != "" {
		t.Error(diff)
	}
	if cmp.Diff(r.Refused[0], r.Decision) != "" {
		t.Error("the decision is not the first refusal")
	}
	if _, r = check(t, usual(), strings.Repeat("wget\n", 5000)); len(r.Refused) > 64 {
		t.Errorf("%d refusals are kept", len(r.Refused))
	}
}

func TestSwitches(t *testing.T) {
	a := usual().Profile()
	for _, tt := range []struct {
		text string
		off  func(*profiles.Shell)
		by   string
	}{
		{"git log | head", func(s *profiles.Shell) { s.Pipes = false }, "allowPipes"},
		{"git log |& head", func(s *profiles.Shell) { s.Pipes = false }, "allowPipes"},
		{"git log > out", func(s *profiles.Shell) { s.Redirects = false }, "allowRedirects"},
		{"cat < a", func(s *profiles.Shell) { s.Redirects = false }, "allowRedirects"},
		{"echo $(git log)", func(s *profiles.Shell) { s.Substitution = false }, "allowSubstitution"},
		{"echo `git log`", func(s *profiles.Shell) { s.Substitution = false }, "allowSubstitution"},
		{"cat <(git log)", func(s *profiles.Shell) { s.Substitution = false }, "allowSubstitution"},
	} {
		sh := *a.Shell
		tt.off(&sh)
		d := profiles.NewDecider(profiles.Agent{Name: "a", Shell: &sh,
			ExecutorsRule: profiles.Rule{File: "p.yaml", Line: 3, Path: "spec.executors.allowed"}}, "r1",
			profiles.Environment{Workspace: "/workspace"})
		v, r := check(t, d, tt.text)
		if v != "D" || r.Decision.Code != profiles.CodeShellSwitch {
			t.Errorf("%q switched off: %s %s", tt.text, v, r.Decision.Code)
		} else if !strings.Contains(r.Decision.Reason, tt.by+": true") || r.Decision.Rule == nil ||
			r.Decision.Rule.Path != "spec.executors.allowed" {
			t.Errorf("%q switched off: it points at %+v and says %s", tt.text, r.Decision.Rule, r.Decision.Reason)
		}
		if v, r := check(t, usual(), tt.text); v != "A" {
			t.Errorf("%q: %s %s", tt.text, v, r.Decision.Reason)
		}
		if v, r := check(t, d, "git status; git log >&2; cat <<E\nx\nE\n"); v != "A" {
			t.Errorf("what needs no switch: %s %s", v, r.Decision.Reason)
		}
	}
}

// Nothing is allowed without a policy, a script or the time to read it.
func TestClosed(t *testing.T) {
	s, _ := script.Parse("git status")
	empty, _ := script.Parse("")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	none := profiles.NewDecider(profiles.Agent{Name: "a"}, "r1", profiles.Environment{})
	for name, r := range map[string]preflight.Report{
		"no decider":         preflight.Check(t.Context(), s, preflight.Config{Cwd: "/workspace"}),
		"no decider, empty":  preflight.Check(t.Context(), empty, preflight.Config{}),
		"no script":          preflight.Check(t.Context(), nil, preflight.Config{Decider: usual()}),
		"no file":            preflight.Check(t.Context(), &script.Script{}, preflight.Config{Decider: usual()}),
		"shell not granted":  preflight.Check(t.Context(), s, preflight.Config{Decider: none}),
		"granted, but empty": preflight.Check(t.Context(), empty, preflight.Config{Decider: none}),
		"ended":              preflight.Check(ended, s, preflight.Config{Decider: usual()}),
	} {
		if r.Decision.Verdict != profiles.Deny || r.Decision.Code == "" || len(r.Refused) == 0 {
			t.Errorf("%s: %+v", name, r.Decision)
		}
	}
	if r := preflight.Check(t.Context(), empty, preflight.Config{
		Decider: usual()}); r.Decision.Verdict != profiles.Allow {
		t.Errorf("an empty script: %+v", r.Decision)
	}
}

func TestAsks(t *testing.T) {
	sh := &profiles.Shell{Pipes: true, Redirects: true, Substitution: true, Binaries: []profiles.Binary{{
		Path: "/usr/bin/git", Ask: []profiles.AskRule{
			{Pattern: profiles.Pattern{Words: []string{"push"}, Text: "push"}}},
	}}}
	d := profiles.NewDecider(profiles.Agent{Name: "a", Shell: sh}, "r1", profiles.Environment{Workspace: "/workspace"})
	s, bad := script.Parse("git status\nA=1 git push origin main\ncd sub; git push\nif x=1; then git push \"$b\"; fi")
	if bad != nil {
		t.Fatal(bad)
	}
	r := preflight.Check(t.Context(), s, preflight.Config{Decider: d, Cwd: "/workspace"})
	if r.Decision.Verdict != profiles.Ask || !r.Open || len(r.Asks) != 2 {
		t.Fatalf("%+v, open %v, %d asks", r.Decision, r.Open, len(r.Asks))
	}
	want := profiles.ExecAction{Argv: []string{"git", "push", "origin", "main"}, Cwd: "/workspace",
		Env: []string{"A=1"}}
	if diff := cmp.Diff(want, r.Asks[0].Action); diff != "" || r.Asks[0].Line != 2 {
		t.Errorf("line %d: %s", r.Asks[0].Line, diff)
	}
	if v, r := check(t, d, "git push; wget x"); v != "D" {
		t.Errorf("a refusal beside an approval: %s %+v", v, r.Decision)
	}
}

// TestTreeOfPrograms: a shell that a program would start is told from one that the
// script starts: the text of both is decided, and only the script's own runs.
func TestTreeOfPrograms(t *testing.T) {
	for text, marked := range map[string]bool{
		"find . -exec bash -c 'git status' ';'": true, "ls | xargs bash -c 'git status'": true,
		"bash -c 'git status'": false, "timeout 5 bash -c 'git status'": false, "nice bash -c 'git status'": false, "env A=b bash -c 'git status'": false,
		"find . -exec git status ';'": false,
	} {
		_, r := check(t, usual(), text)
		if r.Decision.Verdict != profiles.Allow {
			t.Errorf("%s: %+v", text, r.Decision)
		}
		var found *preflight.Node
		var look func([]*preflight.Node)
		look = func(nodes []*preflight.Node) {
			for _, n := range nodes {
				if n.Kind == "script" && n.Verdict == command.Unsettled && n.Decision.Code == profiles.CodeShellOpaque {
					found = n
				}
				look(n.Children)
			}
		}
		look(r.Tree)
		if (found != nil) != marked || found != nil && (len(found.Decision.Instead) == 0 ||
			!strings.Contains(found.Decision.Reason, "would start bash itself")) {
			t.Errorf("%s: %+v", text, found)
		}
	}
}

func TestTree(t *testing.T) {
	_, r := check(t, usual(), "git log $(wget x) | bash -c 'git status'\nA=$(git status)\nf() { git diff; }; f")
	type node struct {
		Kind, Text string
		Verdict    command.Verdict
		Children   []node
	}
	var plain func([]*preflight.Node) []node
	plain = func(list []*preflight.Node) (out []node) {
		for _, n := range list {
			out = append(out, node{n.Kind, n.Text, n.Verdict, plain(n.Children)})
		}
		return out
	}
	want := []node{
		{"command", "git log …", command.Deny, []node{{"command", "wget x", command.Deny, nil}}},
		{"command", "bash -c git status", command.Allow, []node{{"command", "git status", command.Allow, nil}}},
		{"variable", "A=$(git status)", command.Allow, []node{{"command", "git status", command.Allow, nil}}},
		{"command", "git diff", command.Allow, nil},
		{"function", "f", command.Allow, nil},
	}
	if diff := cmp.Diff(want, plain(r.Tree)); diff != "" {
		t.Error(diff)
	}
}

// Hostile texts are answered within bounds that do not depend on them.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("large texts")
	}
	d := usual()
	full := func(s string) string { return strings.Repeat(s, (script.MaxBytes-200)/len(s)) }
	nested := "git status"
	for range 12 {
		nested = "eval '" + strings.ReplaceAll(nested, "'", `'\''`) + "'"
		if len(nested) > script.MaxBytes {
			break
		}
	}
	for name, text := range map[string]string{
		"parentheses":        full("("),
		"substitutions":      full("$("),
		"arithmetic":         full("$(("),
		"defaults":           "echo " + strings.Repeat("${a:-", 8000) + "b" + strings.Repeat("}", 8000),
		"open braces":        "echo " + full("{"),
		"brace lists":        "echo " + full("{a,b}"),
		"a brace sequence":   "echo {1..99999999}",
		"many sequences":     full("echo {1..16384}\n"),
		"long brace words":   "echo {1..16384}" + strings.Repeat("x", 60000),
		"here-documents":     full("cat <<A\nx\nA\n"),
		"open documents":     full("cat <<A\n"),
		"a pipe":             full("cat|") + "cat",
		"a chain":            full("ls&&") + "ls",
		"functions":          full("f(){ ls; }\n"),
		"calls of functions": "f(){ :; }\n" + full("f\n"),
		"words":              "ls " + full("a "),
		"evals":              full("eval 'ls'\n"),
		"evals in evals":     nested,
		"shells":             full("bash -c 'ls $x'\n"),
		"one huge eval":      "eval '" + full("ls;") + "'",
		"huge evals":         full("eval '" + strings.Repeat("ls;", 1000) + "'\n"),
		"cds":                full("cd a\n"),
		"cds and redirects":  full("cd a$x; ls >b\n"),
		"refusals":           full("x\n"),
		"loops":              full("while cd a; do ls; done\n"),
		"nested loops":       strings.Repeat("while :; do ", 90) + "ls" + strings.Repeat("; done", 90),
		"functions in loops": strings.Repeat("while :; do ", 50) + full("f() { ls; }; ")[:40000] + ":" + strings.Repeat("; done", 50),
		"assignments":        full("a=b "),
		"globs":              "ls " + full("* "),
		"quotes":             "echo " + full("''"),
		"escapes":            "echo " + full("\\a"),
		"tests":              "[[ " + strings.Repeat("a && ", 500) + "a ]]",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, r := check(t, d, text)
			runtime.ReadMemStats(&after)
			if v == "?" || r.Decision.Code == "" {
				t.Fatalf("%s %+v", v, r.Decision)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 200<<20 {
				t.Errorf("%d MiB were allocated", made>>20)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	text := tenLines
	d := usual()
	b.ReportAllocs()
	for b.Loop() {
		s, bad := script.Parse(text)
		if bad != nil {
			b.Fatal(bad)
		}
		if r := preflight.Check(b.Context(), s, preflight.Config{
			Decider: d, Cwd: "/workspace"}); r.Decision.Verdict != profiles.Allow {
			b.Fatal(r.Decision)
		}
	}
}

const tenLines = `set -euo pipefail
cd services/api
branch=$(git rev-parse --abbrev-ref HEAD)
echo "on $branch"
if ! git diff --quiet; then
  git stash push -m "wip"
fi
for f in $(git ls-files '*.go' | head -20); do
  grep -n TODO "$f" || true
done
git log --oneline -5 | tee log.txt
`

func FuzzCheck(f *testing.F) {
	b, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if _, rest, ok := strings.Cut(line, " "); ok {
			if _, text, ok := strings.Cut(strings.TrimSuffix(rest, "\n"), " "); ok {
				f.Add(strings.ReplaceAll(text, "⏎", "\n"))
			}
		}
	}
	d := usual()
	f.Fuzz(func(t *testing.T, text string) {
		s, bad := script.Parse(text)
		if bad != nil {
			t.Skip(bad)
		}
		r := preflight.Check(t.Context(), s, preflight.Config{Decider: d, Cwd: "/workspace"})
		if (r.Decision.Verdict == profiles.Deny) != (len(r.Refused) > 0) || r.Decision.Code == "" {
			t.Fatalf("%+v with %d refusals", r.Decision, len(r.Refused))
		}
		again := preflight.Check(t.Context(), s, preflight.Config{Decider: d, Cwd: "/workspace"})
		if diff := cmp.Diff(r.Refused, again.Refused); diff != "" {
			t.Fatalf("not the same twice: %s", diff)
		}
	})
}
