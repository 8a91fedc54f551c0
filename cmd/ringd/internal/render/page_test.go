package render_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a b\n\tc é 日", "a b\n\tc é 日"},
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
			if got := render.Clean(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// No control character of a program reaches the page, in whatever field.
func TestPageIsClean(t *testing.T) {
	evil := "\x1b[2J\x07\u202e"
	var b bytes.Buffer
	p := render.Page{W: &b}
	p.Console(wire.ConsoleEntry{Level: "log", Text: evil})
	p.Run(wire.Run{State: "failed", Error: &wire.RunError{Name: evil, Message: evil, Frames: []wire.Frame{{Function: evil, File: evil}}}})
	p.Report(wire.Run{ID: "r1"}, nil)
	p.Status(wire.Status{Conditions: []wire.Condition{{Code: "x", Message: evil}}})
	if err := p.Findings(schema.Diagnostics{{Pos: schema.Pos{File: evil, Line: 1, Column: 1}, Code: "x", Msg: evil, Hint: evil}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r != '\n' && (unicode.IsControl(r) || r == '\u202e') {
			t.Fatalf("%q reached the page:\n%q", r, b.String())
		}
	}
}

func TestColour(t *testing.T) {
	for _, colour := range []bool{false, true} {
		var b bytes.Buffer
		render.Page{W: &b, Colour: colour}.Console(wire.ConsoleEntry{Level: "error", Text: "x"})
		if got := strings.Contains(b.String(), "\x1b["); got != colour {
			t.Errorf("colour %v: %q", colour, b.String())
		}
	}
}
