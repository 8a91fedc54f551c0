package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema"
)

// TestExcerpt: a finding at a terminal shows its line, with a caret below the place, in 80
// columns and without what moves a cursor; elsewhere, and where there is no line, none.
func TestExcerpt(t *testing.T) {
	wide := strings.Repeat("a: b, ", 2000) + "memory: 1GB" + strings.Repeat(", c: d", 100_000)
	lines := map[string]string{
		"plain":  "      limits: {memory: 1GB}",
		"tab":    "\tmemory: 1GB\r",
		"wide":   wide,
		"umlaut": `owner: "ö", memory: 1GB`,
		"han":    `名: "名", memory: 1GB`,
		"escape": "a\x1b[31m\u202e\u009b: 1GB",
		"nul":    "\x00a: 1GB",
		"bytes":  "\xff\xfe: 1GB",
		"end":    "memory: ",
	}
	show := func(name string, column int, terminal bool) string {
		var b bytes.Buffer
		page := cli.Page{W: &b, Terminal: terminal, Line: func(file string, line int) (string, bool) {
			text, ok := lines[file]
			return text, ok && line == 7
		}}
		at := schema.Pos{File: name, Line: 7, Column: column}
		if err := page.Findings(schema.Diagnostics{{Pos: at, Code: "schema", Msg: "m", Hint: "h"}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const hint = "    hint: h\n"
	for name, want := range map[string]string{
		"plain":  "     7 |       limits: {memory: 1GB}\n       |                        ^\n",
		"tab":    "     7 |  memory: 1GB\n       |          ^\n",
		"umlaut": "     7 | owner: \"ö\", memory: 1GB\n       |                     ^\n",
		"escape": "     7 | a\\u001b[31m\\u202e\\u009b: 1GB\n       |" + strings.Repeat(" ", 26) + "^\n",
		"nul":    "", "bytes": "", "unknown": "",
	} {
		column := max(strings.Index(lines[name], "1GB"), 0) + 1
		if got := show(name, column, true); got != name+":7:"+strings.Split(got, ":")[2]+": schema: m\n"+want+hint {
			t.Errorf("%s:\n%swant\n%s", name, got, want)
		}
		if got := show(name, column, false); strings.Count(got, "\n") != 2 {
			t.Errorf("%s in a pipe:\n%s", name, got)
		}
	}
	if got := show("end", len("memory: ")+1, true); !strings.Contains(got, "     7 | memory: \n       |         ^\n") {
		t.Errorf("at the end of a line:\n%s", got)
	}
	for _, column := range []int{0, -1, len(lines["end"]) + 2, 1 << 30} {
		if got := show("end", column, true); strings.Contains(got, "|") {
			t.Errorf("column %d:\n%s", column, got)
		}
	}
	for _, name := range []string{"wide", "han"} {
		got := strings.Split(show(name, strings.Index(lines[name], "1GB")+1, true), "\n")
		line, caret := []rune(got[1]), strings.Index(got[2], "^") // of letters that are one byte each
		if wideRunes := strings.Count(got[1], "名"); caret < 0 || len(line)+wideRunes > 80 ||
			string(line[caret-wideRunes:caret-wideRunes+3]) != "1GB" {
			t.Errorf("%s:\n%s", name, strings.Join(got, "\n"))
		}
	}
}
