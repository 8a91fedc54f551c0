// The page is not exported, and its texts come from policies and logs.

package commands

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

func TestTextIsInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		var b bytes.Buffer
		if err := (textPage(&b)).document(clitest.Filled[pageDocument](text)); err != nil {
			t.Fatal(err)
		}
		clitest.Check(t, "diff", text, b.String(), 0)
	}
}

func textPage(b *bytes.Buffer) diffPrinter { return diffPrinter{cli.Page{W: b, Terminal: true}} }
