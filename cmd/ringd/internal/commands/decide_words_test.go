package commands

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
)

// TestActionsOfDocuments: the table of actions in POLICY.md has each action with its
// fields, and its words say what its JSON says.
func TestActionsOfDocuments(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/POLICY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Decisions\n")
	var kinds []string
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		plain := func(s string) string { return strings.Trim(s, "|` ") }
		kind := plain(cells[0])
		kinds = append(kinds, kind)
		_, err := profiles.DecodeAction([]byte(`{"` + kind + `":{"nosuch":1}}`))
		if err == nil {
			t.Fatalf("%s takes every field", kind)
		}
		_, has, _ := strings.Cut(err.Error(), "it has ")
		for _, field := range strings.Split(has, ", ")[:min(6, len(strings.Split(has, ", ")))] {
			if !strings.Contains(cells[1], "`"+field+"`") {
				t.Errorf("%s: the field %s is missing", kind, field)
			}
		}
		for i, s := range strings.Split(cells[1], "`") {
			if i%2 == 1 && !strings.Contains(", "+has+", ", ", "+s+", ") {
				t.Errorf("%s has no field %s: %v", kind, s, err)
			}
		}
		want, err := profiles.DecodeAction([]byte(plain(cells[2])))
		if err != nil {
			t.Errorf("%s: %v", cells[2], err)
		}
		got, err := parseWords(wordsOf(plain(cells[3])))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", cells[3], err, diff)
		}
	}
	if len(kinds) == 0 {
		t.Fatal("POLICY.md has no table of actions")
	}
	_, err = profiles.DecodeAction([]byte(`{"nosuch":{}}`))
	if want := "want " + strings.Join(kinds[:len(kinds)-1], ", ") + " or " + kinds[len(kinds)-1]; err == nil ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, and the table has %v", err, kinds)
	}
}

// wordsOf splits as a shell does, at blanks outside of single quotes.
func wordsOf(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

func TestSpoken(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"import js lodash", `{"import":{"executor":"js","module":"lodash"}}`},
		{"egress api.example.com", `{"egress":{"host":"api.example.com"}}`},
		{"egress [::1]:8080", `{"egress":{"host":"::1","port":8080}}`},
		{"exec git log --oneline", `{"exec":{"argv":["git","log","--oneline"]}}`},
		{"variable A=b=c", `{"variable":{"name":"A","value":"b=c"}}`},
		{`'{"bridge":{"name":"a"}}'`, `{"bridge":{"name":"a"}}`},
	} {
		want, err := profiles.DecodeAction([]byte(c.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseWords(wordsOf(c.words))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.words, err, diff)
		}
	}
	for words, want := range map[string]string{
		"policy.yaml": "give the policy with -p", "import": "is not an action", "import a b c": "is not an action", "file read": "is not an action",
		"file see /a": "op", "egress a:b": "is not a port", "egress": "is not an action", "variable A": "is not an action", "exec": "is not an action",
		"imprt pandas": `"imprt pandas" is not an action`, "egress https://a": "",
	} {
		if _, err := parseWords(strings.Fields(words)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", words, err, want)
		}
	}
}
