package format_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/format"
)

func formatted(t *testing.T, name, text string) string {
	t.Helper()
	out, found, err := format.Source(schema.Source{Name: name, Data: []byte(text)})
	if err != nil || len(found) > 0 {
		t.Fatalf("%v %v", found, err)
	}
	return string(out)
}

const messy = `# of the team
spec: # grants
    network: {mode: off}
    executors:
        python: {imports: {deny: [requests], allow: [json]}}
        # both of them
        allowed: [python, js]
    filesystem: {read: ['$WORKSPACE',
        "/srv"]} # what it reads
metadata: {revision: 1, name: a, owner: 'team:x', labels: {b: x, a: "y"}, reviewBy: 2027-01-31}
kind: AgentPolicy
# the version
apiVersion: ringd/v1
`

const tidy = `# of the team

# the version
apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "team:x", labels: {b: x, a: "y"}, reviewBy: "2027-01-31"}
spec: # grants
  executors:
    # both of them
    allowed: [python, js]
    python: {imports: {allow: [json], deny: [requests]}}
  filesystem: {read: ["$WORKSPACE", "/srv"]} # what it reads
  network: {mode: "off"}
`

func TestYAML(t *testing.T) {
	if diff := cmp.Diff(tidy, formatted(t, "a.yaml", messy)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(tidy, formatted(t, "a.yaml", tidy)); diff != "" {
		t.Errorf("not the same the second time:\n%s", diff)
	}
}

const dense = `# of the team


apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "team:x"}



spec:

  # where it may go
  network:
    mode: allowlist

    egress:

      - host: a.example
        ports: [443]


      # the second
      - host: b.example

        ports: [443]
      - host: c.example
  # what runs
  executors:
    allowed: [js]


    js: {imports: {allow: [json]}} # none of npm
    # behind it

    shell:
      denyPatterns:
        - pattern: |
            a

            b

        - pattern: c
`

const airy = `# of the team

apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "team:x"}

spec:
  # what runs
  executors:
    allowed: [js]

    js: {imports: {allow: [json]}} # none of npm
    # behind it

    shell:
      denyPatterns:
        - pattern: |
            a

            b

        - pattern: c

  # where it may go
  network:
    mode: allowlist

    egress:
      - host: a.example
        ports: [443]

      # the second
      - host: b.example

        ports: [443]
      - host: c.example
`

// One blank line stays of several, where its field goes, and above the comments that
// the field has. A block does not begin with one.
func TestBlankLines(t *testing.T) {
	if diff := cmp.Diff(airy, formatted(t, "a.yaml", dense)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(airy, formatted(t, "a.yaml", airy)); diff != "" {
		t.Errorf("not the same the second time:\n%s", diff)
	}
}

// A blank line that is part of a text stays one, and one that would become part of a
// text is not kept.
func TestBlankLinesOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		"a: |+\n  x\n\nb: 1\n":        "a: |+\n  x\n\nb: 1\n",
		"a: |\n  x\n\n\nb: 1\n":       "a: |\n  x\n\nb: 1\n",
		"a: >-\n  x\n\n  y\n\nb: 1\n": "a: >-\n  x\n\n  y\n\nb: 1\n",
		"a: \"x\n\n  y\"\n\nb: 1\n":   "a: \"x\\ny\"\n\nb: 1\n",
		"a: [1,\n\n  2]\nb: 1\n":      "a: [1, 2]\nb: 1\n",
	} {
		if got := formatted(t, "a_test.yaml", text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	moved := formatted(t, "a.yaml", "metadata:\n  name: a\n\n  owner: b\n  description: |+\n    x\n\n  revision: 1\n")
	if again := formatted(t, "a.yaml", moved); again != moved {
		t.Errorf("%q became %q", moved, again)
	}
}

// Every policy of the project says the same afterwards, and a second time changes nothing.
func TestPolicies(t *testing.T) {
	n := 0
	for _, glob := range []string{"../../testdata/policies/*", "../testdata/*.yaml", "../../testdata/policies/*/*"} {
		names, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			ext := filepath.Ext(name)
			if ext != ".yaml" && ext != ".cue" && ext != ".json" {
				continue
			}
			n++
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			once := formatted(t, filepath.Base(name), string(text))
			if diff := cmp.Diff(once, formatted(t, filepath.Base(name), once)); diff != "" {
				t.Errorf("%s: not the same the second time:\n%s", name, diff)
			}
			if ext == ".cue" {
				continue
			}
			before, _ := schema.Decode([]schema.Source{{Name: "a" + ext, Data: text}})
			after, found := schema.Decode([]schema.Source{{Name: "a" + ext, Data: []byte(once)}})
			for _, list := range [][]schema.Policy{before, after} {
				for i := range list {
					list[i].Origins = nil
				}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s: another policy: %s %v", name, diff, found)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d policies", n)
	}
}

// What readers of YAML disagree about is in quotes, names too, and numbers stay numbers.
func TestQuotes(t *testing.T) {
	got := formatted(t, "a_test.yaml", "a: [off, yes, 12:30, 2026-11-20, 0o17x, plain, 8, 'it''s', 'say \"x\"', "+
		"true]\non: 1\nb: |\n  text\n  # no comment\n")
	want := "a: [\"off\", \"yes\", \"12:30\", \"2026-11-20\", 0o17x, plain, 8, \"it's\", 'say \"x\"', true]\n\"on\": " +
		"1\nb: |\n  text\n  # no comment\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Lists that are too long for a line, and those with comments in them, get lines of
// their own.
func TestFlow(t *testing.T) {
	long := strings.Repeat("a-long-word, ", 20)
	got := formatted(t, "a_test.yaml", "a: ["+long+"b]\nc: [x, # why\n  y]\n")
	if strings.Count(got, "\n  - ") != 23 || !strings.Contains(got, "- x # why\n") {
		t.Error(got)
	}
}

// JSON is indented, CUE is as cue fmt has it.
func TestOthers(t *testing.T) {
	if got := formatted(t, "a.json", `{"kind":"x","a":[1e2]}`); got != "{\n  \"kind\": \"x\",\n  \"a\": [\n    1e2\n "+
		" ]\n}\n" {
		t.Error(got)
	}
	if got := formatted(t, "a.cue", "a:   1 // x\nb:  {c:2}\n"); got != "a: 1 // x\nb: {c: 2}\n" {
		t.Errorf("%q", got)
	}
}

// What cannot be read is told, with its place, and nothing comes out.
func TestUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"a.yaml": "a: [1\n", "b.yaml": "a: 1\na: 2\n", "c.json": "{", "d.cue": "a: {", "e.yaml": "a: *x\n", "f.yaml": "a: 1\n---\nb: 2\n", "g.yaml": "a: !!str 1\n", "h.yaml": "", "i.yaml": "\xff",
		"j.json": `{"a":1,"a":2}`, "k.yaml": "- 1\n",
	} {
		out, found, err := format.Source(schema.Source{Name: name, Data: []byte(text)})
		if err != nil || out != nil || !found.Refused() || found[0].Pos.File != name {
			t.Errorf("%s: got %q, %v, %v", name, out, found, err)
		}
	}
	_, found, _ := format.Source(schema.Source{Name: "d.cue", Data: []byte("a: 1\nb: {c: 2 d: 3}\n")})
	if len(found) != 1 || found[0].Pos != (schema.Pos{File: "d.cue", Line: 2, Column: 10}) {
		t.Errorf("got %v", found)
	}
}

// values are what a text says, whatever its looks: scalars with the kind that they
// have for package schema.
func values(t *testing.T, text string) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return value(doc.Content[0])
}

