package command_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

func pick(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

func anyText(r *rand.Rand) string {
	return pick(r, "git", "rm", "find", "env", "timeout", "xargs", "5", "status", "push", "-r", "-f", "-rf", "--force",
		"--forc", "--", "-", "x", ".", "-exec", ";", "+", "-delete", "{}",
		"PATH=x", "FOO=1", "-c", "core.pager=x", "color.ui=never", "config", "alias.x", "unknown.key", "unknown.key=1", "-C", "log", "add", "sort", "--compress-program=rm", "tar", "cf", "--checkpoint-action=exec=rm", "-n", "mytool", "get", "+main", "docker", "run", "--privileged", "bash", "'", "curl", "1e", "sed", "-i", "export", "read", "-a")
}

func anyWords(r *rand.Rand, open bool) []argv.Word {
	out := []argv.Word{argv.Known(pick(r, "git", "git", "rm", "find", "env", "timeout", "xargs", "tar", "sort", "sed",
		"mytool", "docker", "bash", "export", "read", "sudo"))}
	for range r.IntN(6) {
		w := argv.Known(anyText(r))
		if open && r.IntN(3) == 0 {
			w = argv.Word{Text: pick(r, "", "", "-", "--", "p", "./", "core.", "--fo", "+"), Open: true,
				Many: r.IntN(2) == 0}
		}
		out = append(out, w)
	}
	return out
}

// fill gives one of the commands that a command known in part may turn out to be.
func fill(r *rand.Rand, c argv.Command) argv.Command {
	out := argv.Command{Set: slices.Clone(c.Set), Outside: c.Outside}
	for i, w := range c.Words {
		switch {
		case !w.Open:
			out.Words = append(out.Words, w)
		case w.Many && i > 0 && w.Text == "" && r.IntN(4) == 0:
		default:
			text := w.Text
			if r.IntN(3) > 0 {
				text += anyText(r)
			}
			out.Words = append(out.Words, argv.Known(text))
			for w.Many && r.IntN(2) == 0 {
				out.Words = append(out.Words, argv.Known(anyText(r)))
			}
		}
	}
	return out
}

func anyPattern(r *rand.Rand) []string {
	p := []string{pick(r, "git", "git", "rm", "find", "tar", "mytool", "docker", "sort", "sed", "export", "env")}
	for range r.IntN(3) {
		p = append(p, pick(r, "push", "--force", "-f", "-rf", "-r", "-delete", "x", "run", "--privileged", "log",
			"status", "get", "-c", "-i", "add"))
	}
	return p
}

func anyConfig(r *rand.Rand) command.Config {
	var cfg command.Config
	for _, name := range []string{"git", "rm", "find", "env", "timeout", "xargs", "tar", "sort", "sed", "mytool",
		"docker", "bash", "sudo"} {
		if r.IntN(5) == 0 {
			continue
		}
		b := command.Binary{Path: "/usr/bin/" + name, Interpreted: name == "bash"}
		if r.IntN(4) == 0 {
			b.SafeConfig = true
		}
		if r.IntN(6) == 0 {
			b.MaxArgs = int64(1 + r.IntN(4))
		}
		if r.IntN(4) == 0 {
			for range 1 + r.IntN(4) {
				b.Allow = append(b.Allow, anyPattern(r)[1:],
					[]string{pick(r, "push", "status", "log", "add", "get", "x", "run")})
			}
		}
		for range r.IntN(2) {
			b.Deny = append(b.Deny, append(anyPattern(r)[1:], "push"))
		}
		for range r.IntN(2) {
			b.Ask = append(b.Ask, append(anyPattern(r)[1:], "push"))
		}
		cfg.Binaries = append(cfg.Binaries, b)
	}
	for range r.IntN(4) {
		cfg.Patterns = append(cfg.Patterns, anyPattern(r))
	}
	return cfg
}

// narrower gives profiles that allow less than cfg.
func narrower(r *rand.Rand, cfg command.Config) map[string]command.Config {
	out := map[string]command.Config{}
	change := func(name string, with func(c *command.Config, b *command.Binary)) {
		c := command.Config{Binaries: slices.Clone(cfg.Binaries), Patterns: slices.Clone(cfg.Patterns)}
		if len(c.Binaries) > 0 {
			with(&c, &c.Binaries[r.IntN(len(c.Binaries))])
			out[name] = c
		}
	}
	change("binary", func(c *command.Config, _ *command.Binary) {
		i := r.IntN(len(c.Binaries))
		c.Binaries = slices.Delete(c.Binaries, i, i+1)
	})
	change("pattern", func(c *command.Config, _ *command.Binary) { c.Patterns = append(c.Patterns, anyPattern(r)) })
	change("allow", func(_ *command.Config, b *command.Binary) {
		if b.Allow == nil {
			b.Allow = [][]string{{"status"}}
		} else {
			b.Allow = append([][]string{}, b.Allow[1:]...)
		}
	})
	change("deny", func(_ *command.Config, b *command.Binary) {
		b.Deny = append(slices.Clone(b.Deny), anyPattern(r)[1:])
	})
	change("ask", func(_ *command.Config, b *command.Binary) { b.Ask = append(slices.Clone(b.Ask), anyPattern(r)[1:]) })
	change("max args", func(_ *command.Config, b *command.Binary) { b.MaxArgs = 1 })
	change("safe config", func(c *command.Config, _ *command.Binary) {
		for i := range c.Binaries {
			c.Binaries[i].SafeConfig = true
		}
	})
	change("interpreted", func(_ *command.Config, b *command.Binary) { b.Interpreted = true })
	return out
}

func text(c argv.Command) string {
	var b strings.Builder
	for _, w := range c.Words {
		fmt.Fprintf(&b, "%q", w.Text)
		if w.Open {
			b.WriteString("…")
		}
		if w.Many {
			b.WriteString("…")
		}
		b.WriteString(" ")
	}
	return b.String()
}

// TestNarrowing: a program, a pattern or a rule more or less never loosens what is
// judged of a command that is known.
func TestNarrowing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for range 300 {
		cfg := anyConfig(r)
		wide := command.New(cfg)
		for name, less := range narrower(r, cfg) {
			rules := command.New(less)
			for range 16 {
				c := argv.Command{Words: anyWords(r, r.IntN(3) == 0)}
				before, after := wide.Judge(c), rules.Judge(c)
				if after.Verdict > before.Verdict {
					t.Fatalf("%s: %s was %s (%s) and became %s", name, text(c), before.Verdict, before.Finding.Reason,
						after.Verdict)
				}
				if after.Verdict < before.Verdict {
					seen[name]++
				}
			}
		}
	}
	for _, name := range []string{"binary", "pattern", "allow", "deny", "ask", "max args", "safe config"} {
		if seen[name] == 0 {
			t.Errorf("%s never changed a verdict: the test proves nothing about it", name)
		}
	}
}

