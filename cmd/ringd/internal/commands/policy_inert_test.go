// The printers are not exported, and their texts come from policies and hosts.
package commands

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
)

// TestEnforcementIsInert: the table of what enforces a policy is rows of ours, whatever an
// agent is called and a host says of its layers.
func TestEnforcementIsInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		for _, asJSON := range []bool{false, true} {
			var b bytes.Buffer
			c := PolicyConfig{Program: &cli.Program{Out: &b, Err: &b}}
			host := clitest.Filled[hostReport](text)
			host.Enforceable = false
			err := c.enforcement([]enforced{{Agent: text, Revision: text, Host: &host}}, asJSON)
			if e := new(cli.Exit); !errors.As(err, &e) || e.Code != cli.Unavailable {
				t.Fatalf("got %v", err)
			}
			c.Code(err)
			clitest.Check(t, "enforcement", text, b.String(), 0)
		}
	}
}

// TestLaidOutIsInert: a terminal gets of a policy and of its name text alone, and a pipe
// the bytes of the policy.
func TestLaidOutIsInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		f := []*layoutFile{{path: text, name: text, before: []byte("a\n"), now: []byte(text + "\n")}}
		for _, q := range []fmtFlags{{diff: true}, {check: true}} {
			var b bytes.Buffer
			c := PolicyConfig{Program: &cli.Program{Out: safetext.NewEdge(&b, true, false)}}
			if e := new(cli.Exit); !errors.As(c.reportFormatted(q, f, false, nil), &e) || e.Code != cli.Refused {
				t.Fatal(q)
			}
			clitest.Check(t, "fmt", text, b.String(), 0)
		}
		var b bytes.Buffer
		c := PolicyConfig{Program: &cli.Program{Out: safetext.NewEdge(&b, false, false)}}
		if err := c.reportFormatted(fmtFlags{}, f, false, nil); err != nil || b.String() != text+"\n" {
			t.Errorf("a pipe gets %q of %q, %v", b.String(), text, err)
		}
	}
}
