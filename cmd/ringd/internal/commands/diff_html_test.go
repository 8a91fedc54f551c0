package commands

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/diff"
)

// TestHostileTextStaysText puts markup into every text of a document.
func TestHostileTextStaysText(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}javascript:`
	ch := Change{Change: diff.Change{Agent: evil, Kind: diff.Kind(evil), Capability: evil, Field: "exceptions",
		Old: evil, New: evil, Says: evil, Why: evil, Layer: evil, Exception: evil},
		OldLine: &Line{File: evil, Line: 1, Text: evil, Path: evil, Layer: evil},
		NewLine: &Line{File: evil, Line: 2, Text: evil}}
	doc := pageDocument{Old: Side{Path: evil, Revision: evil}, New: Side{Path: evil}, Counts: map[string]int{},
		Agents: []Agent{{Name: evil, State: evil, Changes: []Change{ch}}},
		Impact: &Impact{Log: evil, Counts: map[string]int{},
			Groups: []Group{{Result: evil, Agent: evil, Capability: evil, Was: evil, Why: evil, Count: 1}}}}
	var b strings.Builder
	if err := writePage(&b, doc); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, bad := range []string{"<script", "<img", "onerror=alert(1)>", "<link", "@import", "url(", "http://",
		"https://"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(got, "&lt;script&gt;"); n < 15 {
		t.Errorf("the texts are shown only %d times: the test looks at too little", n)
	}
	if !strings.Contains(got, `default-src 'none'`) || !strings.Contains(got, "Look at these first") {
		t.Error("the page has no policy for its content, or does not put exceptions first")
	}
}

func TestNothingChanged(t *testing.T) {
	var b strings.Builder
	if err := writePage(&b, pageDocument{Class: diff.Neutral, Counts: map[string]int{}}); err != nil ||
		!strings.Contains(b.String(), "makes no difference to any agent") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestManyAgents: where there are several, a table leads to each of them.
func TestManyAgents(t *testing.T) {
	doc := pageDocument{Counts: map[string]int{}}
	for _, name := range []string{"one", "<two>", "three"} {
		doc.Agents = append(doc.Agents, Agent{Name: name, Changes: []Change{
			{Change: diff.Change{Says: "a", Class: diff.Widens}}, {Change: diff.Change{Says: "b", Class: diff.Widens}}, {Change: diff.Change{Says: "c", Class: diff.Narrows}}}})
	}
	var b strings.Builder
	if err := writePage(&b, doc); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<a href="#agent-1">&lt;two&gt;</a></td><td><span class="widens">widens</span></td><td class="n">2</td><td class="n">1</td><td class="n">0</td>`,
		`id="agent-1"`, `href="#changes-1"`, `id="changes-1"`, "Gained: 2", "Lost: 1",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestNothingTurnsText: a character that turns text around, moves a cursor or is not seen
// is written out, wherever it stands; what people read with is kept.
func TestNothingTurnsText(t *testing.T) {
	const evil = "api\u202emoc.live\u2066\u200b\x1b[2J\r\U000e0041\u2028"
	doc := pageDocument{Old: Side{Path: evil}, Counts: map[string]int{},
		Agents: []Agent{{Name: "é" + evil, Changes: []Change{
			{Change: diff.Change{Says: evil}, NewLine: &Line{File: evil, Text: evil}}}}},
		Impact: &Impact{Log: evil, Counts: map[string]int{}, Groups: []Group{{Capability: evil, Why: evil}}}}
	var b strings.Builder
	if err := writePage(&b, doc); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\u202e\u2066\u200b\x1b\r\U000e0041\u2028") {
		t.Error("the page holds what turns its text around")
	}
	if n := strings.Count(b.String(), `api\u202emoc.live\u2066\u200b\u001b[2J\u000d\U000e0041\u2028`); n < 5 {
		t.Errorf("the texts are shown only %d times", n)
	}
	if !strings.Contains(b.String(), "é") {
		t.Error("a letter is gone")
	}
}
