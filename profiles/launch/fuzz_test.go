package launch_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/launch"
	"github.com/ringd/ringd/profiles/words"
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
		argv := words.AllKnown(strings.Split(text, "\x00"))
		if open > 0 && open < len(argv) {
			argv[open].Open = true
		}
		r := launch.Of(words.Command{Words: argv, Outside: true})
		for _, c := range r.Commands {
			if len(c.Words) == 0 || !c.Outside {
				t.Errorf("%v starts a command that is none: %v", argv, c)
			}
			if len(c.Words) > 2*len(argv)+len(text)+2 {
				t.Errorf("%v starts a command of %d words", argv, len(c.Words))
			}
		}
		for _, s := range r.Scripts {
			if s.Known && len(s.Text) > 2*len(text)+16 {
				t.Errorf("%v runs a longer text than it has", argv)
			}
		}
		if !argv[0].Open && argv[0].Text != "" && !strings.ContainsAny(argv[0].Text, "=") && !strings.HasPrefix(argv[0].Text, "-") {
			nested := launch.Of(words.Command{Words: append(words.AllKnown([]string{"env"}), argv...), Outside: true})
			if len(nested.Commands) != 1 || len(nested.Commands[0].Words) != len(argv) {
				t.Errorf("env loses %v", argv)
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
		argv := append([]words.Word{}, e.argv...)
		argv = append(argv, words.Known(long), words.Known("--"+long), words.Known("-"+long))
		launch.Of(words.Command{Words: argv})
	}
	many := words.AllKnown([]string{"xargs"})
	for range 1 << 16 {
		many = append(many, words.Known("-0"))
	}
	launch.Of(words.Command{Words: many})
}

// TestUnknownWords: what is started whatever a last unknown word is, is no less
// with it, and a command that could become one that starts is not settled.
func TestUnknownWords(t *testing.T) {
	for _, e := range examples(t) {
		if len(e.argv) < 3 || e.argv[len(e.argv)-1].Open {
			continue
		}
		open := append([]words.Word{}, e.argv[:len(e.argv)-1]...)
		open = append(open, words.Word{Open: true, Many: true})
		whole := launch.Of(words.Command{Words: e.argv})
		part := launch.Of(words.Command{Words: open})
		settled := !part.Maybe && len(part.Refused) == 0 && part.Stdin == "" && len(part.Commands) == 0 && len(part.Scripts) == 0
		if settled && outcome(whole) != "ok" {
			t.Errorf("%s: %s is settled with its last word unknown, and starts %s with it", e.at, show(open), outcome(whole))
		}
	}
}

func BenchmarkOf(b *testing.B) {
	for _, line := range []string{
		"git status --short", "timeout 60 git fetch --all", "git -c color.ui=never diff --stat", "find . -name '*.go' -exec grep -l x {} +",
		"sed -i s/foo/bar/g a.go", "awk '{print $1}' f", "grep -rn x .", "bash -lc 'git status'", "python3 -c 'print(1)'", "tar czf out.tgz src", "docker ps", "xargs -0 grep -n x",
	} {
		ws := argv(line)
		b.Run(strings.Fields(line)[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				launch.Of(words.Command{Words: ws})
			}
		})
	}
}
