package compiler_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// unplaced is a rule without its place: the same policy in two notations has every rule
// at another one.
func unplaced(r profiles.Rule) profiles.Rule {
	r.File, r.Line, r.Column = "", 0, 0
	return r
}

func folder(t *testing.T, dir string) profiles.Set {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(names), err)
	}
	var sources []schema.Source
	for _, name := range names {
		if strings.HasSuffix(name, "_test.yaml") {
			continue // tests of a policy, and no part of it
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, schema.Source{Name: filepath.Base(name), Data: text})
	}
	policies, found := schema.Decode(sources)
	if len(found) > 0 {
		t.Fatal(found)
	}
	set, found := compiler.Compile(compiler.Config{Policies: policies, Sources: sources, Now: today()})
	if len(found) > 0 {
		t.Fatal(found)
	}
	return set
}

// TestPersonas: an organisation, a team and three agents compile to the same in YAML and
// in CUE. The same is every byte but the places in the text, and the digest over them.
func TestPersonas(t *testing.T) {
	yaml, cue := folder(t, "../testdata/policies/acme"), folder(t, "../testdata/policies/acme-cue")
	for _, set := range []*profiles.Set{&yaml, &cue} {
		if len(set.Agents) != 3 {
			t.Fatalf("%d agents", len(set.Agents))
		}
		set.Revision = ""
		for name, a := range set.Agents {
			for i := range a.Layers {
				a.Layers[i].File = ""
			}
			set.Agents[name] = a
		}
	}
	if diff := cmp.Diff(yaml, cue, cmp.Transformer("unplaced", func(r profiles.Rule) [2]string {
		r = unplaced(r)
		return [2]string{r.Path, r.Layer}
	})); diff != "" {
		t.Errorf("(-yaml +cue)\n%s", diff)
	}
	etl := yaml.Agents["data-engineer"]
	if len(etl.Layers) != 3 || len(etl.Exceptions) != 1 || len(etl.Exceptions[0].Lifts) != 1 ||
		etl.Exceptions[0].Lifts[0] != "OrgPolicy acme" {
		t.Errorf("layers %+v, exceptions %+v", etl.Layers, etl.Exceptions)
	}
	d := yaml.Decider("data-engineer", profiles.Environment{Now: today()})
	for module, want := range map[string]profiles.Verdict{"pandas.core": profiles.Allow,
		"pyarrow.parquet": profiles.Allow, "requests": profiles.Deny, "re": profiles.Deny} {
		if got := d.Import(profiles.ExecutorPython, module); got.Verdict != want {
			t.Errorf("%s: %+v", module, got)
		}
	}
	if got := d.Import(profiles.ExecutorPython, "requests"); got.Rule == nil || got.Rule.Layer != "OrgPolicy acme" {
		t.Errorf("the layer that denies is not named: %+v", got)
	}
	over := d.At(etl.Exceptions[0].Expires).Import(profiles.ExecutorPython, "pyarrow.parquet")
	if over.Verdict != profiles.Deny {
		t.Errorf("after its end: %+v", over)
	}
}