func value(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = value(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, value(item))
		}
		return out
	default:
		if kind, _, _ := schema.ResolveScalar(n.Value); n.Kind == yaml.ScalarNode && n.Style&^yaml.FlowStyle == 0 &&
			kind != schema.String {
			return []any{"not a text", n.Value}
		}
		return n.Value
	}
}

func FuzzFormat(f *testing.F) {
	for _, seed := range []string{messy, tidy, "a: &x [1]\nb: *x\n", "a: {b: # c\n  1}\n", "? a\n: b\n",
		"a:\n# x\n- 1\n# y\n", "a: >\n  x\n\n\n# z\n", dense, airy,
		"spec:\n\n  mode: x\n\n\n  # c\n\n  data: |+\n    y\n\nkind: z\n", "a:\n- b\n\n# c\n\n- d: 1\n\n  e: 2\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, found, err := format.Source(schema.Source{Name: "a.yaml", Data: []byte(text)})
		if err != nil || found.Refused() {
			return
		}
		twice, found, err := format.Source(schema.Source{Name: "a.yaml", Data: once})
		if err != nil || found.Refused() {
			t.Fatalf("%q became %q: %v %v", text, once, found, err)
		}
		if string(once) != string(twice) {
			t.Errorf("%q became %q, and then %q", text, once, twice)
		}
		if diff := cmp.Diff(values(t, text), values(t, string(once))); diff != "" {
			t.Errorf("%q became %q, which says something else:\n%s", text, once, diff)
		}
	})
}

// TestMarks: a text that the language reads can be laid out: with a byte order mark, and
// with two signs that are a text to it and an instruction to some readers of YAML.
func TestMarks(t *testing.T) {
	if got, want := formatted(t, "a.json", "\xef\xbb\xbf{\"a\":1}"), "{\n  \"a\": 1\n}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := formatted(t, "a.yaml", "metadata: {name: <<}\n"), "metadata: {name: \"<<\"}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