// TestFilling: what is said of a command that is known in part holds for whatever
// it turns out to be.
func TestFilling(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	seen := map[command.Verdict]int{}
	for range 12000 {
		rules := command.New(anyConfig(r))
		c := argv.Command{Words: anyWords(r, true)}
		open := rules.Judge(c)
		seen[open.Verdict]++
		for range 4 {
			final := fill(r, c)
			got := rules.Judge(final)
			if open.Verdict == command.Unsettled || got.Verdict == open.Verdict {
				continue
			}
			if c := open.Finding.Code; open.Verdict == command.Deny &&
				(len(open.Finding.Chain) > 0 || c != "shell.denied_pattern" && c != "shell.subcommand") {
				continue // a program text may turn out to be a file: it is refused before anybody knows
			}
			t.Fatalf("%s is %s (%s), and %s is %s (%s)", text(c), open.Verdict, open.Finding.Reason, text(final),
				got.Verdict, got.Finding.Reason)
		}
	}
	for _, v := range []command.Verdict{command.Deny, command.Unsettled, command.Allow, command.Ask} {
		if seen[v] == 0 {
			t.Errorf("never %s", v)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, seed := range []string{"git push -f", "env -i timeout 5 find . -exec rm -rf {} +",
		"FOO=1 bash -c 'git status'", "xargs -I {} git -c a.b=c {} +++", "find . …… -exec x ;", "export PATH=… x", "read -a PATH", "tar cf x --checkpoint-action=exec=id", "sed '1e id' x", "awk 'BEGIN{system(\"id\")}'", "sudo -u x git -C y push +main"} {
		f.Add(seed)
	}
	rules := command.New(all())
	less := all()
	less.Binaries = less.Binaries[1:]
	less.Patterns = append(less.Patterns, []string{"find", "-name"})
	narrow := command.New(less)
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 8192 {
			return
		}
		c := read(line)
		j := rules.Judge(c)
		if j.Finding.Code == "" {
			t.Fatalf("%q: no code", line)
		}
		if again := rules.Judge(c); again.Verdict != j.Verdict || again.Finding.Reason != j.Finding.Reason {
			t.Fatalf("%q: %+v, then %+v", line, j, again)
		}
		// Another program of the same name may be left, so only the loosening counts.
		if n := narrow.Judge(c); n.Verdict > j.Verdict && !strings.Contains(line, "git") {
			t.Fatalf("%q: %+v, with less %+v", line, j, n)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	rules := command.New(all())
	for _, line := range []string{"git status --short", "git push origin main", "rm -r build",
		"find . -name x -exec grep -l y {} +", "timeout 5 git fetch", "sed -n p x", "echo x"} {
		c := read(line)
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rules.Judge(c)
			}
		})
	}
}
