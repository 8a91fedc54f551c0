package diff_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/schema"
)

// setOf is one side of a pair: a policy with its layers, or the set that one compiles to.
func setOf(t *testing.T, ar *txtar.Archive, name string) *profiles.Set {
	t.Helper()
	var sources []schema.Source
	for _, f := range ar.Files {
		if f.Name == name+".yaml" || strings.HasPrefix(f.Name, name+"-") { // with its layers
			sources = append(sources, schema.Source{Name: f.Name, Data: f.Data})
		}
	}
	for _, f := range ar.Files {
		var set profiles.Set
		switch f.Name {
		case name + ".json":
			if err := json.Unmarshal(f.Data, &set); err != nil {
				t.Fatal(err)
			}
			return &set
		case name + ".yaml":
			policies, found := schema.Decode(sources)
			if !found.Refused() {
				set, found = compiler.Compile(compiler.Config{Policies: policies})
			}
			if found.Refused() {
				t.Fatalf("%s is refused: %v", f.Name, found)
			}
			return &set
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// TestPairs compares the two policies of each archive of testdata: want lists the class
// and the capability of every change, in any order. A ? stands behind what is
// undecided, a * behind what a limit of all executors repeats.
func TestPairs(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 50 {
		t.Fatalf("%d pairs, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, f := range ar.Files {
				if f.Name == "want" {
					want = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
				}
			}
			rep := diff.Compare(setOf(t, ar, "old"), setOf(t, ar, "new"), diff.Config{Now: now()})
			var got []string
			for _, c := range rep.Changes() {
				line := c.Class.String() + " " + c.Capability
				switch {
				case c.Undecided:
					line += " ?"
				case strings.HasPrefix(c.Field, "limits."):
					continue // the executor's own limit is told
				case strings.HasPrefix(c.Capability, "limit:"):
					line += " *"
				}
				if c.Says == "" {
					t.Errorf("%s says nothing", line)
				}
				got = append(got, line)
			}
			want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
			slices.Sort(want)
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
