package programs_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command/programs"
)

// FuzzOf reads any words. What is refused, started or unsure of a command stays so
// when the command stands behind env, and an unknown word more never makes a
// command surer.
func FuzzOf(f *testing.F) {
	for _, e := range examples(f) {
		var argv []string
		for _, w := range e.argv {
			argv = append(argv, w.Text)
		}
		f.Add(strings.Join(argv, "\x00"), 0)
	}
	f.Fuzz(func(t *testing.T, text string, open int) {
		words := argv.AllKnown(strings.Split(text, "\x00"))
		if open > 0 && open < len(words) {
			words[open].Open = true
		}
		r := programs.Of(argv.Command{Words: words, Outside: true})
		for _, c := range r.Commands {
			if len(c.Words) == 0 || !c.Outside {
				t.Errorf("%v starts a command that is none: %v", words, c)
			}
			if len(c.Words) > 2*len(words)+len(text)+2 {
				t.Errorf("%v starts a command of %d words", words, len(c.Words))
			}
		}
		for _, s := range r.Scripts {
			if s.Known && len(s.Text) > 2*len(text)+16 {
				t.Errorf("%v runs a longer text than it has", words)
			}
		}
		if !words[0].Open && words[0].Text != "" && !strings.ContainsAny(words[0].Text, "=") &&
			!strings.HasPrefix(words[0].Text, "-") {
			nested := programs.Of(argv.Command{Words: append(argv.AllKnown([]string{"env"}), words...), Outside: true})
			if len(nested.Commands) != 1 || len(nested.Commands[0].Words) != len(words) {
				t.Errorf("env loses %v", words)
			}
		}
	})
}

// TestLongWords reads words of a MiB: the work is that of the words, not more.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("a/ '{}\"|", 1<<17)
	seen := map[string]bool{}
	for _, e := range examples(t) {
		if seen[e.argv[0].Text] {
			continue
		}
		seen[e.argv[0].Text] = true
		words := append([]argv.Word{}, e.argv...)
		words = append(words, argv.Known(long), argv.Known("--"+long), argv.Known("-"+long))
		programs.Of(argv.Command{Words: words})
	}
	many := argv.AllKnown([]string{"xargs"})
	for range 1 << 16 {
		many = append(many, argv.Known("-0"))
	}
	programs.Of(argv.Command{Words: many})
}

// TestUnknownWords: what is started whatever a last unknown word is, is no less
// with it, and a command that could become one that starts is not settled.
func TestUnknownWords(t *testing.T) {
	for _, e := range examples(t) {
		if len(e.argv) < 3 || e.argv[len(e.argv)-1].Open {
			continue
		}
		open := append([]argv.Word{}, e.argv[:len(e.argv)-1]...)
		open = append(open, argv.Word{Open: true, Many: true})
		whole := programs.Of(argv.Command{Words: e.argv})
		part := programs.Of(argv.Command{Words: open})
		settled := !part.Maybe && len(part.Refused) == 0 && part.Stdin == "" && len(part.Commands) == 0 &&
			len(part.Scripts) == 0
		if settled && outcome(whole) != "ok" {
			t.Errorf("%s: %s is settled with its last word unknown, and starts %s with it", e.at, show(open),
				outcome(whole))
		}
	}
}

func BenchmarkOf(b *testing.B) {
	for _, line := range []string{
		"git status --short", "timeout 60 git fetch --all", "git -c color.ui=never diff --stat", "find . -name '*.go' -exec grep -l x {} +",
		"sed -i s/foo/bar/g a.go", "awk '{print $1}' f", "grep -rn x .", "bash -lc 'git status'", "python3 -c 'print(1)'", "tar czf out.tgz src", "docker ps", "xargs -0 grep -n x",
	} {
		ws := argvOf(line)
		b.Run(strings.Fields(line)[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				programs.Of(argv.Command{Words: ws})
			}
		})
	}
}
