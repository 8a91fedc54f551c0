package jsproto_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
)

func options() jsproto.Options {
	return jsproto.Options{
		File: "plan.ts", Language: jsproto.TypeScript, Bridges: []string{"tools.search"},
		Inputs: map[string]json.RawMessage{"a": json.RawMessage(`{"x":1}`)}, Seed: [32]byte{1, 2},
		Imports: profiles.Imports{Deny: []profiles.ImportRule{
			{Name: "requests", Rule: profiles.Rule{File: "p.yaml", Line: 3}}}},
		Modules:  map[string]profiles.Module{"m": {Digest: "sha256:0", Source: "export {}"}},
		Revision: "sha256:1", DenyGlobals: []string{"eval"},
		CPU: time.Second, Wall: time.Minute, MemoryBytes: 1, StackBytes: 2, OutputBytes: 3, ResultBytes: 4,
	}
}

func TestRoundTrip(t *testing.T) {
	b, err := json.Marshal(options())
	if err != nil {
		t.Fatal(err)
	}
	got, err := executors.DecodeAs[jsproto.Options](b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(options(), got); d != "" {
		t.Error(d)
	}
}

func TestDecodeRefuses(t *testing.T) {
	change := func(f func(*jsproto.Options)) string {
		o := options()
		f(&o)
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, in := range map[string]string{
		"nothing":          ``,
		"no limits":        `{}`,
		"unknown field":    strings.Replace(change(func(*jsproto.Options) {}), `"file"`, `"path"`, 1),
		"text behind":      change(func(*jsproto.Options) {}) + "{}",
		"another language": change(func(o *jsproto.Options) { o.Language = "python" }),
		"no CPU":           change(func(o *jsproto.Options) { o.CPU = 0 }),
		"negative wall":    change(func(o *jsproto.Options) { o.Wall = -1 }),
		"no memory":        change(func(o *jsproto.Options) { o.MemoryBytes = 0 }),
		"no result":        change(func(o *jsproto.Options) { o.ResultBytes = 0 }),
	} {
		if _, err := executors.DecodeAs[jsproto.Options]([]byte(in)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := executors.DecodeAs[jsproto.Settings]([]byte(`{"cacheDir":"/x","more":1}`)); err == nil {
		t.Error("settings with an unknown field were taken")
	}
}

func FuzzDecodeOptions(f *testing.F) {
	b, err := json.Marshal(options())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"cpu":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		o, err := executors.DecodeAs[jsproto.Options](in)
		if err == nil && o.Check() != nil {
			t.Fatal("options without limits were taken")
		}
	})
}
