package preflight_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/shell/preflight"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
)

// decider is that of a policy with listed programs and denied words; the shells of
// the list are interpreted.
func decider(programs, denied []string) *profiles.Decider {
	sh := &profiles.Shell{Pipes: true, Redirects: true, Substitution: true}
	for _, b := range programs {
		if !strings.HasPrefix(b, "/") {
			b = "/usr/bin/" + b
		}
		x := profiles.Binary{Path: b}
		switch b[strings.LastIndex(b, "/")+1:] {
		case "sh", "bash", "dash", "ash", "ksh", "zsh":
			x.Interpreted = true
		}
		sh.Binaries = append(sh.Binaries, x)
	}
	for _, p := range denied {
		sh.DeniedPatterns = append(sh.DeniedPatterns, profiles.Pattern{Words: strings.Fields(p), Text: p})
	}
	return profiles.NewDecider(profiles.Agent{Name: "a", Shell: sh}, "r1",
		profiles.Environment{Workspace: "/workspace", Home: "/home/agent"})
}

func usual() *profiles.Decider {
	return decider(strings.Fields("git rm cat grep find xargs env timeout nice sed awk head sort jq ls mkdir cp mv "+
		"tee wc bash sh python3 seq sleep date tr"),
		[]string{"rm -rf", "curl", "git push --force"})
}

// check gives the verdict of a text alone: D, A or O, and the code of a refusal.
func check(t testing.TB, d *profiles.Decider, text string) (verdict string, r preflight.Report) {
	t.Helper()
	s, bad := script.Parse(text)
	if bad != nil {
		return "D", preflight.Report{Decision: profiles.Decision{Code: bad.Code, Reason: bad.Error()}}
	}
	r = preflight.Check(t.Context(), s, preflight.Config{Decider: d, Cwd: "/workspace"})
	switch {
	case r.Decision.Verdict == profiles.Deny:
		return "D", r
	case r.Open:
		return "O", r
	case r.Decision.Verdict == profiles.Allow:
		return "A", r
	default:
		return "?", r
	}
}

func TestCases(t *testing.T) {
	b, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	d := usual()
	n, class := 0, ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "== "); ok {
			class = rest
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		verdict, rest, _ := strings.Cut(line, " ")
		code, text, ok := strings.Cut(rest, " ")
		if !ok {
			t.Fatalf("not a case: %q", line)
		}
		text = strings.ReplaceAll(text, "⏎", "\n")
		got, r := check(t, d, text)
		if got != verdict || verdict == "D" && string(r.Decision.Code) != code {
			t.Errorf("%s: %q: %s %s (%s), want %s %s", class, text, got, r.Decision.Code, r.Decision.Reason, verdict,
				code)
		}
		if verdict == "D" && r.Refused != nil && (r.Decision.Evidence == nil || r.Decision.Evidence.Line == 0) {
			t.Errorf("%s: %q: the refusal has no place", class, text)
		}
	}
	if n < 250 {
		t.Errorf("%d cases, at least 250", n)
	}
}
