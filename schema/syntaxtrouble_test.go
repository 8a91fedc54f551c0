package schema

import (
	"strings"
	"testing"
)

// A text is split into lines once, however many of them are deeper than the one above.
func TestIndentSplitsOnce(t *testing.T) {
	const lines = 2000
	text := []byte(strings.Repeat("a:\n b: 1\n", lines/2))
	if got := indentTrouble(text); got != (trouble{}) {
		t.Fatalf("%+v", got)
	}
	if n := testing.AllocsPerRun(1, func() { indentTrouble(text) }); n > lines/10 {
		t.Errorf("%v allocations for %d lines", n, lines)
	}
	deeper := indentTrouble([]byte("c: 1\n# a comment\n\n  d: 2\n"))
	if deeper.Line != 4 || !strings.Contains(deeper.Hint, "as line 1") {
		t.Errorf("%+v", deeper)
	}
}
