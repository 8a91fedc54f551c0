package programs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command/programs"
	"github.com/ringd/ringd/profiles/tables"
)

// The tables in testdata have a command and what it starts in a line:
//
//	ok          nothing           no         what nobody can read
//	run WORDS   a command         sh TEXT    shell text, "-" from standard input
//	in LANGUAGE program text      set N=V    a variable        maybe  the final words decide
//
// Words are apart by blanks, quotes keep blanks in. What ends in … is known so far
// only, in …* it may be any number of words, in …< a program fills it.

type example struct {
	at   string
	line string
	argv []argv.Word
	want string
}

func examples(tb testing.TB) []example {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no examples: %v", err)
	}
	var out []example
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if line == "" || strings.HasPrefix(line, "# ") {
				continue
			}
			command, want, ok := strings.Cut(line, " => ")
			if !ok {
				tb.Fatalf("%s:%d: no outcome: %q", f, i+1, line)
			}
			out = append(out, example{at: f + ":" + strconv.Itoa(i+1), line: line, argv: argvOf(command),
				want: strings.TrimSpace(want)})
		}
	}
	return out
}

// argvOf splits a line of the tables.
func argvOf(line string) []argv.Word {
	var out []argv.Word
	var b strings.Builder
	in, quote := false, byte(0)
	flush := func() {
		if !in {
			return
		}
		w := argv.Word{Text: b.String()}
		for _, end := range []string{"…*", "…<", "…"} {
			if rest, ok := strings.CutSuffix(w.Text, end); ok {
				w = argv.Word{Text: rest, Open: true, Many: end == "…*", Fed: end == "…<"}
				break
			}
		}
		out = append(out, w)
		b.Reset()
		in = false
	}
	for i := range len(line) {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ':
			flush()
		default:
			b.WriteByte(c)
			in = true
		}
	}
	flush()
	return out
}

func show(ws []argv.Word) string {
	var out []string
	for _, w := range ws {
		t := w.Text
		if w.Open {
			t += "…"
		}
		if strings.Contains(t, " ") || t == "" {
			t = "'" + t + "'"
		}
		out = append(out, t)
	}
	return strings.Join(out, " ")
}

func outcome(r programs.Result) string {
	var out []string
	for _, c := range r.Commands {
		text := "run "
		for _, s := range c.Set {
			text += s.Name + "=" + s.Value.Text + " "
		}
		text += show(c.Words)
		if c.More {
			text += " …*"
		}
		out = append(out, text)
	}
	for _, s := range r.Scripts {
		if s.Known {
			out = append(out, "sh "+s.Text)
		} else {
			out = append(out, "sh -")
		}
	}
	for _, s := range r.Sets {
		out = append(out, "set "+s.Name+"="+s.Value.Text)
	}
	if r.Stdin != "" {
		out = append(out, "in "+r.Stdin)
	}
	if r.Maybe {
		out = append(out, "maybe")
	}
	if len(r.Refused) > 0 {
		out = append(out, "no")
	}
	if len(out) == 0 {
		return "ok"
	}
	return strings.Join(out, " + ")
}

func TestTable(t *testing.T) {
	all := examples(t)
	if len(all) < 400 {
		t.Errorf("%d examples, at least 400", len(all))
	}
	for _, e := range all {
		r := programs.Of(argv.Command{Words: e.argv})
		if got := outcome(r); got != e.want {
			t.Errorf("%s: %s\n  starts %s\n  wanted %s\n  %v", e.at, strings.Split(e.line, " => ")[0], got, e.want,
				r.Refused)
		}
	}
}

// TestRowsHaveExamples keeps the table whole: each row of programs has an example that starts
// something and one that starts nothing.
func TestRowsHaveExamples(t *testing.T) {
	attacks, benign := map[string]bool{}, map[string]bool{}
	for _, e := range examples(t) {
		name := filepath.Base(e.argv[0].Text)
		if e.want == "ok" {
			benign[name] = true
		} else {
			attacks[name] = true
		}
	}
	rows := 0
	for _, row := range parsed(t, "programs.txt") {
		if strings.Contains(row.Names[0], ":") {
			continue // a part of a program
		}
		rows++
		shows := func(of map[string]bool) bool {
			return slices.ContainsFunc(row.Names, func(name string) bool {
				prefix, any := strings.CutSuffix(name, "*")
				return of[name] || any && slices.ContainsFunc(slices.Collect(maps.Keys(of)), func(n string) bool {
					return strings.HasPrefix(n, prefix)
				})
			})
		}
		if !shows(attacks) {
			t.Errorf("line %d: no example of %v starts anything", row.Line, row.Names)
		}
		if !shows(benign) {
			t.Errorf("line %d: no example of %v starts nothing", row.Line, row.Names)
		}
	}
	if rows < 200 {
		t.Errorf("%d rows were found in the table", rows)
	}
}

// parsed reads a table of this package.
func parsed(t *testing.T, name string) []tables.Row {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tables.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestRows: each row of the tables is well-formed, and its lines fit.
func TestRows(t *testing.T) {
	if err := programs.Tables(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"programs.txt", "gitkeys.txt", "inline.txt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for line := range strings.SplitSeq(string(text), "\n") {
			number++
			if len([]rune(strings.ReplaceAll(line, "\t", "    "))) > 120 {
				t.Errorf("%s:%d: more than 120 columns", name, number)
			}
		}
	}
	for _, row := range parsed(t, "inline.txt") {
		for _, f := range row.Fields {
			if _, err := regexp.Compile(strings.Join(f.Lines, "")); err != nil {
				t.Errorf("inline.txt:%d: %v", f.Line, err)
			}
		}
	}
}

// TestMalformed: a table of programs that is not well-formed is refused.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"x\n\toptions -a,--all= -p=program\n": "",
		"x\n\toptions a\n":                    "x: line 2: options: a is no option",
		"x\n\toptions -a -a=\n":               "x: line 2: options: -a stands there twice",
		"x\n\toptions -a=Program\n":           "x: line 2: options: -a=Program is no option",
		"x\n\toptions -exec;\n":               "x: line 2: options: a value or a meaning that this table does not have",
		"x\n\toption -a\n":                    "x: line 2: option: no such field",
		"x\n\toptions\n":                      "x: line 2: options: nothing follows",
		"x\n\toperands all\n":                 "x: line 2: operands: no such operands",
		"x\n\toperands command x\n":           "x: line 2: operands: x is no number of operands",
		"x\n\tflags exact\n":                  "x: line 2: flags: exact is no flag",
		"x\n\trefuse -a\n":                    "line 1: x: words are refused without a reason",
		"x\n\treader nothing\n":               "x: no code reads it: nothing",
		"y\nx\n":                              "line 2: x is not in its place in the alphabet",
		"x\ny x\n":                            "line 2: x has another row",
	} {
		got := ""
		if err := programs.Malformed(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestRemovedRow shows that the examples notice a row that is gone: without any one of the rows
// of programs, the outcome of an example changes.
func TestRemovedRow(t *testing.T) {
	all := examples(t)
	for _, row := range parsed(t, "programs.txt") {
		if strings.Contains(row.Names[0], ":") {
			continue
		}
		of := programs.Without(row.Names)
		noticed := slices.ContainsFunc(all, func(e example) bool {
			return e.want != "ok" && !e.argv[0].Open && outcome(of(e.argv)) != e.want
		})
		if !noticed {
			t.Errorf("no example notices that %v has no row", row.Names)
		}
	}
}
