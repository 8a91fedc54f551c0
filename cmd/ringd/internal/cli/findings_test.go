package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema"
)

// TestFindingsAreOneEach: no text of a policy makes a line that looks like a finding, or
// hides a part of one.
func TestFindingsAreOneEach(t *testing.T) {
	const evil = "x\nother.yaml:1:1: ok: fine\u200b\u202e\u2028\x1b[31m\U000e0041"
	var b bytes.Buffer
	found := schema.Diagnostics{
		{Pos: schema.Pos{File: "a\nb.yaml", Line: 1, Column: 2}, Code: "syntax", Msg: evil, Hint: evil, Related: []schema.Pos{{File: "c\nd.yaml", Line: 3}}}}
	if err := (cli.Page{W: &b}).Findings(found); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, `a\u000ab.yaml:1:2: syntax: x`) && !strings.HasPrefix(line, "    ") {
			t.Errorf("a line of its own: %q", line)
		}
	}
	if strings.ContainsAny(b.String(), "\u200b\u202e\u2028\x1b\U000e0041") ||
		!strings.Contains(b.String(), `fine\u200b\u202e\u2028\u001b[31m\U000e0041`) {
		t.Errorf("%q", b.String())
	}
}

// TestFindingsFitATerminal: at a terminal findings are broken between words, and place
// and code stay whole on the first line; elsewhere a message is one line.
func TestFindingsFitATerminal(t *testing.T) {
	long := strings.Repeat("spec.executors.python.limits.memory is above ", 6) + "the\nceiling  of  4GiB"
	for _, file := range []string{"p.yaml", strings.Repeat("folder/", 9) + "p.yaml",
		strings.Repeat("folder/", 15) + "p.yaml"} {
		found := schema.Diagnostics{
			{Pos: schema.Pos{File: file, Line: 12, Column: 3}, Code: "widens-parent", Msg: long, Hint: long, Severity: schema.Warning}}
		var narrow, whole bytes.Buffer
		if err := errors.Join((cli.Page{W: &narrow, Terminal: true}).Findings(found),
			(cli.Page{W: &whole}).Findings(found)); err != nil {
			t.Fatal(err)
		}
		begin := file + ":12:3: widens-parent: warning:"
		if !strings.HasPrefix(narrow.String(), begin) || !strings.Contains(
			narrow.String(), "\n      ceiling  of  4GiB\n") {
			t.Errorf("got %q", narrow.String())
		}
		for i, line := range strings.Split(narrow.String(), "\n") {
			if columns := utf8.RuneCountInString(line); columns > 80 && line != begin ||
				strings.TrimRight(line, " ") != line {
				t.Errorf("line %d has %d columns: %q", i, columns, line)
			}
		}
		if a, b := strings.Fields(narrow.String()), strings.Fields(whole.String()); !slices.Equal(a, b) {
			t.Errorf("words differ: %q, %q", a, b)
		}
		if n := strings.Count(whole.String(), "\n"); n != 4 {
			t.Errorf("%d lines: %q", n, whole.String())
		}
	}
}

// TestCleanKeepsWhatPeopleRead: letters of every script, and what joins them.
func TestCleanKeepsWhatPeopleRead(t *testing.T) {
	for _, text := range []string{"é ß 日本 عربي", "\u0645\u06cc\u200c\u062e", "\U0001f469\u200d\U0001f4bb \u2764\ufe0f",
		"\u0600\u0661"} {
		if got := cli.Clean(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if got, lines := cli.Block(text+"\n\tb"), text+"\n\tb"; got != lines {
			t.Errorf("%q became %q", lines, got)
		}
	}
}

// TestSARIFPlaces: a place is a URI, whatever the file is called.
func TestSARIFPlaces(t *testing.T) {
	text, err := json.Marshal(
		cli.SARIF(schema.Diagnostics{{Pos: schema.Pos{File: "a b%20<c>\n.yaml", Line: 1}},
			{Pos: schema.Pos{File: "policies/plain_1.yaml", Line: 1}}}, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"uri":"a%20b%2520%3Cc%3E%0A.yaml"`, `"uri":"policies/plain_1.yaml"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// TestOtherPlaces: a finding has its other places on one line, without those that its
// message names already.
func TestOtherPlaces(t *testing.T) {
	at := func(file string, line, column int) schema.Pos {
		return schema.Pos{File: file, Line: line, Column: column}
	}
	for _, tt := range []struct {
		name, msg string
		related   []schema.Pos
		want      string
	}{
		{"a place that is named", "above the ceiling at org.yaml:10:83 (OrgPolicy acme)", []schema.Pos{at("org.yaml", 10, 83)}, ""},
		{"its begin is", "above the ceiling at org.yaml:10:831", []schema.Pos{at("org.yaml", 10, 83)}, "org.yaml:10:83"},
		{"a line that is named", `"x" is already used on line 7`, []schema.Pos{at("a.yaml", 7, 2)}, ""},
		{"its begin is", `"x" is already used on line 71, and on line 7`, []schema.Pos{at("a.yaml", 7, 2)}, ""},
		{"another line is", `"x" is already used on line 71`, []schema.Pos{at("a.yaml", 7, 2)}, "a.yaml:7:2"},
		{"the line of another file", `"x" is already used on line 7`, []schema.Pos{at("b.yaml", 7, 2)}, "b.yaml:7:2"},
		{"the finding's own line", `"x" is already set on line 5`, []schema.Pos{at("a.yaml", 5, 2)}, "a.yaml:5:2"},
		{"CUE's words", "two values disagree; the other stands at 7:14", []schema.Pos{at("a.yaml", 7, 14)}, ""},
		{"the finding's own place", "wrong", []schema.Pos{at("a.yaml", 5, 31)}, ""},
		{"several", "all three powers", []schema.Pos{at("a.yaml", 7, 7), at("a.yaml", 8, 7), at("a.yaml", 7, 7)}, "a.yaml:7:7, a.yaml:8:7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != "" {
				tt.want = "    also: " + tt.want + "\n"
			}
			var b strings.Builder
			d := schema.Diagnostic{Pos: at("a.yaml", 5, 31), Code: "x", Msg: tt.msg, Related: tt.related}
			if err := (cli.Page{W: &b}).Findings(schema.Diagnostics{d}); err != nil {
				t.Fatal(err)
			}
			if want := "a.yaml:5:31: x: " + tt.msg + "\n" + tt.want; b.String() != want {
				t.Errorf("got\n%swant\n%s", b.String(), want)
			}
		})
	}
}
