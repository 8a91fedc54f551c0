// The printers are not exported, and their texts come from pushes that others wrote.
package signing

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
	"github.com/ringd/ringd/schema/wire"
)

func TestPrintedIsInert(t *testing.T) {
	for _, text := range rendertest.Hostile() {
		var b bytes.Buffer
		c := Config{Program: &cli.Program{Out: &b, Err: &b}}
		if err := c.print(rendertest.Filled[shown](text), false); err != nil {
			t.Fatal(err)
		}
		st := rendertest.Filled[wire.Status](text)
		st.LastPush.Result = wire.PushApplied
		if err := c.became(st, false); err != nil {
			t.Fatal(err)
		}
		c.line("signed", text)
		rendertest.Check(t, "signing", text, b.String(), 0)
	}
}
