package bashcompat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/bashcompat"
)

func read(t testing.TB, text string) *syntax.File {
	t.Helper()
	f, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		t.Skip(err)
	}
	return f
}

// TestText: a marked tree reads back as itself, and every statement of it is
// marked.
func TestText(t *testing.T) {
	for _, text := range []string{
		"echo a; b | c && d", "if a; then b; fi", "for x in a b; do if c; then continue; fi; d; done", "f() { a; }; f &", "x=$(a; b)", "cat <<E\n$(a)\nE",
		"while a; do case $x in b) break;; esac; c; done", "( a; b ) > f", "a <(b; c)", "time a", "shift 2", "for ((;;)); do { break; a; }; done",
	} {
		for _, o := range []bashcompat.StepOptions{{}, {Dry: true}, {Line: 3, Column: 4}} {
			f := read(t, text)
			bashcompat.PlantSteps(f, o)
			marked := 0
			syntax.Walk(f, func(n syntax.Node) bool {
				if st, ok := n.(*syntax.Stmt); ok && len(st.Redirs) > 0 {
					if s, is := bashcompat.ParseStep(st.Redirs[0].Word.Lit()); is {
						marked++
						if o.Line > 0 && (s.Line != o.Line || s.Column != o.Column) {
							t.Errorf("%q: a mark at %d:%d", text, s.Line, s.Column)
						}
					}
				}
				return true
			})
			if marked == 0 {
				t.Errorf("%q has no marks", text)
			}
			first, err := bashcompat.Source(f)
			if err != nil {
				t.Fatal(err)
			}
			second, err := bashcompat.Source(read(t, first))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%q does not read back as itself:\n%s", text, diff)
			}
		}
	}
}

// TestStrip: marks go again.
func TestStrip(t *testing.T) {
	f := read(t, "f() { a; b > c; }")
	bashcompat.PlantSteps(f, bashcompat.StepOptions{})
	bashcompat.StripSteps(f)
	got, err := bashcompat.Source(f)
	if err != nil || strings.Contains(got, "\x01") {
		t.Errorf("%q %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("\x01sJT,1,2,3,4,5")
	f.Add("/w/\x01g7")
	f.Add("\x01k,1,2")
	f.Add("\x01t3")
	f.Fuzz(func(t *testing.T, path string) {
		if s, ok := bashcompat.ParseStep(path); ok && (s.Line < 0 || s.Weight < 0 || s.Square < 0) {
			t.Errorf("%q: %+v", path, s)
		}
		bashcompat.ParseTurn(path)
		bashcompat.ParseLeft(path)
	})
}
