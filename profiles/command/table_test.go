package command_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/command"
	"github.com/ringd/ringd/profiles/tables"
)

// TestVariablesTable: the embedded table is well-formed, its lines fit, and a malformed one is refused.
func TestVariablesTable(t *testing.T) {
	if err := command.Variables(""); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(command.VariablesText(), "\n") {
		if len([]rune(strings.ReplaceAll(line, "\t", "    "))) > 120 {
			t.Errorf("more than 120 columns: %s", line)
		}
	}
	for text, want := range map[string]string{
		"A\n\treason runs\n":                   "",
		"A\n\treason run\n":                    "A: line 2: reason: no such reason",
		"A\n\treason runs loads\n":             "A: line 2: reason: no such reason",
		"A\n\treasons runs\n":                  "A: line 2: reasons: no such field",
		"A\n\treason runs\n\tflags last\n":     "A: line 3: flags: last is no flag",
		"A\n\treason runs\n\tkind path\n":      "A: line 3: kind: no such kind",
		"A\n\treason runs\n\tvalue\n":          "A: line 3: value: nothing follows",
		"A\n":                                  "line 1: A has no reason and no values",
		"B\n\treason runs\nA\n\treason runs\n": "line 3: A is not in its place in the alphabet",
	} {
		got := ""
		if err := command.Variables(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestRemovedVariable shows that a row which is gone lets a variable through that the table refuses.
func TestRemovedVariable(t *testing.T) {
	text := command.VariablesText()
	rows, err := tables.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for i, row := range rows {
		end := len(lines)
		if i+1 < len(rows) {
			end = rows[i+1].Line - 1
		}
		without := strings.Join(append(append([]string{}, lines[:row.Line-1]...), lines[end:]...), "\n")
		noticed := false
		for _, name := range row.Names {
			name = strings.ReplaceAll(name, "*", "X")
			for _, value := range []string{"x/y", "", "/dev/null", "$(x)"} {
				noticed = noticed || command.VariableOf(text, name, value) != command.VariableOf(without, name, value)
			}
		}
		if !noticed && row.Names[0] != "*_proxy" { // its names have no reason of their own
			t.Errorf("%v: nothing changes without the row", row.Names)
		}
	}
}
