package safetext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
)

// through is what an edge sends of text that comes in pieces of n bytes.
func through(t *testing.T, text string, n int, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	e := safetext.NewEdge(&b, true, colour)
	for rest := text; rest != ""; {
		piece := rest[:min(n, len(rest))]
		rest = rest[len(piece):]
		if got, err := e.Write([]byte(piece)); got != len(piece) || err != nil {
			t.Fatal(got, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEdgeIsInert: nothing that a terminal obeys passes, in whatever pieces it comes.
func TestEdgeIsInert(t *testing.T) {
	for _, text := range append(clitest.Hostile(), "\x1b[31", "\x1b", "\x1b[31m\x1b[2J", "\x1b]8;;http://x\x1b\\a",
		"\xe2\x80", "\xe2\x80\xae", "\xf0\x9f") {
		for _, n := range []int{1, 2, 3, 1 << 20} {
			for _, colour := range []bool{false, true} {
				out := through(t, text, n, colour)
				if colour {
					out = strings.NewReplacer(safetext.Red, "", safetext.Yellow, "", safetext.Green, "", safetext.Dim,
						"", safetext.Plain, "").Replace(out)
				}
				if i := strings.IndexFunc(out, func(r rune) bool { return clitest.Hidden(r) && r != '\t' }); i >= 0 {
					t.Errorf("%q in pieces of %d, colour %t: sends %q", text, n, colour, out)
				}
			}
		}
	}
}

// TestEdgeLeavesText: what shows comes through as it is, in whatever pieces.
func TestEdgeLeavesText(t *testing.T) {
	const text = "Zürich, 東京, نسخه\u200cها, 👩\u200d🚀 \ufffd\n\ttab\n"
	for n := 1; n <= len(text); n++ {
		if got := through(t, text, n, false); got != text {
			t.Errorf("pieces of %d: %q", n, got)
		}
	}
}

// TestEdgeColours: the styles pass where the stream takes colour, and only there.
func TestEdgeColours(t *testing.T) {
	const text = "a \x1b[31mdeny\x1b[0m \x1b[7mb\x1b[2mc\x1b[0m"
	if got := through(t, text, 1<<20, true); got != "a \x1b[31mdeny\x1b[0m \\u001b[7mb\x1b[2mc\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
	if got := through(t, text, 1<<20, false); strings.Contains(got, "\x1b") {
		t.Errorf("without: %q", got)
	}
}

// TestTextOfJSON is the same value to a reader of JSON.
func TestTextOfJSON(t *testing.T) {
	for _, text := range clitest.Hostile() {
		text = strings.ToValidUTF8(text, "?") + `\`
		value, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(safetext.Text(value), &got); err != nil || got[text] != text {
			t.Errorf("%q has become %q, %v", text, got, err)
		}
	}
}

// TestBytes: a pipe gets bytes as they are, a terminal never does.
func TestBytes(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var b bytes.Buffer
		if _, err := safetext.Bytes(safetext.NewEdge(&b, terminal, false)).Write([]byte("\x1b[2J")); err != nil {
			t.Fatal(err)
		}
		if raw := b.String() == "\x1b[2J"; raw == terminal {
			t.Errorf("terminal %t: %q", terminal, b.String())
		}
	}
}
