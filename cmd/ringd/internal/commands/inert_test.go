// The page is not exported, and its texts come from policies.

package commands

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

func TestListIsInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		var b bytes.Buffer
		l := clitest.Filled[exceptionsList](text)
		for i := range l.Exceptions {
			l.Exceptions[i].Flags = []string{flagEnded} // words of ours
		}
		if err := (exceptionsPrinter{cli.Page{W: &b, Terminal: true}}).list(l, cli.Policy{Path: text}); err != nil {
			t.Fatal(err)
		}
		clitest.Check(t, "exceptions", text, b.String(), 0)
	}
}
