package syntax_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/schema/syntax"
)

// A text is split into lines once, however many of them are deeper than the one above.
func TestIndentSplitsOnce(t *testing.T) {
	const lines = 2000
	text := []byte(strings.Repeat("a:\n b: 1\n", lines/2))
	if got := syntax.Indent(text); got != (syntax.Trouble{}) {
		t.Fatalf("%+v", got)
	}
	if n := testing.AllocsPerRun(1, func() { syntax.Indent(text) }); n > lines/10 {
		t.Errorf("%v allocations for %d lines", n, lines)
	}
	deeper := syntax.Indent([]byte("c: 1\n# a comment\n\n  d: 2\n"))
	if deeper.Line != 4 || !strings.Contains(deeper.Hint, "as line 1") {
		t.Errorf("%+v", deeper)
	}
}
