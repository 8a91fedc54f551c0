package dryrun_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/shell/dryrun"
	"github.com/ringd/ringd/profiles"
)

// grammar makes scripts of the parts that decide: commands, words, and what stands
// around them.
type grammar struct{ r *rand.Rand }

func (g grammar) one(list ...string) string { return list[g.r.IntN(len(list))] }

func (g grammar) word() string {
	return g.one("a", "-rf", "-r", "-f", "--force", "status", "push", "$x", "\"$x\"", "$(git log)", "{a,-f}", "'c'url",
		"*.go", "--", "-c", "core.pager=id", "~/x", "$((1+1))", "${y:-curl}", "x=1")
}

func (g grammar) command() string {
	out := []string{g.one("git", "rm", "curl", "echo", "xargs", "env", "find . -exec", "timeout 5", "bash -c", "eval",
		"command", "exec", "printf", "$x", "read", "cd", "sed", "/usr/bin/git", "FOO=1 git", "PATH=/x git", "test", "trap", "set --", "\"$@\"")}
	for range g.r.IntN(4) {
		out = append(out, g.word())
	}
	return strings.Join(out, " ") + g.one("", "", "", " > f", " > /etc/x", " 2>/dev/null", " < in", " >> .git/config",
		" 2>&1", " <<< \"$x\"")
}

func (g grammar) script(depth int) string {
	if depth == 0 {
		return g.command()
	}
	a, b := g.script(depth-1), g.script(depth-1)
	switch g.r.IntN(12) {
	case 0:
		return a + " && " + b
	case 1:
		return a + " | " + b
	case 2:
		return a + "; " + b
	case 3:
		return "if " + a + "; then " + b + "; fi"
	case 4:
		return "for x in a git curl; do " + a + "; done; " + b
	case 5:
		return "f() { " + a + "; }; " + b + "; f git"
	case 6:
		return "x=$(" + a + "); " + b
	case 7:
		return "( " + a + " ); " + b
	case 8:
		return "x=" + g.one("curl", "git", "-rf", "a") + "; " + a
	case 9:
		return "case $x in a) " + a + ";; *) " + b + ";; esac"
	case 10:
		return "while read -r x; do " + a + "; break; done < in; " + b
	default:
		return a + " &\nwait\n" + b
	}
}

// TestNarrower: a program less, or a pattern more, never allows what was refused.
func TestNarrower(t *testing.T) {
	all := []string{"/usr/bin/git", "/usr/bin/rm", "/usr/bin/xargs", "/usr/bin/env", "/usr/bin/find",
		"/usr/bin/timeout", "/usr/bin/bash", "/usr/bin/sed", "/usr/bin/curl"}
	patterns := []string{"rm -rf", "curl", "git push --force", "eval", "find -exec", "echo", "git -c", "sed -i"}
	g := grammar{rand.New(rand.NewPCG(6, 6))}
	turns, allowed := 500, 0
	if testing.Short() {
		turns = 200
	}
	for range turns {
		a := profiles.ShellAction{Script: g.script(g.r.IntN(3)), Cwd: "/workspace"}
		wide := all[:1+g.r.IntN(len(all))]
		few := patterns[:g.r.IntN(3)]
		first, _ := dryrun.Decide(t.Context(), decider(t, wide, few), a)
		again, _ := dryrun.Decide(t.Context(), decider(t, wide, few), a)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("%q is decided in two ways: %s", a.Script, diff)
		}
		if first.Verdict == profiles.Allow {
			allowed++
			continue
		}
		at := g.r.IntN(len(wide))
		less := slices.Delete(slices.Clone(wide), at, at+1)
		if d, _ := dryrun.Decide(t.Context(), decider(t, less, few), a); d.Verdict != profiles.Deny {
			t.Errorf("%q is refused (%s) with %q and %q, and allowed without %s", a.Script, first.Reason, wide, few,
				wide[at])
		}
		more := append(slices.Clone(few), patterns[g.r.IntN(len(patterns))])
		if d, _ := dryrun.Decide(t.Context(), decider(t, wide, more), a); d.Verdict != profiles.Deny {
			t.Errorf("%q is refused (%s) with %q, and allowed with %q", a.Script, first.Reason, few, more)
		}
	}
	if allowed < turns/50 || allowed > turns*9/10 {
		t.Errorf("%d of %d scripts are allowed: this proves little", allowed, turns)
	}
}

// FuzzDecide: no text crashes the decision, keeps it, or gets two answers.
func FuzzDecide(f *testing.F) {
	for _, file := range []string{"../../../testdata/shell.jsonl", "../../../testdata/attacks/shell/cases.jsonl"} {
		for i, r := range rows(f, file) {
			if i%5 == 0 {
				f.Add(r.Script)
			}
		}
	}
	d := decider(f, []string{"/usr/bin/git", "/usr/bin/rm", "/usr/bin/bash", "/usr/bin/xargs", "/usr/bin/env"},
		[]string{"rm -rf", "curl"})
	f.Fuzz(func(t *testing.T, text string) {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		first, _ := dryrun.Decide(ctx, d, profiles.ShellAction{Script: text, Cwd: "/workspace"})
		if ctx.Err() != nil {
			t.Fatalf("%q is not decided in time", text)
		}
		if first.Verdict != profiles.Allow && first.Code == profiles.CodeAllowed {
			t.Errorf("%q: %+v", text, first)
		}
	})
}

// TestZero: what cannot be decided is refused.
func TestZero(t *testing.T) {
	for _, d := range []*profiles.Decider{nil, profiles.NewDecider(profiles.Agent{}, "", profiles.Environment{})} {
		if dec, _ := dryrun.Decide(t.Context(), d, profiles.ShellAction{Script: "true"}); dec.Verdict != profiles.Deny {
			t.Errorf("allowed: %+v", dec)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	dec, _ := dryrun.Decide(ctx, decider(t, []string{"/usr/bin/git"}, nil),
		profiles.ShellAction{Script: "x=git; $x status", Cwd: "/workspace"})
	if dec.Verdict != profiles.Deny {
		t.Errorf("a decision that was ended allows: %+v", dec)
	}
}
