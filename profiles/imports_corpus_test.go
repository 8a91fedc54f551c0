package profiles_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/ringd/ringd/profiles"
)

// TestPythonCorpus decides the imports of the programs of corpora/python.jsonl, as a
// parser of Python read them, or by the name that a program hides: every module of a
// program that has to run is allowed, but for those it can do without (optional);
// of one that has to end with ImportError one is refused.
func TestPythonCorpus(t *testing.T) {
	text, err := os.ReadFile("testdata/python-imports.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		ID, Expect                     string
		Allow, Deny, Imports, Optional []string
	}
	if err := json.Unmarshal(text, &rows); err != nil || len(rows) < 50 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		t.Run(row.ID, func(t *testing.T) {
			im := imports(row.Allow, row.Deny)
			im.Default = len(row.Allow) == 0
			d := profiles.NewDecider(profiles.Agent{Python: &profiles.Python{Imports: im}}, "", profiles.Environment{})
			refused := slices.IndexFunc(row.Imports, func(m string) bool {
				return d.Import("python", m).Verdict != profiles.Allow
			})
			switch row.Expect {
			case "allow":
				if refused >= 0 {
					t.Errorf("%s is refused: %+v", row.Imports[refused], d.Import("python", row.Imports[refused]))
				}
			case "deny":
				if refused < 0 {
					t.Errorf("all of %q are allowed", row.Imports)
				}
				if got := d.Import("python", row.Imports[max(refused, 0)]); got.Code != profiles.CodeImportDenied &&
					got.Code != profiles.CodeImportNotAllowed {
					t.Errorf("got %+v", got)
				}
			default:
				t.Errorf("expect %q", row.Expect)
			}
		})
	}
}

// TestImportFor: what binds the program, what binds its libraries too, and nobody
// else imports.
func TestImportFor(t *testing.T) {
	im := imports([]string{"pandas", "json"}, []string{"requests", "ctypes", "pandas.io.clipboard"})
	im.Process = imports(nil, []string{"mmap"}).Deny
	d := profiles.NewDecider(profiles.Agent{Python: &profiles.Python{Imports: im}, JS: &profiles.JS{}}, "sha256:1",
		profiles.Environment{})
	for _, tt := range []struct {
		module           string
		program, library profiles.Verdict
	}{
		{"pandas", profiles.Allow, profiles.Allow},
		{"pandas.io.clipboard", profiles.Deny, profiles.Deny},
		{"requests.adapters", profiles.Deny, profiles.Deny},
		{"ctypes", profiles.Deny, profiles.Allow},
		{"socket", profiles.Deny, profiles.Allow},
		{"mmap", profiles.Deny, profiles.Deny},
		{"dateutil", profiles.Deny, profiles.Allow},
		{"_interpreters", profiles.Deny, profiles.Deny},
		{"ringd", profiles.Allow, profiles.Allow},
		{"json.decoder", profiles.Allow, profiles.Allow},
		{"json/decoder", profiles.Deny, profiles.Deny},
		{"", profiles.Deny, profiles.Deny},
	} {
		for origin, want := range map[string]profiles.Verdict{
			"": tt.program, profiles.OriginAgent: tt.program, profiles.OriginLibrary: tt.library, "root": profiles.Deny} {
			if got := d.ImportFor("python", tt.module, origin); got.Verdict != want || got.Revision != "sha256:1" {
				t.Errorf("%s for %q: %+v", tt.module, origin, got)
			}
		}
		if got := d.ImportFor("js", tt.module, profiles.OriginLibrary); got.Verdict != profiles.Deny {
			t.Errorf("JavaScript has no libraries: %+v", got)
		}
	}
	if got := (*profiles.Decider)(nil).ImportFor("python", "json",
		profiles.OriginLibrary); got.Verdict != profiles.Deny || got.Code != profiles.CodeClosed {
		t.Errorf("nobody's decider: %+v", got)
	}
	if got := d.ImportFor("shell", "json", ""); got.Verdict != profiles.Deny {
		t.Errorf("got %+v", got)
	}
	if got := d.Import("python", "mmap"); got.Rule == nil ||
		got.Reason != "import of mmap is denied to everybody, libraries too" {
		t.Errorf("got %+v", got)
	}
}

// TestImportAny: "*" allows what nothing denies, and names its line.
func TestImportAny(t *testing.T) {
	im := imports(nil, []string{"requests"})
	im.Any = &profiles.Rule{File: "p.yaml", Line: 4, Column: 9, Path: "spec.executors.python.imports.allow[0]"}
	d := profiles.NewDecider(profiles.Agent{Python: &profiles.Python{Imports: im}}, "", profiles.Environment{})
	for module, want := range map[string]profiles.Verdict{"numpy": profiles.Allow, "subprocess": profiles.Allow,
		"requests.api": profiles.Deny, "_testcapi": profiles.Deny} {
		if got := d.Import("python", module); got.Verdict != want || want == profiles.Allow && got.Rule != im.Any {
			t.Errorf("%s: %+v", module, got)
		}
	}
}

func TestImportActionOrigin(t *testing.T) {
	d := profiles.NewDecider(profiles.Agent{Python: &profiles.Python{Imports: imports(nil, []string{"ctypes"})}}, "",
		profiles.Environment{})
	for line, want := range map[string]profiles.Verdict{
		`{"import":{"executor":"python","module":"ctypes","origin":"library"}}`: profiles.Allow,
		`{"import":{"executor":"python","module":"ctypes","origin":"agent"}}`:   profiles.Deny,
		`{"import":{"executor":"python","module":"ctypes"}}`:                    profiles.Deny,
	} {
		a, err := profiles.DecodeAction([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Decide(a); got.Verdict != want {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, line := range []string{
		`{"import":{"executor":"python","module":"ctypes","origin":"Library"}}`,
		`{"import":{"executor":"python","module":"ctypes","origin":"kernel"}}`,
		`{"import":{"executor":"python","module":"ctypes","origin":null}}`,
		`{"import":{"executor":"python","module":"ctypes","Origin":"library"}}`,
	} {
		if _, err := profiles.DecodeAction([]byte(line)); err == nil {
			t.Errorf("%s is an action", line)
		}
	}
}
