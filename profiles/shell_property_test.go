package profiles_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
)

// ruleWords are words behind a program's name, as rules have them.
func ruleWords(r *rand.Rand) profiles.Pattern {
	p := pick(r, "push", "clean", "stash list", "stash", "-f", "--force", "config", "-delete", "x", "-r", "-rf", "-c")
	if r.IntN(3) == 0 {
		p += " " + pick(r, "-f", "--force", "--tags", "-d", "x", "-rf", "--recursive")
	}
	return profiles.Pattern{Words: strings.Fields(p), Text: p}
}

// anyPrograms is the shell of an agent with rules for the words of programs.
func anyPrograms(r *rand.Rand) profiles.Agent {
	a := profiles.Agent{Name: "a", Shell: &profiles.Shell{Pipes: true, Redirects: true, Substitution: true}}
	for _, p := range []string{"/usr/bin/git", "/usr/bin/rm", "/usr/bin/find", "/usr/bin/env", "/usr/bin/xargs",
		"/usr/bin/timeout", "/usr/bin/python3"} {
		if r.IntN(4) == 0 {
			continue
		}
		b := profiles.Binary{Path: p, SafeConfig: r.IntN(3) == 0}
		for range r.IntN(3) {
			b.Deny = append(b.Deny, ruleWords(r))
		}
		if r.IntN(3) == 0 {
			b.Allow = []profiles.Pattern{}
			for range r.IntN(5) {
				b.Allow = append(b.Allow, ruleWords(r))
			}
		}
		if r.IntN(3) == 0 {
			b.Ask = append(b.Ask, profiles.AskRule{Pattern: ruleWords(r)})
		}
		if r.IntN(4) == 0 {
			b.MaxArgs = 1 + r.Int64N(6)
		}
		a.Shell.Binaries = append(a.Shell.Binaries, b)
	}
	if r.IntN(2) == 0 {
		a.Shell.Binaries = append(a.Shell.Binaries, profiles.Binary{Path: "/usr/bin/bash", Interpreted: true})
	}
	for range r.IntN(3) {
		a.Shell.DeniedPatterns = append(a.Shell.DeniedPatterns, pattern(anyPattern(r)))
	}
	return a
}

// programNarrowings are copies of the agent with a program less, or a rule of one
// that is stricter.
func programNarrowings(a profiles.Agent, r *rand.Rand) map[string]profiles.Agent {
	out := map[string]profiles.Agent{}
	with := func(name string, change func(*profiles.Shell)) {
		b, sh := a, *a.Shell
		sh.Binaries = slices.Clone(a.Shell.Binaries)
		change(&sh)
		b.Shell = &sh
		out[name] = b
	}
	with("pattern", func(sh *profiles.Shell) {
		sh.DeniedPatterns = append(slices.Clip(sh.DeniedPatterns), pattern(anyPattern(r)))
	})
	if len(a.Shell.Binaries) == 0 {
		return out
	}
	i := r.IntN(len(a.Shell.Binaries))
	with("program", func(sh *profiles.Shell) { sh.Binaries = slices.Delete(sh.Binaries, i, i+1) })
	with("deny", func(sh *profiles.Shell) {
		sh.Binaries[i].Deny = append(slices.Clip(sh.Binaries[i].Deny), ruleWords(r))
	})
	with("max args", func(sh *profiles.Shell) {
		if b := &sh.Binaries[i]; b.MaxArgs == 0 || b.MaxArgs > 2 {
			b.MaxArgs = 2
		}
	})
	with("safe config", func(sh *profiles.Shell) { sh.Binaries[i].SafeConfig = true })
	with("ask", func(sh *profiles.Shell) {
		sh.Binaries[i].Ask = append(slices.Clip(sh.Binaries[i].Ask), profiles.AskRule{Pattern: ruleWords(r)})
	})
	if a.Shell.Binaries[i].Allow == nil {
		with("allow", func(sh *profiles.Shell) { sh.Binaries[i].Allow = []profiles.Pattern{ruleWords(r)} })
	} else if n := len(a.Shell.Binaries[i].Allow); n > 0 {
		with("allow less", func(sh *profiles.Shell) {
			j := r.IntN(n)
			sh.Binaries[i].Allow = slices.Delete(slices.Clone(sh.Binaries[i].Allow), j, j+1)
		})
	}
	return out
}

