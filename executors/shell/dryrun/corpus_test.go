package dryrun_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/shell/dryrun"
	"github.com/ringd/ringd/profiles"
)

// row is one script with the verdict it has to have.
type row struct {
	ID       string   `json:"id"`
	Category string   `json:"category"`
	Binaries []string `json:"allowed_binaries"`
	Patterns []string `json:"denied_patterns"`
	Script   string   `json:"script"`
	Expect   string   `json:"expect"`
	Why      string   `json:"why"`
	Arguable bool     `json:"arguable"`
}

func rows(t testing.TB, file string) []row {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []row
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v in %s", file, err, lines.Bytes())
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// decider is a policy in the compact form.
func decider(t testing.TB, binaries, patterns []string) *profiles.Decider {
	t.Helper()
	sh := &profiles.Shell{Pipes: true, Redirects: true, Substitution: true}
	for _, b := range binaries {
		sh.Binaries = append(sh.Binaries, profiles.Binary{Path: b, Interpreted: shell(b)})
	}
	for _, p := range patterns {
		sh.DeniedPatterns = append(sh.DeniedPatterns, profiles.Pattern{Words: strings.Fields(p), Text: p})
	}
	set := &profiles.Set{Format: profiles.Format, Revision: "sha256:test",
		Agents: map[string]profiles.Agent{"default": {Name: "default", Shell: sh}}}
	return set.Decider("default", profiles.Environment{Workspace: "/workspace", Home: "/home/agent"})
}

func shell(b string) bool {
	switch path.Base(b) {
	case "sh", "bash", "dash":
		return true
	default:
		return false
	}
}

func decide(t testing.TB, r row) profiles.Decision {
	t.Helper()
	d, _ := dryrun.Decide(t.Context(), decider(t, r.Binaries, r.Patterns),
		profiles.ShellAction{Script: r.Script, Cwd: "/workspace"})
	return d
}

// TestCorpus: no attack is allowed, nothing benign refused.
func TestCorpus(t *testing.T) {
	for _, file := range []string{"../../../testdata/shell.jsonl", "../../../testdata/attacks/shell/cases.jsonl",
		"../../../testdata/attacks/shell/placements.jsonl"} {
		for _, r := range rows(t, file) {
			d := decide(t, r)
			got := "allow"
			if d.Verdict != profiles.Allow {
				got = "deny"
			}
			if got != r.Expect && !r.Arguable {
				t.Errorf("%s (%s) %s, want %s: %.300q\n  %s: %s\n  %s", r.ID, r.Category, got, r.Expect, r.Script,
					d.Code, d.Reason, r.Why)
			}
		}
	}
}

// BenchmarkDecide is the decision of a script of ten lines.
func BenchmarkDecide(b *testing.B) {
	d := decider(b, []string{"/usr/bin/git", "/usr/bin/grep", "/usr/bin/head", "/usr/bin/cat"},
		[]string{"rm -rf", "curl"})
	a := profiles.ShellAction{Cwd: "/workspace", Script: `set -euo pipefail
cd repo
branch=$(git rev-parse --abbrev-ref HEAD)
if [ "$branch" = main ]; then
  git fetch origin
fi
for f in a.go b.go c.go; do
  grep -n TODO "$f" | head -5
done
git status --short > status.txt && cat status.txt
`}
	b.ReportAllocs()
	for b.Loop() {
		if dec, _ := dryrun.Decide(b.Context(), d, a); dec.Verdict != profiles.Allow {
			b.Fatal(dec)
		}
	}
}
