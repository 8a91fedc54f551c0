package programs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command/programs"
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
			out = append(out, example{at: f + ":" + strconv.Itoa(i+1), line: line, argv: argvOf(command), want: strings.TrimSpace(want)})
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
			t.Errorf("%s: %s\n  starts %s\n  wanted %s\n  %v", e.at, strings.Split(e.line, " => ")[0], got, e.want, r.Refused)
		}
	}
}

// TestRowsHaveExamples keeps the tables whole: what stands in them has an example
// that starts something and one that starts nothing, and stands in one place only.
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
	seen := map[string]string{}
	rows := 0
	for at, names := range clauses(t) {
		rows++
		for _, n := range names {
			if other, dup := seen[n]; dup && other != "builtins.go" && !strings.HasPrefix(at, "builtins.go") {
				t.Errorf("%s: %s stands in %s too", at, n, other)
			}
			seen[n] = strings.Split(at, ":")[0]
		}
		if !slices.ContainsFunc(names, func(n string) bool { return attacks[n] }) {
			t.Errorf("%s: no example of %v starts anything", at, names)
		}
		if !slices.ContainsFunc(names, func(n string) bool { return benign[n] }) {
			t.Errorf("%s: no example of %v starts nothing", at, names)
		}
	}
	if rows < 100 {
		t.Errorf("%d rows were found in the sources", rows)
	}
}

// clauses gives the names of each row, read from the sources of the tables.
func clauses(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	tables := map[string][]string{
		"running_table.go": {"runningRows", "rowsRunningToo", "wrapperRows"}, "running_rare.go": {"rare"},
		"tools_table.go": {"toolRows", "rowsInteractive"}, "tools_remote.go": {"remoteRow"}, "tools_rare.go": {"rareTool"},
		"texts.go": {"Texts"}, "shells.go": {"interpreterRows"}, "build.go": {"buildRows"}, "builtins.go": {"builtinRow"},
	}
	for file, funcs := range tables {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains(funcs, f.Name.Name) {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				c, ok := n.(*ast.CaseClause)
				if !ok || len(c.Body) == 0 {
					return true
				}
				if r, ok := c.Body[0].(*ast.ReturnStmt); !ok || len(r.Results) != 2 {
					return true // it leads to another table
				}
				var names []string
				for _, e := range c.List {
					if lit, ok := e.(*ast.BasicLit); ok {
						name, err := strconv.Unquote(lit.Value)
						if err != nil {
							t.Fatal(err)
						}
						names = append(names, name)
					}
				}
				if len(names) > 0 {
					out[file+":"+strconv.Itoa(set.Position(c.Pos()).Line)] = names
				}
				return true
			})
		}
	}
	return out
}
