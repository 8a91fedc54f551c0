// The program is not exported.
package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

// TestStreamsAreInert: a command that writes a text as it is, to whatever stream it has,
// sends a reader nothing that a terminal obeys.
func TestStreamsAreInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		var out, stderr bytes.Buffer
		p, end := newProgram(nil, &out, &stderr)
		root := newRoot(p)
		fmt.Fprintln(p.Out, text)
		fmt.Fprintln(p.Err, text)
		root.Println(text)
		fmt.Fprintln(root.OutOrStdout(), text)
		end()
		for _, got := range []string{out.String(), stderr.String()} {
			if i := strings.IndexFunc(got, func(r rune) bool { return clitest.Hidden(r) && r != '\t' }); i >= 0 ||
				!strings.Contains(got, "\n") {
				t.Errorf("%q sends %q", text, got)
			}
		}
	}
}
