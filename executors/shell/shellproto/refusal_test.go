package shellproto_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

func denied() profiles.Decision {
	return profiles.Decision{
		Code: profiles.CodeShellDenied, Reason: `rm -fr ./x matches the denied pattern "rm -rf"`,
		Rule: &profiles.Rule{File: "policy.yaml", Line: 14, Column: 5, Path: "interpreter_ring.denied_patterns[0]"},
		Evidence: &profiles.Evidence{Argv: []string{"rm", "-fr", "./x"}, Line: 1, Column: 14,
			Chain: []string{"bash -c", "find -exec"}},
		Instead: []string{"rm -r build/tmp", "git clean -n"},
	}
}

func TestText(t *testing.T) {
	at := shellproto.RefusalPlace{Script: "git fetch && bash -lc 'cd build; find . -exec rm -fr {} +'\necho done"}
	const before = `refused before start: rm -fr ./x matches the denied pattern "rm -rf"
  (policy.yaml:14, interpreter_ring.denied_patterns[0])
  at 1:14  git fetch && bash -lc 'cd build; find . -exec rm -fr {} +'
  reached through: bash -c → find -exec
  nothing was run
  instead: rm -r build/tmp, or git clean -n; or ask the operator to change
      the policy. Another spelling will be refused too.`
	if diff := cmp.Diff(before, shellproto.RefusalText(denied(), at)); diff != "" {
		t.Error(diff)
	}
	at.Begun, at.More, at.Ran = true, 2, []string{"git fetch", "find ."}
	got := shellproto.RefusalText(denied(), at)
	for _, want := range []string{"refused while running: ",
		"had run before: 2 more, then git fetch; find .; the rest was stopped"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := shellproto.RefusalText(profiles.Decision{Verdict: profiles.Allow}, at); got != "" {
		t.Errorf("a refusal of what is allowed: %q", got)
	}
	if got := shellproto.RefusalText(profiles.Decision{}, shellproto.RefusalPlace{}); !strings.Contains(
		got, "nothing was run") || !strings.Contains(got, "ask the operator") {
		t.Errorf("the zero decision: %q", got)
	}
	ask := denied()
	ask.Verdict = profiles.Ask
	if got := shellproto.RefusalText(ask, at); !strings.HasPrefix(got, "waits for an approval: ") ||
		strings.Contains(got, "instead") {
		t.Errorf("an approval: %q", got)
	}
}

// Whatever a script holds, its refusal stays one screen of what a terminal can show.
func FuzzText(f *testing.F) {
	f.Add("echo \x1b[2J", "reason\r\n", 1, 3, "x\x00y")
	f.Add(strings.Repeat("a", 300), strings.Repeat("é", 400), 1, 250, "\xff")
	f.Fuzz(func(t *testing.T, script, reason string, line, column int, ran string) {
		d := denied()
		d.Reason, d.Evidence.Line, d.Evidence.Column, d.Instead = reason, line, column,
			[]string{ran, ran, ran, ran, ran}
		d.Evidence.Chain = []string{ran}
		got := shellproto.RefusalText(d, shellproto.RefusalPlace{
			Script: script, Begun: true, Ran: []string{ran, ran, ran, ran, ran, ran, ran}})
		if lines := strings.Count(got, "\n"); lines > 30 {
			t.Errorf("%d lines", lines+1)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if len([]rune(line)) > 76 {
				t.Errorf("%q is longer than a terminal shows", line)
			}
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
			t.Errorf("%q holds what moves a cursor", got)
		}
		if len([]rune(got)) > 2000 {
			t.Errorf("%d characters", len([]rune(got)))
		}
	})
}
