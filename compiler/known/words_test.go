package known // the reader of examples is not exported: its words are seen here alone

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFields(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
		why  string
	}{
		{"git status  -s", []string{"git", "status", "-s"}, ""},
		{` git commit -m "one word" -m 'an''other' `, []string{"git", "commit", "-m", "one word", "-m", "another"}, ""},
		{`printf "a\"b\\c\d" \$x ''`, []string{"printf", `a"b\c\d`, "$x", ""}, ""},
		{`find . -exec rm {} \; -name '*.go'`, []string{"find", ".", "-exec", "rm", "{}", ";", "-name", "*.go"}, ""},
		{"git show HEAD~1 a#b x=~", []string{"git", "show", "HEAD~1", "a#b", "x=~"}, ""},
		{"", nil, ""},
		{"git status; ls", nil, "holds ;"},
		{"git log | cat", nil, "holds |"},
		{"ls $HOME", nil, "holds $"},
		{`echo "$HOME"`, nil, "holds $"},
		{"echo `ls`", nil, "holds `"},
		{"ls *.go", nil, "holds *"},
		{"ls ~/x", nil, "holds ~"},
		{"ls # all", nil, "holds #"},
		{"echo {a,b}", nil, "holds {"},
		{"echo 'a", nil, "a quote without an end"},
		{`echo a\`, nil, "ends in a backslash"},
		{"echo a\necho b", nil, "more than one line"},
		{"echo 'a\nb'", nil, "more than one line"},
	} {
		got, why := fields(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || !strings.Contains(why, tt.why) ||
			(why == "") != (tt.why == "") {
			t.Errorf("%q: %q, %q\n%s", tt.text, got, why, diff)
		}
	}
}

// FuzzFields: words come back as they were once they are quoted, and no text is
// read as more than it holds.
func FuzzFields(f *testing.F) {
	for _, text := range []string{"git status", `a "b c" 'd'`, `\;`, "'", "{}", "a=b c", "\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, why := fields(text)
		if why != "" && words != nil {
			t.Fatalf("%q is refused (%s), and has words", text, why)
		}
		total := 0
		quoted := make([]string, len(words))
		for i, w := range words {
			total += len(w)
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		if total > len(text) {
			t.Fatalf("%q is read as more than it holds: %q", text, words)
		}
		again, why := fields(strings.Join(quoted, " "))
		if len(again) != len(words) || why != "" {
			t.Fatalf("%q, quoted: %q, %s", words, again, why)
		}
		for i := range words {
			if words[i] != again[i] {
				t.Fatalf("%q, quoted: %q", words, again)
			}
		}
	})
}

func TestKinds(t *testing.T) {
	for p, want := range map[string]kind{
		"/usr/bin/git": plain, "/usr/bin/rg": plain, "/usr/bin/jq": plain, "/usr/bin/sed": plain, "/usr/bin/find": plain, "/usr/bin/ls": plain,
		"/bin/sh": shell, "/usr/bin/bash": shell, "/opt/fish/bin/fish": shell,
		"/usr/bin/python3": interpreter, "/usr/bin/python3.12": interpreter, "/usr/bin/node": interpreter, "/usr/bin/node20": interpreter, "/usr/bin/pip3": interpreter,
		"/usr/bin/make": interpreter, "/usr/bin/perl5.36": interpreter, "/usr/bin/g++-12": interpreter, "/usr/bin/m4": interpreter, "/usr/bin/sqlite3": interpreter,
		"/usr/bin/env": launcher, "/usr/bin/xargs": launcher, "/usr/bin/timeout": launcher, "/usr/bin/sudo": escalator,
		"/bin/busybox": many, "/lib64/ld-linux-x86-64.so.2": many, "/lib/ld-musl-x86_64.so.1": many, "/lib/ld-2.31.so": many,
	} {
		if got := kindOf(p); got != want {
			t.Errorf("%s: kind %d, want %d", p, got, want)
		}
	}
}
