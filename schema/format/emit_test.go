package format_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/format"
)

// TestReadsBack: what is written reads back as the same policy, for every field of
// the language and every policy of the corpora.
func TestReadsBack(t *testing.T) {
	files, err := filepath.Glob("../../testdata/policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, "../testdata/everything.yaml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		policies, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: text}})
		if found.Refused() {
			continue // no policy
		}
		for _, p := range policies {
			if p.Compact {
				p.Metadata.Owner = "user:a@b.example" // the compact form has none, the full language wants one
			}
			written, err := format.YAML(p)
			if err != nil {
				t.Fatal(err)
			}
			again, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: written}})
			if found.Refused() || len(again) != 1 {
				t.Fatalf("%s: %v\n%s", name, found, written)
			}
			again[0].Origins, p.Origins, p.Compact = nil, nil, false
			if diff := cmp.Diff(p, again[0]); diff != "" {
				t.Errorf("%s (-read +written and read):\n%s\n%s", name, diff, written)
			}
		}
	}
}

// TestHazards: what some reader of YAML takes for no text is quoted.
func TestHazards(t *testing.T) {
	p := schema.Policy{APIVersion: "ringd/v1", Kind: "AgentPolicy",
		Metadata: schema.Metadata{Name: "a", Revision: 1, Owner: "user:a@b",
			Labels: map[string]string{"a": "off", "b": "12:30", "c": "2026-01-01", "d": "0x10", "e": "- x", "f": "",
				"g": "a: b", "h": "#x", "i": "é", "j": "two\nlines\n", "k": "1_000", "l": "~", "m": "=", "n": "<<", "o": "trailing ", "p": "\ttab", "q": "null", "r": "*x", "s": "&y", "t": "!z", "u": "@v", "v": "`w", "w": "%x", "x": ".inf"}}}
	written, err := format.YAML(p)
	if err != nil {
		t.Fatal(err)
	}
	again, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: written}})
	if len(found) > 0 || len(again) != 1 {
		t.Fatalf("%v\n%s", found, written)
	}
	if diff := cmp.Diff(p.Metadata.Labels, again[0].Metadata.Labels); diff != "" {
		t.Errorf("%s\n%s", diff, written)
	}
}
