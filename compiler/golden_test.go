package compiler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// sourcesOf splits an archive into policies and the other files.
func sourcesOf(ar *txtar.Archive) (sources []schema.Source, files map[string][]byte) {
	files = map[string][]byte{}
	for _, f := range ar.Files {
		switch {
		case strings.HasPrefix(f.Name, "want/"):
		case strings.HasPrefix(f.Name, "modules/"), strings.HasPrefix(f.Name, "guardrails/"):
			files[f.Name] = f.Data
		default:
			sources = append(sources, schema.Source{Name: f.Name, Data: f.Data})
		}
	}
	return sources, files
}

// wanted lists the findings that the sources mark with "# want CODE".
func wanted(sources []schema.Source, files map[string][]byte) (want []string) {
	for name, text := range files {
		sources = append(sources, schema.Source{Name: name, Data: text})
	}
	for _, src := range sources {
		for i, line := range strings.Split(string(src.Data), "\n") {
			if _, codes, ok := strings.Cut(line, "# want "); ok {
				for _, code := range strings.Fields(codes) {
					want = append(want, fmt.Sprintf("%s:%d: %s", src.Name, i+1, code))
				}
			}
		}
	}
	slices.Sort(want)
	return want
}

func compileAll(t *testing.T, sources []schema.Source, files map[string][]byte) (profiles.Set, schema.Diagnostics) {
	t.Helper()
	policies, found := schema.Decode(sources)
	if found.Refused() {
		t.Fatalf("schema refuses:\n%v", found)
	}
	set, more := compiler.Compile(compiler.Config{Policies: policies, Files: files, Sources: sources, Now: today()})
	return set, more
}

// today is the time that archives are compiled at.
func today() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// TestGolden compiles each archive of testdata. A line marked "# want CODE" has
// that finding and no other; want/findings.txt holds their text, want/set.json
// the set. RINGD_UPDATE=1 rewrites both.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d archives, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(ar.Comment)) == 0 {
				t.Error("the archive does not say what it proves")
			}
			sources, files := sourcesOf(ar)
			set, found := compileAll(t, sources, files)
			got := []string{}
			for _, d := range found {
				got = append(got, fmt.Sprintf("%s:%d: %s", d.Pos.File, d.Pos.Line, d.Code))
			}
			slices.Sort(got)
			if diff := cmp.Diff(wanted(sources, files), slices.Clip(got),
				cmp.Transformer("empty", func(s []string) []string {
					return append([]string{}, s...)
				})); diff != "" {
				t.Errorf("findings (-want +got)\n%s\n%v", diff, found)
			}
			if strings.HasPrefix(filepath.Base(name), "bad_") != found.Refused() {
				t.Errorf("refused: %v", found.Refused())
			}
			outputs := map[string]string{}
			if len(found) > 0 {
				outputs["want/findings.txt"] = found.Error() + "\n"
			}
			if !found.Refused() {
				outputs["want/set.json"] = pretty(t, set)
			}
			golden(t, name, ar, outputs)
		})
	}
}

func pretty(t *testing.T, set profiles.Set) string {
	t.Helper()
	b, err := set.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := profiles.DecodeSet(b); err != nil {
		t.Errorf("the set does not decode: %v", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

func golden(t *testing.T, name string, ar *txtar.Archive, outputs map[string]string) {
	t.Helper()
	want := map[string]string{}
	kept := []txtar.File{}
	for _, f := range ar.Files {
		if strings.HasPrefix(f.Name, "want/") {
			want[f.Name] = string(f.Data)
		} else {
			kept = append(kept, f)
		}
	}
	if os.Getenv("RINGD_UPDATE") == "" {
		if diff := cmp.Diff(want, outputs); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return
	}
	for _, out := range []string{"want/findings.txt", "want/set.json"} {
		if text, ok := outputs[out]; ok {
			kept = append(kept, txtar.File{Name: out, Data: []byte(text)})
		}
	}
	ar.Files = kept
	if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzCompile: whatever text is a policy compiles the same way twice, to a set
// that decodes, or is refused without a set.
func FuzzCompile(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		sources, _ := sourcesOf(ar)
		f.Add(sources[0].Data)
	}
	files := map[string][]byte{"modules/lodash-lite.js": []byte("export default 1\n"), "modules/twice.js": nil,
		"modules/twice.ts": nil}
	f.Fuzz(func(t *testing.T, text []byte) {
		compileOnce := func() (profiles.Set, string) {
			policies, _ := schema.Decode([]schema.Source{{Name: "p.yaml", Data: text}})
			set, found := compiler.Compile(compiler.Config{Policies: policies, Files: files})
			if found.Refused() && set.Agents != nil {
				t.Fatal("refused, and there is a set")
			}
			for _, d := range found {
				if d.Code == "" || d.Msg == "" || d.Pos.Line < 1 && d.Code != compiler.CodeNoPolicy {
					t.Fatalf("a finding without a place or a word: %+v", d)
				}
			}
			return set, found.Error()
		}
		set, found := compileOnce()
		again, foundAgain := compileOnce()
		if set.Revision != again.Revision || found != foundAgain {
			t.Fatalf("compiled twice: %s and %s\n%s\n%s", set.Revision, again.Revision, found, foundAgain)
		}
		if set.Revision == "" {
			return
		}
		b, err := set.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := profiles.DecodeSet(b); err != nil {
			t.Fatal(err)
		}
	})
}
