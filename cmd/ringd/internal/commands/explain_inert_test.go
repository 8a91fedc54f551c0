// The pages are not exported, and their texts come from policies and scripts.

package commands

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

func TestPagesAreInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		var b bytes.Buffer
		p := explainPrinter{cli.Page{W: &b, Terminal: true}}
		if err := p.explained(clitest.Filled[explanation](text)); err != nil {
			t.Fatal(err)
		}
		without := clitest.Filled[explanation](text)
		without.Decision.Text = ""
		if err := p.explained(without); err != nil {
			t.Fatal(err)
		}
		if err := p.meeting(clitest.Filled[powersReport](text), &decider{}); err != nil {
			t.Fatal(err)
		}
		clitest.Check(t, "explain", text, b.String(), 0)
	}
}
