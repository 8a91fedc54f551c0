// The printers are not exported, and their texts come from pushes that others wrote.

package commands

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/schema/wire"
)

// TestPrintedJSONIsInert: what a machine reads is shown at terminals, too, and says the same.
func TestPrintedJSONIsInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		for name, print := range map[string]func(c SigningConfig) error{
			"a push":   func(c SigningConfig) error { return c.printPush(clitest.Filled[shownPush](text), true) },
			"an order": func(c SigningConfig) error { return c.printJSON(clitest.Filled[lockdown.Order](text)) },
			"a status": func(c SigningConfig) error {
				st := clitest.Filled[wire.Status](text)
				st.LastPush.Result = wire.PushApplied
				return c.printResult(st, true)
			},
		} {
			var b bytes.Buffer
			if err := print(SigningConfig{Program: &cli.Program{Out: &b, Err: &b}}); err != nil {
				t.Fatal(err)
			}
			clitest.Check(t, name, text, b.String(), 1)
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s of %q: %q", name, text, b.String())
			}
		}
	}
}

func TestPrintedIsInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		var b bytes.Buffer
		c := SigningConfig{Program: &cli.Program{Out: &b, Err: &b}}
		if err := c.printPush(clitest.Filled[shownPush](text), false); err != nil {
			t.Fatal(err)
		}
		st := clitest.Filled[wire.Status](text)
		st.LastPush.Result = wire.PushApplied
		if err := c.printResult(st, false); err != nil {
			t.Fatal(err)
		}
		c.printLine("signed", text)
		clitest.Check(t, "signing", text, b.String(), 0)
	}
}
