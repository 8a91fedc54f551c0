package tables_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/tables"
)

func TestParse(t *testing.T) {
	rows, err := tables.Parse("# a comment\n\nnice gnice\n\talso onice\n\tflags\n\toptions -n,--adjustment=\n\t\t-v " +
		"-a>-r -D:-d,-f -e;\nrm\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []tables.Row{
		{Names: []string{"nice", "gnice", "onice"}, Line: 3, Fields: []tables.Field{
			{Key: "flags", Lines: []string{""}, Line: 5},
			{Key: "options", Lines: []string{"-n,--adjustment=", "-v -a>-r -D:-d,-f -e;"}, Line: 6},
		}},
		{Names: []string{"rm"}, Line: 8},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	options, err := rows[0].Fields[1].Options()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]tables.Option{
		{Names: []string{"-n", "--adjustment"}, Value: tables.Next},
		{Names: []string{"-v"}},
		{Names: []string{"-a"}, Means: []string{"-r"}},
		{Names: []string{"-D"}, Means: []string{"-d", "-f"}, Only: true},
		{Names: []string{"-e"}, Value: tables.Until},
	}, options); diff != "" {
		t.Error(diff)
	}
}

// TestMalformed: each mistake is refused, with its line.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"\tflags x\n":          "line 1: it belongs to no row",
		"a\n\t\tx\n":           "line 2: it goes on with no field",
		"a\n\t\t\tx\n":         "line 2: it belongs to no row",
		"a \n":                 "line 1: a blank too many, or nothing",
		"a\n x\n":              "line 2: a blank too many, or nothing",
		"a\n\tflags  x\n":      "line 2: a blank too many, or nothing",
		"a\n\t\n":              "line 2: a blank too many, or nothing",
		"b\na\n":               "line 2: a is not in its place in the alphabet",
		"a\na\n":               "line 2: a is not in its place in the alphabet",
		"a b\nc b\n":           "line 2: b has another row",
		"a\n\talso b\nc b\n":   "line 3: b has another row",
		"a a\n":                "line 1: a has another row",
		"a\n\tx y\r\n":         "line 2: a blank too many, or nothing",
		"a\n\tflags x\n\t#x\n": "",
	} {
		got := ""
		if _, err := tables.Parse(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for word, ok := range map[string]bool{
		"-a": true, "-a,--all": true, "-a=!": true, "-a~": true, "-a?shell": true, "-a=two-words": true, "-#": true, "-": true,
		"a": false, "-a,": false, "-a,b": false, "-a=B": false, "-a==": false, "-a=!x": false, "-a>": false, "-a>b": false,
		"-a:-b": true, "-a=x!": false, "-a>-b!": true, "": false,
	} {
		_, err := tables.Field{Key: "options", Lines: []string{word}}.Options()
		if word != "" && (err == nil) != ok {
			t.Errorf("%q: %v", word, err)
		}
	}
	if _, err := (tables.Field{Lines: []string{"-a -b,-a"}}).Options(); err == nil {
		t.Error("an option that stands there twice is not refused")
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, word string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "a", true}, {"a*", "abc", true}, {"a*", "ba", false}, {"*", "", true},
		{"*a", "ba", true}, {"*a", "ab", false}, {"*a*", "bac", true}, {"a*b*c", "a-b-c", true}, {"a*b*c", "acb", false},
		{"ab*ba", "aba", false}, {"", "", true}, {"", "a", false},
	} {
		if got := tables.Match(tt.pattern, tt.word); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.word, got)
		}
	}
}

// FuzzParse: no text makes the parser panic, and what it takes it takes again the same way.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"../argv/options.txt", "../command/variables.txt",
		"../command/programs/gitkeys.txt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := tables.Parse(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, row := range rows {
			for _, name := range row.Names {
				if name == "" || seen[name] {
					t.Errorf("%q: a name without text, or twice", name)
				}
				seen[name] = true
			}
			for _, field := range row.Fields {
				options, err := field.Options()
				for _, o := range options {
					if err == nil && (len(o.Names) == 0 || strings.ContainsAny(strings.Join(o.Names, ""), "=?; ")) {
						t.Errorf("%v", o)
					}
				}
			}
		}
	})
}
