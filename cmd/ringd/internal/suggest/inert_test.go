// The text is not exported, and its names are those that programs chose.
package suggest

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
	"github.com/ringd/ringd/compiler/minimize"
)

// No name ends the comment or the list that it stands in: people paste them.
func TestTextIsInert(t *testing.T) {
	for _, hostile := range append(rendertest.Hostile(), "a]\nnetwork: {mode: open", "a, os]", "*", "a # b") {
		f := rendertest.Filled[found](hostile)
		f.Changes[0].Do = minimize.Remove
		out := text(f, sources.Policy{Path: hostile})
		rendertest.Check(t, "suggest", hostile, out, 0)
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "#") && line != "imports:\n" && !strings.HasPrefix(line, "  allow: [") && !strings.HasPrefix(line, "  deny: [") {
				t.Errorf("%q makes a line of its own: %q", hostile, line)
			}
			if strings.HasPrefix(line, "  allow: [") && !strings.HasPrefix(line, `  allow: ["`) {
				t.Errorf("%q stands in the list as it is: %q", hostile, line)
			}
		}
	}
}
