package script

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/profiles/argv"
)

func args(t testing.TB, text string) []*syntax.Word {
	t.Helper()
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		t.Skip(err)
	}
	if len(f.Stmts) != 1 {
		t.Skip("not one statement")
	}
	c, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		t.Skip("no simple command")
	}
	return c.Args
}

func open(text string) argv.Word { return argv.Word{Text: text, Open: true} }
func many(text string) argv.Word { return argv.Word{Text: text, Open: true, Many: true} }

func TestFields(t *testing.T) {
	for text, want := range map[string][]argv.Word{
		`a b`:                        argv.AllKnown([]string{"a", "b"}),
		`a 'b c' "d e"`:              argv.AllKnown([]string{"a", "b c", "d e"}),
		`a b\ c \$x \\ "\$\\\z"`:     argv.AllKnown([]string{"a", "b c", "$x", "\\", "$\\\\z"}),
		`a $'b\tc\x41\''`:            argv.AllKnown([]string{"a", "b\tcA'"}),
		`a "" ''`:                    argv.AllKnown([]string{"a", "", ""}),
		`a b'c'"d"$'e'f`:             argv.AllKnown([]string{"a", "bcdef"}),
		`{a,b}c{1..3}`:               argv.AllKnown([]string{"ac1", "ac2", "ac3", "bc1", "bc2", "bc3"}),
		`a {b} {b, '{c,d}' \{e,f}`:   argv.AllKnown([]string{"a", "{b}", "{b,", "{c,d}", "{e,f}"}),
		`[ -f x ]`:                   argv.AllKnown([]string{"[", "-f", "x", "]"}),
		`a $x "$x" b$x "c$x"`:        {argv.Known("a"), many(""), open(""), many("b"), open("c")},
		`a "$@" "x${y[@]}" $@`:       {argv.Known("a"), many(""), many("x"), many("")},
		`a "$*" "${#y[@]}"`:          {argv.Known("a"), open(""), open("")},
		`a $(b) "$(b)" $((1))`:       {argv.Known("a"), many(""), open(""), many("")},
		`a *.go src/* x[ab]y "*" \*`: {argv.Known("a"), many(""), many("src/"), many("x"), argv.Known("*"), argv.Known("*")},
		`a ~ ~/x ~root/y "~" x~`:     {argv.Known("a"), open(""), open(""), open(""), argv.Known("~"), argv.Known("x~")},
		`a <(b)`:                     {argv.Known("a"), open("/")},
		`{a,$x}b`:                    {argv.Known("ab"), many("")},
	} {
		var got []argv.Word
		for _, w := range args(t, text) {
			var ok bool
			if got, ok = Fields(got, w); !ok {
				t.Errorf("%s: too many words", text)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func TestOne(t *testing.T) {
	for text, want := range map[string]argv.Word{
		`a\ b`: argv.Known("a b"), `'a b'`: argv.Known("a b"), `*.go`: argv.Known("*.go"), `{a,b}`: argv.Known("{a,b}"),
		`a$x`: open("a"), `"$@"`: open(""), `~/x`: open(""), `a:~/x`: open("a:"), `a:b`: argv.Known("a:b"), `"~"`: argv.Known("~"),
	} {
		w := args(t, text)
		if d := cmp.Diff(want, StaticWord(w[0])); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	if d := cmp.Diff(argv.Word{}, StaticWord(nil)); d != "" {
		t.Error(d)
	}
}

func TestBraces(t *testing.T) {
	for text, want := range map[string]int{
		"a": 0, "{a}": 0, "{a,b}": 2, "{a,b}{c,d,e}": 6, "{a,{b,c}d}": 3, "{1..10}": 10, "{1..10..3}": 4, "{01..99}": 99,
		"{1..16384}": 16384, "{1..16385}": -1, "{1..99999999999}": -1, "{1..200}{1..200}": -1, strings.Repeat("{a,b}", 70): -1,
		strings.Repeat("{", 70): -1, strings.Repeat("{1..1}", 70): -1, "{a,b}" + strings.Repeat("x", 60000): 2,
		"{1..100}" + strings.Repeat("x", 60000): -1,
	} {
		got, ok := Braces(args(t, text)[0])
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%.40s: %d, want %d", text, got, want)
		}
	}
}

// FuzzFields holds that what is known is what the interpreter's own expansion
// makes of a word in an environment that it cannot know.
func FuzzFields(f *testing.F) {
	for _, s := range []string{`a 'b c' "d$x" e\ f`, `$'\x41\'' {a,b}{1..3} ~/x "~" [a]* $x$y"$@"`, `"\$x \z" \* a{b}c`,
		"`a` $(b) $((1+1)) ${x:-y}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 || strings.ContainsAny(text, "(`") {
			t.Skip("no substitution is run here")
		}
		for _, env := range [][]string{nil, {"x=1 2", "y=*", "HOME=/h", "IFS=,"}, {"x=-rf", "y=", "HOME="}} {
			cfg := &expand.Config{Env: expand.ListEnviron(env...)}
			for _, w := range args(t, text) {
				known, ok := Fields(nil, w)
				if !ok {
					continue
				}
				got, err := expand.Fields(cfg, w)
				if err != nil {
					continue
				}
				compare(t, text, known, got)
			}
		}
	})
}

// compare matches what is known with what there is.
func compare(t *testing.T, text string, known []argv.Word, got []string) {
	t.Helper()
	for i, k := range known {
		switch {
		case k.Many:
			if k.Text != "" && (len(got) <= i || !strings.HasPrefix(got[i], k.Text)) {
				t.Fatalf("%q: %q does not begin with %q", text, got, k.Text)
			}
			return
		case i >= len(got):
			t.Fatalf("%q: %d words, want %d", text, len(got), len(known))
		case k.Open && !strings.HasPrefix(got[i], k.Text), !k.Open && got[i] != k.Text:
			t.Fatalf("%q: word %d is %q, want %+v", text, i, got[i], k)
		}
	}
	if len(got) != len(known) {
		t.Fatalf("%q: %d words, want %d", text, len(got), len(known))
	}
}
