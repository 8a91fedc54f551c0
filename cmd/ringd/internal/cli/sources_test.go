package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(p cli.Policy) (out []string) {
	for _, s := range p.Sources {
		out = append(out, s.Name)
	}
	return out
}

func TestSourcesRead(t *testing.T) {
	dir := write(t, map[string]string{
		"a.yaml": "a", "b/c.cue": "c", "a_test.yaml": "t", ".h.yaml": "h", "README.md": "r",
		"guardrails/g.rego": "g", "guardrails/g_test.rego": "t", "guardrails/g.md": "d", "guardrails/.h.rego": "h",
		"modules/m.js": "m", "modules/.git/x": "x", "modules/sub/n.ts": "n",
	})
	all := []string{"a.yaml", "b/c.cue", "guardrails/g.rego", "modules/m.js", "modules/sub/n.ts"}
	for _, tt := range []struct {
		name, path string
		want       []string
	}{
		{"folder", dir, all},
		{"file, with what is beside it", filepath.Join(dir, "a.yaml"), []string{"a.yaml", "modules/m.js", "modules/sub/n.ts", "guardrails/g.rego"}},
		{"file without modules", filepath.Join(dir, "b", "c.cue"), []string{"c.cue"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := cli.ReadSources(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, names(p)); diff != "" {
				t.Error(diff)
			}
			for _, s := range p.Sources {
				if _, err := os.Stat(p.Shown(s.Name)); err != nil {
					t.Errorf("%s is shown as what is not there: %v", s.Name, err)
				}
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	dir := write(t, map[string]string{
		"a.txt": "a", "big.yaml": strings.Repeat("#", 1<<20+1), "empty/x.md": "", "many/modules/keep": "",
		"many/p.yaml": "p",
	})
	for i := range 9 {
		if err := os.WriteFile(filepath.Join(dir, "many", "modules", string(rune('a'+i))+".js"), make([]byte, 1<<20),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{"none.yaml", "no such file or directory"},
		{"a.txt", "not a .yaml, .yml, .json or .cue file"},
		{"big.yaml", "larger than 1048576 bytes"},
		{"empty", "no .yaml, .yml, .json or .cue file in it"},
		{"many/p.yaml", "bytes in all"},
		{"folder.yaml", "no .yaml"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			if _, err := cli.ReadSources(filepath.Join(dir, tt.path)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	in := schema.Diagnostics{{Pos: schema.Pos{File: "sub/a.yaml", Line: 3}, Related: []schema.Pos{{File: "b.yaml"}}}}
	folder := cli.Policy{Path: "./pol", Folder: true}.Place(in)
	if got := []string{folder[0].Pos.File, folder[0].Related[0].File}; !cmp.Equal(
		got, []string{"pol/sub/a.yaml", "pol/b.yaml"}) {
		t.Error(got)
	}
	file := cli.Policy{Path: "x/a.yaml"}.Place(schema.Diagnostics{{Pos: schema.Pos{File: "a.yaml"}}})
	if file[0].Pos.File != "x/a.yaml" {
		t.Error(file[0].Pos.File)
	}
	if in[0].Pos.File != "sub/a.yaml" || in[0].Related[0].File != "b.yaml" {
		t.Error("the findings given were changed")
	}
}

// TestPlaceOther: a finding that says where its other place is names the path as well.
func TestPlaceOther(t *testing.T) {
	in := schema.Diagnostics{
		{Pos: schema.Pos{File: "a.yaml", Line: 1, Column: 1}, Related: []schema.Pos{{File: "o.yaml", Line: 3, Column: 4}, {File: "o.yaml", Line: 3, Column: 4}},
			Msg: "spec.x: 1 is above 2 at o.yaml:3:4 (OrgPolicy o), not xo.yaml:3:4, o.yaml:3:45; (o.yaml:3:4)"}}
	const want = "spec.x: 1 is above 2 at p/o.yaml:3:4 (OrgPolicy o), not xo.yaml:3:4, o.yaml:3:45; (p/o.yaml:3:4)"
	if got := (cli.Policy{Path: "p", Folder: true}).Place(in)[0].Msg; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (cli.Policy{Path: ".", Folder: true}).Place(in)[0].Msg; got != in[0].Msg {
		t.Errorf("got %s", got)
	}
}

// TestPlaceAlone: a file that was read alone says so where its parent is missing, and
// names what its folder holds beside it.
func TestPlaceAlone(t *testing.T) {
	dir := write(t, map[string]string{
		"pol/a.yaml": "a", "pol/org.yaml": "o", "pol/a_test.yaml": "t", "pol/.b.yaml": "b", "pol/note.txt": "n", "one/a.yaml": "a",
		"many/a.yaml": "a", "many/b.yaml": "b", "many/c.cue": "c", "many/d.json": "d", "many/e.yml": "e",
	})
	t.Chdir(dir)
	missing := schema.Diagnostic{Code: "unknown-parent", Hint: "the folder holds none"}
	meant := schema.Diagnostic{Code: "unknown-parent", Hint: `did you mean "acme"?`}
	for _, tt := range []struct {
		path  string
		found schema.Diagnostic
		want  string
	}{
		{"pol/a.yaml", missing, "only this file was read; `ringd vet pol` also reads the layers of the folder: org.yaml"},
		{"many/a.yaml", missing, "only this file was read; `ringd vet many` also reads the layers of the folder: b.yaml, c.cue, d.json and 1 more"},
		{"one/a.yaml", missing, "only this file was read, and one has no other policy: give the folder of the OrgPolicy or TeamPolicy, or leave parent out"},
		{"one", missing, missing.Hint},
		{"pol/a.yaml", meant, meant.Hint},
	} {
		p, err := cli.ReadSources(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Place(schema.Diagnostics{tt.found})[0].Hint; got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.path, got, tt.want)
		}
	}
}

func TestSplit(t *testing.T) {
	policies, modules := cli.Split([]schema.Source{{Name: "a.yaml"}, {Name: "modules/m.js", Data: []byte("m")},
		{Name: "modulesx/b.yaml"}})
	if len(policies) != 2 || string(modules["modules/m.js"]) != "m" || len(modules) != 1 {
		t.Errorf("got %v, %v", policies, modules)
	}
}
