package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/schema"
)

// seed adds every policy and every mistake of an input form.
func seed(f *testing.F, ending string) {
	files, err := filepath.Glob("../testdata/policies/*" + ending)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, m := range mistakes(f) {
		if strings.HasSuffix(m.source.Name, ending) {
			f.Add(m.source.Data)
		}
	}
}

// check holds what is true of every reading: a finding has a place in the
// text, a file gives policies or a reason, and every value has an origin.
func check(t *testing.T, src schema.Source) []schema.Policy {
	t.Helper()
	policies, found := schema.Decode([]schema.Source{src})
	lines := strings.Split(string(src.Data), "\n")
	for _, d := range found {
		if d.Pos.File != src.Name || d.Pos.Line < 1 || d.Pos.Line > len(lines) || d.Pos.Column < 1 ||
			d.Pos.Column > len(lines[d.Pos.Line-1])+1 {
			t.Errorf("no place in the text: %v", d)
		}
		if d.Code == "" || d.Msg == "" || !utf8.ValidString(d.Msg+d.Hint) || strings.ContainsAny(d.Msg, "\x00\x1b\n") {
			t.Errorf("not fit to print: %q", d)
		}
	}
	switch {
	case found.Refused() && len(policies) > 0:
		t.Errorf("%d policies of a refused file: %v", len(policies), found)
	case !found.Refused() && len(policies) == 0:
		t.Error("no policy and no reason")
	}
	for _, p := range policies {
		if _, ok := p.Origins["metadata.name"]; !ok {
			t.Error("metadata.name has no origin")
		}
		for path, o := range p.Origins {
			if o.Pos.Line < 1 || o.Pos.Line > len(lines) || o.Path == "" {
				t.Errorf("origin of %s: %+v", path, o)
			}
		}
	}
	return policies
}

func FuzzDecodeYAML(f *testing.F) {
	seed(f, ".yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) < 16<<10 {
			check(t, schema.Source{Name: "p.yaml", Data: text})
		}
	})
}

// A JSON policy is a YAML policy, and says the same.
func FuzzDecodeJSON(f *testing.F) {
	seed(f, ".json")
	seed(f, ".yaml")
	f.Add([]byte(`{"interpreter_ring": {"allowed_imports": ["pandas"], "executor_network": "off"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 16<<10 {
			return
		}
		policies := check(t, schema.Source{Name: "p.json", Data: text})
		if len(policies) != 1 || !json.Valid(text) || strings.ContainsAny(
			string(text), "\t\u0085\u2028\u2029\ufeff\x7f") {
			return // the characters YAML has rules of its own for
		}
		again, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: text}})
		if len(again) != 1 {
			t.Skip(found)
		}
		if diff := cmp.Diff(bare(policies[0]), bare(again[0])); diff != "" {
			t.Errorf("-json +yaml:\n%s", diff)
		}
	})
}

// Evaluating CUE cannot be stopped, so inputs that can multiply are left to the
// process that is killed.
func FuzzDecodeCUE(f *testing.F) {
	seed(f, ".cue")
	f.Fuzz(func(t *testing.T, text []byte) {
		s := string(text)
		if len(text) > 4<<10 || strings.Count(s, "for ")+strings.Count(s, "*") > 2 || strings.Count(s, "|") > 6 ||
			strings.Contains(s, "Repeat") || strings.Contains(s, "Range") || strings.Contains(s, "Pow") ||
			strings.Contains(s, "Exp") ||
			strings.Count(s, "\\(") > 4 || strings.Count(s, "+") > 6 || strings.Count(s, "e") > 400 {
			return
		}
		check(t, schema.Source{Name: "p.cue", Data: text})
	})
}
