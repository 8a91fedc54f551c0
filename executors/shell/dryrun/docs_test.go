package dryrun_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
)

// TestArguable: the rows of the corpus on which one can think otherwise are listed
// in the documentation, with the choice that was made.
func TestArguable(t *testing.T) {
	var b strings.Builder
	for _, r := range rows(t, "../../../testdata/shell.jsonl") {
		if !r.Arguable {
			continue
		}
		got := "refused"
		if decide(t, r).Verdict == profiles.Allow {
			got = "allowed"
		}
		_, _ = fmt.Fprintf(&b, "| %s | `%s` | %s |\n", r.ID,
			strings.NewReplacer("\n", "⏎", "\r", "␍", "|", "\\|").Replace(r.Script), got)
	}
	const file = "../../../docs/SHELL-SCRIPTS.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- arguable -->\n", "<!-- end -->\n"
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table of arguable scripts", file)
	}
	want := head + begin + "| row | script | here |\n|---|---|---|\n" + b.String() + end + tail
	if os.Getenv("RINGD_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s is not what is decided; RINGD_UPDATE=1 writes it", file)
	}
}
