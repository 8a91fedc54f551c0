package commands

// What is printed behind a verdict is nobody's but this package's, so its test is inside.

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/wire"
)

// A run of a folder names the policy that it was given; one that an older ringd has kept
// names none.
func TestNext(t *testing.T) {
	const start, end = "resume it with: ringd resume r1 --state st -p ", "every --bridge that ringd run was given\n"
	for path, want := range map[string]string{
		"":                  start + "POLICY\n    and with the policy and " + end,
		"p.yaml":            start + "p.yaml\n    and with " + end,
		"a b/$(x)'.yaml":    start + `'a b/$(x)'\''.yaml'` + "\n    and with " + end,
		"a\x1b[31m\nb.yaml": start + `$'a\u001b[31m\u000ab.yaml'` + "\n    and with " + end,
	} {
		var out bytes.Buffer
		p := &clientVerbs{ClientsConfig{Program: &cli.Program{Out: &out}}}
		p.printNext(wire.Run{ID: "r1", PolicyPath: path}, " --state st", "answered")
		if out.String() != want {
			t.Errorf("%q prints %q, want %q", path, out.String(), want)
		}
	}
}
