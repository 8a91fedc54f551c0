package fields // the errors of the embedded tables are not exported

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/tables"
)

// TestTables: the embedded tables are well formed, and no field has two rows.
func TestTables(t *testing.T) {
	if _, err := language(); err != nil {
		t.Errorf("language.txt: %v", err)
	}
	if _, err := set(); err != nil {
		t.Errorf("set.txt: %v", err)
	}
	for name, text := range map[string]string{"language.txt": languageText, "set.txt": setText} {
		seen := map[string]bool{}
		rows, _ := tables.Rows(text)
		for _, r := range rows {
			if seen[r.Names[0]] {
				t.Errorf("%s: %s has two rows", name, r.Names[0])
			}
			seen[r.Names[0]] = true
		}
	}
}

// TestMalformed: a word that no row may have is an error of its line.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"A.B owner strict":       `line 1: A.B: "strict" is no mark`,
		"A.B owner\n\tsay x":     "line 2: say: is no text of a field",
		"A.B at-most count late": `"late" is no mark`,
	} {
		if _, err := parse(text, parseField); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := parse("A.B strange\n\tnarrow x", parseSetField); err == nil || strings.Count(err.Error(), "is no ") != 2 {
		t.Error(err)
	}
}
