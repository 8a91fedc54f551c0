package enforcement_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/compiler/enforcement"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/fields"
)

const root = "../.."

// TestEveryFieldHasARow: no field of the language is in force without somebody who
// enforces it, and its fate in the table of the language is the same.
func TestEveryFieldHasARow(t *testing.T) {
	rows := map[string]enforcement.Row{}
	for _, r := range enforcement.Rows() {
		for _, f := range r.Fields {
			if _, twice := rows[f]; twice {
				t.Errorf("%s stands in two rows", f)
			}
			rows[f] = r
		}
	}
	for _, f := range fields.Table() {
		r, ok := rows[f.Policy]
		delete(rows, f.Policy)
		switch {
		case f.Order == fields.Parts:
			if ok {
				t.Errorf("%s: its own fields are listed", f.Policy)
			}
			continue
		case !ok:
			t.Errorf("%s has no row: the enforcement table has none called %q", f.Policy, f.Row)
			continue
		}
		for _, c := range r.Cells {
			if refused := c.Level == enforcement.Unsupported; f.Fate == fields.Refused && !refused {
				t.Errorf("%s is refused, and %s says %s", f.Policy, r.Name, c.Level)
			}
			if f.Fate == fields.Informs && c.Level != enforcement.Annotation && c.Level != enforcement.Elsewhere {
				t.Errorf("%s is an annotation, and %s says %s", f.Policy, r.Name, c.Level)
			}
		}
	}
	for f := range rows {
		t.Errorf("%s is no field of the language", f)
	}
}

// TestProofs: what is called enforced names a test, and the test is there.
func TestProofs(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range enforcement.Rows() {
		if len(r.Cells) == 0 {
			t.Errorf("%s: no executor", r.Name)
		}
		for _, c := range r.Cells {
			if proven := c.Level == enforcement.Enforced || c.Level == enforcement.Compile; proven != (len(c.Proof) > 0) || c.By == "" {
				t.Errorf("%s, %s: %s by %q with %d proofs", r.Name, c.Executor, c.Level, c.By, len(c.Proof))
			}
			for _, p := range c.Proof {
				if seen[p] {
					continue
				}
				seen[p] = true
				if !there(t, p) {
					t.Errorf("%s: there is no %s", r.Name, p)
				}
			}
		}
	}
	if there(t, "compiler TestThatIsNot") || there(t, "script that_is_not") {
		t.Error("a proof that is not there is found")
	}
}

// TestFieldsAreShown: each field that is called enforced names a test for each executor,
// the test is there, and it, or what it calls in its own package, says the field.
func TestFieldsAreShown(t *testing.T) {
	r := reader{}
	if r.source(t, "compiler TestThatIsNot") != "" || r.source(t, "script that_is_not") != "" ||
		says("a TestWord b", "Test") {
		t.Error("a test that is not there is found")
	}
	told := map[enforcement.Shown]bool{}
	for _, row := range enforcement.Rows() {
		for _, c := range row.Cells {
			if (c.Level == enforcement.Enforced) != (len(c.Fields) > 0) {
				t.Errorf("%s, %s: %d fields are shown", row.Name, c.Executor, len(c.Fields))
			}
			for _, f := range c.Fields {
				if told[f] {
					continue
				}
				told[f] = true
				if text := r.source(t, f.Test); f.Word == "" || text == "" {
					t.Errorf("%s, %s: there is no test %q", f.Field, c.Executor, f.Test)
				} else if !says(text, f.Word) {
					t.Errorf("%s, %s: %s does not say %s", f.Field, c.Executor, f.Test, f.Word)
				}
			}
		}
	}
}

// says reports whether a text has a word that is no part of a longer one.
func says(text, word string) bool {
	part := func(s string, at int) bool {
		return at >= 0 && at < len(s) && (s[at] == '_' || s[at] >= '0' && s[at] <= '9' || s[at]|0x20 >= 'a' &&
			s[at]|0x20 <= 'z')
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if !part(text, i-1) && !(part(word, len(word)-1) && part(text, i+len(word))) {
			return true
		}
		from = i + 1
	}
}

// reader has the declarations of the tests of each folder, and those that each of them
// names.
type reader map[string]map[string]declared

