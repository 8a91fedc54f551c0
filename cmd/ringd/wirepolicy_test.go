package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
)

// TestPersonasStay: the tests of the personas say when they are decided, so they hold on a
// host whose clock is behind the end of the exception that one of them is about.
func TestPersonasStay(t *testing.T) {
	ringd, err := exec.LookPath("ringd") // testscript.Main put the test binary there
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &program{Program: &cli.Program{Out: &out, Err: t.Output(), Self: ringd, Env: config.FromSystem()}}
	cfg := p.policyVerbs().tests()
	cfg.Now = func() time.Time { return time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC) }
	cmd := commands.NewTest(cfg)
	cmd.SetArgs([]string{"../../testdata/policies/acme"})
	err = cmd.ExecuteContext(t.Context())
	if err != nil || !strings.Contains(out.String(), "PASS  data-engineer: parquet for now") ||
		!strings.Contains(out.String(), ", 0 failed") {
		t.Errorf("got %v, %s", err, out.String())
	}
}
