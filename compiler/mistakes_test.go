package compiler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/schema"
)

// mistake is one archive of testdata/mistakes: documents that lie over each other with
// one thing wrong. The line that is wrong says "# want CODE", and each line that it is
// measured by says "# ceiling"; none says so where there is no second place. The file
// fix is what to write instead of the wrong line (nothing: leave it out), and a file
// fix/NAME instead of a whole document.
type mistake struct {
	archive     *txtar.Archive
	sources     []schema.Source
	files       map[string][]byte
	code        string
	at          string   // file:line
	ceilings    []string // file:line, sorted
	fix         string   // of the line
	whole       map[string][]byte
	fixed, want bool
	text        string // the finding
}

var wrong, above = regexp.MustCompile(`(?:#|//) want ([a-z-]+)`), regexp.MustCompile(`(?:#|//) ceiling`)

func readMistake(t *testing.T, name string) *mistake {
	t.Helper()
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := &mistake{archive: ar, files: map[string][]byte{}, whole: map[string][]byte{}}
	if strings.TrimSpace(string(ar.Comment)) == "" {
		t.Error("the archive does not say what is wrong")
	}
	for _, f := range ar.Files {
		rest, whole := strings.CutPrefix(f.Name, "fix/")
		switch {
		case f.Name == "want":
			m.text, m.want = string(f.Data), true
		case f.Name == "fix":
			m.fix, m.fixed = string(f.Data), true
		case whole:
			m.whole[rest], m.fixed = f.Data, true
		case strings.HasPrefix(f.Name, "guardrails/"), strings.HasPrefix(f.Name, "modules/"):
			m.files[f.Name] = f.Data
		default:
			m.sources = append(m.sources, schema.Source{Name: f.Name, Data: f.Data})
		}
		for i, line := range strings.Split(string(f.Data), "\n") {
			place := fmt.Sprintf("%s:%d", f.Name, i+1)
			if code := wrong.FindStringSubmatch(line); code != nil {
				if m.at != "" {
					t.Fatalf("%s: a second mistake", place)
				}
				m.code, m.at = code[1], place
			}
			if above.MatchString(line) {
				m.ceilings = append(m.ceilings, place)
			}
		}
	}
	if m.at == "" || !m.fixed {
		t.Fatal("the archive marks no line, or holds no fix")
	}
	return m
}

// repaired is what the author has after the fix.
func (m *mistake) repaired() []schema.Source {
	var out []schema.Source
	for _, src := range m.sources {
		if text, ok := m.whole[src.Name]; ok {
			out = append(out, schema.Source{Name: src.Name, Data: text})
			continue
		}
		lines := strings.SplitAfter(string(src.Data), "\n")
		for i := range lines {
			if fmt.Sprintf("%s:%d", src.Name, i+1) == m.at && len(m.whole) == 0 {
				lines[i] = m.fix
			}
		}
		out = append(out, schema.Source{Name: src.Name, Data: []byte(strings.Join(lines, ""))})
	}
	return out
}

func findings(t *testing.T, sources []schema.Source, files map[string][]byte) schema.Diagnostics {
	policies, found := schema.Decode(sources)
	if found.Refused() {
		return found
	}
	set, more := compiler.Compile(compiler.Config{Policies: policies, Files: files, Sources: sources, Now: today()})
	now := today().Format(time.RFC3339)
	return slices.Concat(found, more, guardrail.Check(t.Context(), &set, nil, &now, guardrail.TargetSources))
}

// TestMistakes: each mistake in documents that lie over each other is one finding, at the
// line that is wrong, with the place of what it is measured by, and a hint; and what the
// hint says makes the documents compile.
func TestMistakes(t *testing.T) {
	names, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(names) < 60 {
		t.Fatalf("%d mistakes, want at least 60; %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			m := readMistake(t, name)
			found := findings(t, m.sources, m.files)
			if len(found) != 1 {
				t.Fatalf("%d findings, want one:\n%v", len(found), found)
			}
			m.check(t, found[0])
			if left := findings(t, m.repaired(), m.files); len(left) > 0 {
				t.Errorf("after the fix:\n%v", left)
			}
			m.golden(t, name, found[0])
		})
	}
}

func (m *mistake) check(t *testing.T, d schema.Diagnostic) {
	t.Helper()
	if at := fmt.Sprintf("%s:%d", d.Pos.File, d.Pos.Line); at != m.at || d.Code != m.code {
		t.Errorf("want %s at %s, got\n%v", m.code, m.at, d)
	}
	if d.Hint == "" {
		t.Errorf("no hint:\n%v", d)
	}
	var also []string
	for _, other := range d.Related {
		also = append(also, fmt.Sprintf("%s:%d", other.File, other.Line))
	}
	slices.Sort(also)
	slices.Sort(m.ceilings)
	switch {
	case !slices.Equal(also, m.ceilings):
		t.Errorf("places besides: %v, want %v:\n%v", also, m.ceilings, d)
	case len(also) == 1 && !strings.Contains(d.Msg, d.Related[0].String()):
		t.Errorf("the text does not name %v:\n%v", d.Related[0], d)
	}
	if meant := regexp.MustCompile(`did you mean "(.*)"`).FindStringSubmatch(d.Hint); meant != nil &&
		len(m.whole) == 0 && !strings.Contains(m.fix, meant[1]) {
		t.Errorf("the fix is not what the hint says:\n%v", d)
	}
}

func (m *mistake) golden(t *testing.T, name string, d schema.Diagnostic) {
	t.Helper()
	got := d.String() + "\n"
	for _, other := range d.Related {
		got += fmt.Sprintf("    also: %s\n", other)
	}
	if d.Severity == schema.Warning {
		got += "    severity: warning\n"
	}
	if os.Getenv("RINGD_UPDATE") == "" {
		if diff := cmp.Diff(m.text, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return
	}
	if !m.want {
		m.archive.Files = append(m.archive.Files, txtar.File{Name: "want"})
	}
	m.archive.Files[len(m.archive.Files)-1].Data = []byte(got)
	if err := os.WriteFile(name, txtar.Format(m.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