// anyCommand is a command whose words may be known in part.
func anyCommand(r *rand.Rand) argv.Command {
	c := argv.Command{More: r.IntN(12) == 0, Outside: r.IntN(6) == 0}
	if r.IntN(8) == 0 {
		c.Set = []argv.Assignment{
			{Name: pick(r, "FOO", "GIT_PAGER", "PATH", "LD_PRELOAD"), Value: argv.Known(pick(r, "cat", "1"))}}
	}
	add := func(text string) {
		w := argv.Known(text)
		if r.IntN(20) == 0 {
			w.Open, w.Many = true, r.IntN(2) == 0
		}
		c.Words = append(c.Words, w)
	}
	for range r.IntN(3) {
		for _, w := range strings.Fields(pick(r, "env", "xargs", "timeout 5", "find . -exec", "bash -c", "env FOO=1")) {
			add(w)
		}
		if r.IntN(2) == 0 {
			break
		}
	}
	add(pick(r, "git", "git", "git", "rm", "rm", "find", "/usr/bin/git", "/bin/rm", "python3", "curl", "echo", "cd"))
	for range r.IntN(6) {
		add(pick(r, "-r", "-f", "-rf", "--force", "--forc", "push", "clean", "stash", "list", "-d", "x", "--", "-C",
			"-c", "core.pager=x", "user.name=a", "config", "--tags", "-delete", ";"))
	}
	return c
}

// TestProgramsNarrowed holds, over random policies and commands, that a program
// less, or a stricter rule for the words of one, never loosens a verdict: neither
// that of words known in part nor that of the final ones. A command that is
// settled stays settled, or is refused.
func TestProgramsNarrowed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for range 100 {
		a := anyPrograms(r)
		wide := profiles.NewDecider(a, "", home)
		narrow := map[string]*profiles.Decider{}
		for name, b := range programNarrowings(a, r) {
			narrow[name] = profiles.NewDecider(b, "", home)
		}
		for range 25 {
			c := anyCommand(r)
			before, judged := wide.Command(c)
			argv := make([]string, len(c.Words))
			for i, w := range c.Words {
				argv[i] = w.Text
			}
			final := wide.Exec(profiles.ExecAction{Argv: argv})
			for name, d := range narrow {
				after, now := d.Command(c)
				if after.Verdict > before.Verdict || now.Verdict > judged.Verdict {
					t.Fatalf("%s: %s was %+v (%d) and became %+v (%d)", name, show(c), before, judged.Verdict, after,
						now.Verdict)
				}
				if exec := d.Exec(profiles.ExecAction{Argv: argv}); exec.Verdict > final.Verdict {
					t.Fatalf("%s: %q was %+v and became %+v", name, argv, final, exec)
				}
				if now.Verdict < judged.Verdict {
					seen[name]++
				}
			}
		}
	}
	for _, kind := range []string{"pattern", "program", "deny", "max args", "safe config", "ask", "allow",
		"allow less"} {
		if seen[kind] == 0 {
			t.Errorf("%s never changed a verdict: the test proves nothing about it", kind)
		}
	}
}

func show(c argv.Command) string {
	var b strings.Builder
	for _, w := range c.Words {
		fmt.Fprintf(&b, "%q", w.Text)
		if w.Open {
			b.WriteString("…")
		}
		b.WriteByte(' ')
	}
	return fmt.Sprintf("%s%v more=%t outside=%t", b.String(), c.Set, c.More, c.Outside)
}
