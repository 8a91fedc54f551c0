package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a b c é 日", "a b c é 日"},
		{"another line", "a b\n\tc é 日", `a b\n\tc é 日`},
		{"colour", "\x1b[31mred", `\u001b[31mred`},
		{"title and bell", "\x1b]0;t\a", `\u001b]0;t\u0007`},
		{"return hides the line before", "ok\rdenied", `ok\u000ddenied`},
		{"C1", "\u009b31m", `\u009b31m`},
		{"text turned around", "\u202eback", `\u202eback`},
		{"marks of direction", "a\u200e\u200f\u061cb", `a\u200e\u200f\u061cb`},
		{"isolate", "\u2066x\u2069", `\u2066x\u2069`},
		{"delete", "\x7f", `\u007f`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cli.Clean(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// No control character of a program reaches the page, in whatever field.
func TestPageIsClean(t *testing.T) {
	evil := "\x1b[2J\x07\u202e"
	var b bytes.Buffer
	p := cli.Page{W: &b}
	p.Console(wire.ConsoleEntry{Level: "log", Text: evil})
	p.Run(wire.Run{State: "failed", Error: &wire.RunError{Name: evil, Message: evil,
		Frames: []wire.Frame{{Function: evil, File: evil}}}})
	p.Report(wire.Run{ID: "r1"}, nil)
	findings := []wire.Diagnostic{
		{File: evil, Code: "x", Message: evil, Hint: evil, Related: []wire.Place{{File: evil}}}}
	p.Status(wire.Status{Conditions: []wire.Condition{{Code: "x", Message: evil}},
		LastPush: &wire.Push{Findings: findings}})
	if err := p.Findings(schema.Diagnostics{
		{Pos: schema.Pos{File: evil, Line: 1, Column: 1}, Code: "x", Msg: evil, Hint: evil}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r != '\n' && (unicode.IsControl(r) || r == '\u202e') {
			t.Fatalf("%q reached the page:\n%q", r, b.String())
		}
	}
}

// Why a push was refused fits a terminal.
func TestStatusIsNarrow(t *testing.T) {
	var b bytes.Buffer
	cli.Page{W: &b}.Status(wire.Status{LastPush: &wire.Push{
		Result: wire.PushRejected, Message: strings.Repeat("two words ", 30)}})
	for line := range strings.Lines(b.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// Of a finding the other place and what to do stand below it, in the status as elsewhere.
func TestStatusShowsFindings(t *testing.T) {
	var b bytes.Buffer
	findings := []wire.Diagnostic{
		{File: "a.yaml", Line: 3, Column: 5, Code: "widens-parent", Message: "too wide", Hint: "remove it", Severity: "error", Related: []wire.Place{{File: "org.yaml", Line: 7, Column: 9}}},
		{File: "a.yaml", Line: 4, Column: 1, Code: "x", Message: "unwise", Severity: "warning"},
	}
	cli.Page{W: &b}.Status(wire.Status{LastPush: &wire.Push{Findings: findings}})
	want := "  a.yaml:3:5: widens-parent: too wide\n      hint: remove it\n      also: org.yaml:7:9\n  a.yaml:4:1: " +
		"x: warning: unwise\n"
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("got\n%s", b.String())
	}
}

func TestColour(t *testing.T) {
	for _, colour := range []bool{false, true} {
		var b bytes.Buffer
		cli.Page{W: &b, Colour: colour}.Console(wire.ConsoleEntry{Level: "error", Text: "x"})
		if got := strings.Contains(b.String(), "\x1b["); got != colour {
			t.Errorf("colour %v: %q", colour, b.String())
		}
	}
}