type declared struct {
	text  string
	names []string
}

// source is the text of a test, with that of the functions and tables of its package's
// tests that it names; of a script all of it.
func (r reader) source(t *testing.T, proof string) string {
	t.Helper()
	dir, name, _ := strings.Cut(proof, " ")
	if dir == "script" {
		b, err := os.ReadFile(filepath.Join(root, "cmd/ringd/testdata/script", name+".txtar"))
		if err != nil {
			return ""
		}
		return string(b)
	}
	if r[dir] == nil {
		r[dir] = declarations(t, dir)
	}
	text := r[dir][name].text
	for _, other := range r[dir][name].names {
		if d, ok := r[dir][other]; ok && other != name {
			text += "\n" + d.text
		}
	}
	return text
}

func declarations(t *testing.T, dir string) map[string]declared {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]declared{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			name := ""
			switch d := d.(type) {
			case *ast.FuncDecl:
				name = d.Name.Name
			case *ast.GenDecl:
				if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
					name = v.Names[0].Name
				}
			}
			one := out[name] // methods of one name, and one function for each system
			one.text += string(text[set.Position(d.Pos()).Offset:set.Position(d.End()).Offset])
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && !slices.Contains(one.names, id.Name) {
					one.names = append(one.names, id.Name)
				}
				return true
			})
			if name != "" {
				out[name] = one
			}
		}
	}
	return out
}

func there(t *testing.T, proof string) bool {
	t.Helper()
	dir, name, _ := strings.Cut(proof, " ")
	if dir == "script" {
		_, err := os.Stat(filepath.Join(root, "cmd/ringd/testdata/script", name+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	is := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(t \*testing\.T\)`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if is.Match(b) {
			return true
		}
	}
	return false
}

// TestUsed: an agent's report has what it grants, for the executors it has.
func TestUsed(t *testing.T) {
	rows := enforcement.Used(
		profiles.Agent{Shell: &profiles.Shell{Binaries: []profiles.Binary{{Path: "/usr/bin/git"}}}})
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
		for _, c := range r.Cells {
			if c.Executor != profiles.ExecutorShell {
				t.Errorf("%s: %s", r.Name, c.Executor)
			}
		}
	}
	for name, want := range map[string]bool{"shell.binaries": true, "filesystem": true, "js.imports": false,
		"bridges": false, "network.gateways": false} {
		if slices.Contains(names, name) != want {
			t.Errorf("%s: want %v in %v", name, want, names)
		}
	}
	if rows := enforcement.Used(profiles.Agent{}); len(rows) != 0 {
		t.Errorf("no executor, and %d rows", len(rows))
	}
}

// TestDocument holds docs/ENFORCEMENT.md equal to the table.
func TestDocument(t *testing.T) {
	hold(t, "docs/ENFORCEMENT.md", "<!-- table -->\n", "<!-- end -->\n", table()+"\n"+proofTable())
}

// proofTable is the table of the tests, field by field; executors with the same one share a line.
func proofTable() string {
	var b strings.Builder
	b.WriteString("| field | executor | shown by |\n|---|---|---|\n")
	for _, r := range enforcement.Rows() {
		for _, f := range r.Fields {
			var tests []string
			on := map[string][]string{}
			for _, c := range r.Cells {
				for _, s := range c.Fields {
					if s.Field == f {
						if on[s.Test] == nil {
							tests = append(tests, s.Test)
						}
						on[s.Test] = append(on[s.Test], c.Executor)
					}
				}
			}
			for _, test := range tests {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", f, strings.Join(on[test], ", "), test)
			}
		}
	}
	return b.String()
}

func table() string {
	var b strings.Builder
	b.WriteString("| fields | executor | | by | shown by |\n|---|---|---|---|---|\n")
	for _, r := range enforcement.Rows() {
		for i, c := range r.Cells {
			if i > 0 && c.By == r.Cells[0].By {
				continue
			}
			var on []string
			for _, d := range r.Cells {
				if d.By == c.By {
					on = append(on, d.Executor)
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Name, strings.Join(on, ", "), c.Level, c.By,
				strings.Join(c.Proof, "; "))
		}
	}
	return b.String()
}
