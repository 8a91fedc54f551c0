// The printers are not exported, and their texts come from pushes that others wrote.
package signing

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/render/rendertest"
	"github.com/ringd/ringd/schema/wire"
)

// TestPrintedJSONIsInert: what a machine reads is shown at terminals, too, and says the same.
func TestPrintedJSONIsInert(t *testing.T) {
	for _, text := range rendertest.Hostile() {
		for name, print := range map[string]func(c Config) error{
			"a push":   func(c Config) error { return c.print(rendertest.Filled[shown](text), true) },
			"an order": func(c Config) error { return c.json(rendertest.Filled[lockdown.Order](text)) },
			"a status": func(c Config) error {
				st := rendertest.Filled[wire.Status](text)
				st.LastPush.Result = wire.PushApplied
				return c.became(st, true)
			},
		} {
			var b bytes.Buffer
			if err := print(Config{Program: &cli.Program{Out: &b, Err: &b}}); err != nil {
				t.Fatal(err)
			}
			rendertest.Check(t, name, text, b.String(), 1)
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s of %q: %q", name, text, b.String())
			}
		}
	}
}

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
