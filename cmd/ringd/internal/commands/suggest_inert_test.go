// The text is not exported, and its names are those that programs chose.

package commands

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/compiler/lint"
)

// No name ends the comment or the list that it stands in: people paste them.
func TestSuggestTextIsInert(t *testing.T) {
	for _, hostile := range append(clitest.Hostile(), "a]\nnetwork: {mode: open", "a, os]", "*", "a # b") {
		f := clitest.Filled[suggestion](hostile)
		f.Changes[0].Do = lint.Remove
		out := suggestText(f, cli.Policy{Path: hostile})
		clitest.Check(t, "suggest", hostile, out, 0)
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "#") && line != "imports:\n" && !strings.HasPrefix(line, "  allow: [") &&
				!strings.HasPrefix(line, "  deny: [") {
				t.Errorf("%q makes a line of its own: %q", hostile, line)
			}
			if strings.HasPrefix(line, "  allow: [") && !strings.HasPrefix(line, `  allow: ["`) {
				t.Errorf("%q stands in the list as it is: %q", hostile, line)
			}
		}
	}
}
