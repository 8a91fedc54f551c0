package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/schema"
)

// TestFindingsAreOneEach: no text of a policy makes a line that looks like a finding, or
// hides a part of one.
func TestFindingsAreOneEach(t *testing.T) {
	const evil = "x\nother.yaml:1:1: ok: fine\u200b\u202e\u2028\x1b[31m\U000e0041"
	var b bytes.Buffer
	found := schema.Diagnostics{{Pos: schema.Pos{File: "a\nb.yaml", Line: 1, Column: 2}, Code: "syntax", Msg: evil, Hint: evil, Related: []schema.Pos{{File: "c\nd.yaml", Line: 3}}}}
	if err := (render.Page{W: &b}).Findings(found); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, `a\u000ab.yaml:1:2: syntax: x`) && !strings.HasPrefix(line, "    ") {
			t.Errorf("a line of its own: %q", line)
		}
	}
	if strings.ContainsAny(b.String(), "\u200b\u202e\u2028\x1b\U000e0041") || !strings.Contains(b.String(), `fine\u200b\u202e\u2028\u001b[31m\U000e0041`) {
		t.Errorf("%q", b.String())
	}
}

// TestCleanKeepsWhatPeopleRead: letters of every script, and what joins them.
func TestCleanKeepsWhatPeopleRead(t *testing.T) {
	for _, text := range []string{"é ß 日本 عربي", "\u0645\u06cc\u200c\u062e", "\U0001f469\u200d\U0001f4bb \u2764\ufe0f", "\u0600\u0661"} {
		if got := render.Clean(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if got, lines := render.Block(text+"\n\tb"), text+"\n\tb"; got != lines {
			t.Errorf("%q became %q", lines, got)
		}
	}
}

// TestSARIFPlaces: a place is a URI, whatever the file is called.
func TestSARIFPlaces(t *testing.T) {
	text, err := json.Marshal(render.SARIF(schema.Diagnostics{{Pos: schema.Pos{File: "a b%20<c>\n.yaml", Line: 1}}, {Pos: schema.Pos{File: "policies/plain_1.yaml", Line: 1}}}, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"uri":"a%20b%2520%3Cc%3E%0A.yaml"`, `"uri":"policies/plain_1.yaml"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}
