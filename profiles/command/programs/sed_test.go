package programs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSedStartsNothing(t *testing.T) {
	for _, text := range sedBenign() {
		if p := parseSed(text); p.Refused != "" || len(p.Texts) > 0 {
			t.Errorf("%s\n  starts %q, %s", text, p.Texts, p.Refused)
		}
	}
}

func TestSedStarts(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // nil: refused
	}{
		{`1e id`, []string{"id"}}, {`$e id`, []string{"id"}}, {`/x/e id`, []string{"id"}}, {`\,x,e id`, []string{"id"}}, {`1,3 e curl x`, []string{"curl x"}}, {`1!e id`, []string{"id"}},
		{`/a/,/b/e id`, []string{"id"}}, {`0~3e id`, []string{"id"}}, {`2,+3e id`, []string{"id"}}, {`p;e id`, []string{"id"}}, {"p\ne id", []string{"id"}}, {`{p;e id` + "\n}", []string{"id"}},
		{`/x/I e id`, []string{"id"}}, {`s/a/b/;e id`, []string{"id"}}, {`s/a;/b/;e id`, []string{"id"}}, {`s,a\,b,c,;e id`, []string{"id"}}, {`y/abc/xyz/;e id`, []string{"id"}},
		{`s/[/]/x/;e id`, []string{"id"}}, {`/[/]/e id`, []string{"id"}}, {`s/[^]/]*//;e id`, []string{"id"}}, {"a\\\ntext\ne id", []string{"id"}}, {"i text\ne id", []string{"id"}},
		{":a;N;$!ba;e id", []string{"id"}}, {"b\ne id", []string{"id"}}, {"w f\ne id", []string{"id"}}, {"r f\n1e id", []string{"id"}}, {"# x\ne id", []string{"id"}}, {"$!{$!N};e id", []string{"id"}},
		{`e`, nil}, {`1e`, nil}, {`e;p`, []string{";p"}}, {`v;1e id`, []string{"id"}}, {"1e true\\\nrm x", nil}, {"1e\\\nrm x", nil}, {`s/a/b/e`, nil}, {`s/a/b/ge`, nil}, {`s/a/b/2pe`, nil}, {`s|a|b|eg`, nil}, {`s/a/b/Ie;p`, nil}, {`s/.*/id/e`, nil}, {`{s/a/b/e}`, nil},
		{`s/a/b/me`, nil}, {`s/a\/b/c/e`, nil}, {`s/[/]e/]/e`, nil}, {`k`, nil}, {`s/a/b`, nil}, {`s/a/b/Q`, nil}, {`/x`, nil}, {`{p`, nil}, {`p}`, nil}, {`y/a/b`, nil},
		{strings.Repeat("p;", mostSed), nil},
	} {
		p := parseSed(c.text)
		if c.want == nil && p.Refused == "" {
			t.Errorf("%.80s\n  is not refused: %q", c.text, p.Texts)
		}
		if c.want != nil && p.Refused == "" && !cmp.Equal(p.Texts, c.want) {
			t.Errorf("%s\n  starts %q (%s), wanted %q", c.text, p.Texts, p.Refused, c.want)
		}
	}
}

func sedBenign() []string {
	return []string{
		`p`, `s/a/b/`, `s/foo/bar/g`, `s|/usr/local|/opt|g`, `s#a#b#`, `s,a,b,2`, `s/a/b/gI`, `s/a/b/w out.txt`, `/curl/p`, `/^#/d`, `/^$/d`, `1d`, `$d`, `1,10p`, `10,20p;20q`, `5q`, `$=`, `=`, `n;d`, `G`, `1!G;h;$!d`,
		`/start/,/end/p`, `/start/,/end/{//!p}`, `/start/,/end/{s/a/b/;p}`, `/a/!d`, `1~2p`, `2,+3d`, `0,/x/s//y/`, `s/^[ \t]*//`, `s/[[:space:]]*$//`, `s/\(.*\)@\(.*\)/\2 \1/`, `s/e/E/g`, `s/pe/ep/`, `s/^e //`, `/e id/d`,
		`s/[^/]*$//`, `s/[/]/_/g`, `s/\//_/g`, `s/a\nb/c/`, `N;s/\n/ /`, `:a;N;$!ba;s/\n/,/g`, `:a;s/^\(\s*\)\t/\1  /;ta`, `$!N;P;D`, `y/abc/ABC/`, `y/\//_/`, `/x/a new line`, `/x/i\` + "\ntext", `1i # header`, `$a end`, `2c changed`, `/x/r f.txt`, `/x/w out`,
		`/BEGIN/,/END/c\` + "\nnew", `s/.*version": "\(.*\)".*/\1/p`, `s/"version": ".*"/"version": "1.2.3"/`, `s/\bfoo\b/bar/`, `s/a/\n/`, `s/.*/"&"/`, `s/&/\&amp;/g`, `s/'/"/g`, `s/x/{}/`, `/^import/{p;q}`, `/a/{/b/d}`, `/a/{/b/{d}}`, `s/\[//;s/\]//`, `s/[][]//g`, `s/[]]/x/`, `s/[^]]*/x/`,
		`l`, `l 80`, `F`, `z`, `x;p;x`, `h;s/a/b/;H;x`, `\,/usr/,d`, `\#a#p`, `s/\$HOME/x/`, `/^[0-9]\+e/p`, "s/a/b/\ns/c/d/\n", `s/a/b/ ; s/c/d/ # note`, `# only a comment`, `/x/ { n ; d }`, `s/\(e\)\(.\)/\2\1/g`, `s/a/b/M`, `v 4.2`, `s/a/b/3g`, `q5`, `Q`, `$!{h;d}`, `b end;p;:end`, `/x/b;p`, `t;p`, "s/a/\\\nb/",
	}
}

func FuzzSedRead(f *testing.F) {
	for _, text := range sedBenign() {
		f.Add(text)
	}
	f.Add(`1e id`)
	f.Add(`s/a/b/e`)
	f.Fuzz(func(t *testing.T, text string) {
		p := parseSed(text)
		for _, s := range p.Texts {
			if !strings.Contains(text, s) {
				t.Errorf("%q starts %q, which is not in it", text, s)
			}
		}
		// What begins with a start is never harmless.
		if with := parseSed("1e id\n" + text); with.Refused == "" && len(with.Texts) == 0 {
			t.Errorf("a start in front of %q is not seen", text)
		}
	})
}
