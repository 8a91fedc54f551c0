package schema_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/schema"
)

var (
	marker  = regexp.MustCompile(`(?:#|//) want ([a-z-]+)`)
	comment = regexp.MustCompile(`(?m)^want ([a-z-]+) (\S+):([0-9]+)$`)
)

// mistake is one golden file: a sentence, a file with one mistake, and the
// exact finding. The place is a marker in the line, or a line of the sentence
// where the text cannot hold a comment.
type mistake struct {
	archive    *txtar.Archive
	source     schema.Source
	code       string
	line       int
	want, path string
}

func mistakes(t testing.TB) []mistake {
	t.Helper()
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all []mistake
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := mistake{archive: txtar.Parse(text), path: path}
		m.source = schema.Source{Name: m.archive.Files[0].Name, Data: m.archive.Files[0].Data}
		if len(m.archive.Files) > 1 {
			m.want = string(m.archive.Files[1].Data)
		}
		if words := comment.FindSubmatch(m.archive.Comment); words != nil {
			m.code = string(words[1])
			m.line, _ = strconv.Atoi(string(words[3]))
		}
		for i, line := range bytes.Split(m.source.Data, []byte("\n")) {
			if words := marker.FindSubmatch(line); words != nil {
				if m.line != 0 {
					t.Fatalf("%s: two markers", path)
				}
				m.code, m.line = string(words[1]), i+1
			}
		}
		if m.line == 0 {
			t.Fatalf("%s: no marker", path)
		}
		all = append(all, m)
	}
	return all
}

func TestMistakes(t *testing.T) {
	all := mistakes(t)
	if len(all) < 60 {
		t.Errorf("%d golden mistakes, want at least 60", len(all))
	}
	for _, m := range all {
		t.Run(filepath.Base(m.path), func(t *testing.T) {
			_, found := schema.Decode([]schema.Source{m.source})
			if len(found) != 1 {
				t.Fatalf("%d findings, want one:\n%v", len(found), found)
			}
			if found[0].Code != m.code || found[0].Pos.Line != m.line {
				t.Errorf("got %v\nwant %s on line %d", found, m.code, m.line)
			}
			got := report(found[0])
			if os.Getenv("RINGD_UPDATE") != "" {
				m.archive.Files = append(m.archive.Files[:1:1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(m.path, txtar.Format(m.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(m.want, got); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
		})
	}
}

// report is the finding as vet prints it, with what tools see besides.
func report(d schema.Diagnostic) string {
	text := d.String() + "\n"
	for _, other := range d.Related {
		text += fmt.Sprintf("    also: %s\n", other)
	}
	if d.Severity == schema.Warning {
		text += "    severity: warning\n"
	}
	return text
}
