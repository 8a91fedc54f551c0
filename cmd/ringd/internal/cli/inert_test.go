package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// sinks are the methods of a Page that write what others say, each on a text. lines is
// how many lines come of it; 0: as many as the text has, none of which begins one.
func sinks() map[string]struct {
	lines int
	write func(p cli.Page, text string) error
} {
	type sink = struct {
		lines int
		write func(p cli.Page, text string) error
	}
	run := func(text string) wire.Run {
		r := clitest.Filled[wire.Run](text)
		r.Executor, r.ExitCode = profiles.ExecutorJS, 0
		return r
	}
	all := map[string]sink{
		"Record":      {1, func(p cli.Page, text string) error { return p.Record(clitest.Filled[audit.Entry](text), false) }},
		"Brief":       {1, func(p cli.Page, text string) error { return p.Brief(clitest.Filled[audit.Entry](text)) }},
		"Record JSON": {1, func(p cli.Page, text string) error { return p.Record(clitest.Filled[audit.Entry](text), true) }},
		"Begins":      {1, func(p cli.Page, text string) error { p.Begins(clitest.Filled[audit.Archived](text)); return nil }},
		"Verified": {0, func(p cli.Page, text string) error {
			p.Verified(clitest.Filled[audit.Report](text), text)
			return nil
		}},
		"Status":   {0, func(p cli.Page, text string) error { p.Status(clitest.Filled[wire.Status](text)); return nil }},
		"Lockdown": {0, func(p cli.Page, text string) error { p.Lockdown(clitest.Filled[wire.Lockdown](text)); return nil }},
		"Health":   {0, func(p cli.Page, text string) error { p.Health(clitest.Filled[cli.Health](text)); return nil }},
		"Question": {0, func(p cli.Page, text string) error {
			p.Question(clitest.Filled[cli.Question](text))
			return nil
		}},
		"Findings": {0, func(p cli.Page, text string) error {
			p.Line = func(string, int) (string, bool) { line, _, _ := strings.Cut(text, "\n"); return line, true }
			ds := clitest.Filled[schema.Diagnostics](text)
			for i := range ds {
				ds[i].Pos.Line, ds[i].Pos.Column = 1, 1
			}
			return p.Findings(ds)
		}},
		"Held": {0, func(p cli.Page, text string) error {
			p.Held(run(text), clitest.Filled[wire.Pending](text), text, time.Unix(0, 0))
			return nil
		}},
		"Table": {0, func(p cli.Page, text string) error {
			p.Table([]string{"RUN", "AGENT"}, []cli.Row{{Cells: []string{text, text}, Under: []string{text}}}, false)
			return nil
		}},
		"Denial": {0, func(p cli.Page, text string) error {
			d := clitest.Filled[profiles.Denial](text)
			_, err := fmt.Fprintln(p.W, cli.Denial(&d))
			return err
		}},
		"Unavailable": {0, func(p cli.Page, text string) error {
			d := clitest.Filled[profiles.Denial](text)
			_, err := fmt.Fprintln(p.W, cli.UnavailableText(&d))
			return err
		}},
		"Refused": {0, func(p cli.Page, text string) error {
			_, err := fmt.Fprintln(p.W, "ringd: "+cli.RefusalText(text))
			return err
		}},
		"Lines": {0, func(p cli.Page, text string) error {
			_, err := fmt.Fprintln(p.W, "ringd: "+cli.Lines(text))
			return err
		}},
		"Clean":   {1, func(p cli.Page, text string) error { _, err := fmt.Fprintln(p.W, cli.Clean(text)); return err }},
		"Visible": {1, func(p cli.Page, text string) error { _, err := fmt.Fprintln(p.W, cli.Visible(text)); return err }},
		"Indented": {0, func(p cli.Page, text string) error {
			_, err := fmt.Fprintln(p.W, "x"+cli.Indented(text, "  "))
			return err
		}},
	}
	// What is shown of a run depends on its executor and flags: each of them is tried.
	for _, executor := range []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell} {
		for _, set := range []bool{false, true} {
			of := func(text string) wire.Run {
				r := clitest.Filled[wire.Run](text)
				r.Executor, r.Repr, r.ExitCode = executor, set, map[bool]int{true: 1}[set]
				return r
			}
			name := fmt.Sprintf(" of %s, %t", executor, set)
			all["Run"+name] = sink{0, func(p cli.Page, text string) error { p.Run(of(text)); return nil }}
			all["Report"+name] = sink{0, func(p cli.Page, text string) error { p.Report(of(text), nil); return nil }}
			lines := 1
			if set || executor == profiles.ExecutorShell { // lines of repr, or no value
				lines = 0
			}
			all["Value"+name] = sink{lines, func(p cli.Page, text string) error { return p.Value(of(text)) }}
		}
	}
	return all
}

// TestEverySinkIsInert: whatever a program, a policy or a caller has put into any text,
// a reader gets one record as one line, no other line begins with it, and nothing that a
// terminal obeys.
func TestEverySinkIsInert(t *testing.T) {
	for name, s := range sinks() {
		for _, text := range clitest.Hostile() {
			var b bytes.Buffer
			if err := s.write(cli.Page{W: &b, Terminal: true}, text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			clitest.Check(t, name, text, b.String(), s.lines)
		}
	}
}

// TestSinksAreListed: a method of Page that is not among the sinks shows nothing of
// others, or it is one of those that are said here.
func TestSinksAreListed(t *testing.T) {
	all := sinks()
	for _, name := range []string{
		"Good", "Bad", "Middling", // words of ours, coloured
		"Hang",              // breaks what its caller has made inert: TestReportIsInert
		"Stream", "Console", // the lines of a program, which are its own: TestProgramsText
	} {
		all[name] = all[""]
	}
	for name, s := range all {
		method, _, _ := strings.Cut(name, " ")
		all[method] = s
	}
	for m := range reflect.TypeFor[cli.Page]().Methods() {
		if _, ok := all[m.Name]; !ok {
			t.Errorf("no test has Page.%s: list it among the sinks", m.Name)
		}
	}
}

// TestProgramsText: the lines of a program stay lines, and send a terminal text alone.
func TestProgramsText(t *testing.T) {
	for _, text := range clitest.Hostile() {
		var b bytes.Buffer
		p := cli.Page{W: &b, Terminal: true}
		p.Stream(wire.ConsoleEntry{Text: text + "\n"})
		p.Console(wire.ConsoleEntry{Level: "log", Text: text})
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return clitest.Hidden(r) && r != '\t' }); i >= 0 {
			t.Errorf("%q sends %q", text, b.String()[i:])
		}
		if n := strings.Count(b.String(), "\n"); n != 2+2*strings.Count(text, "\n") {
			t.Errorf("%q has become %d lines", text, n)
		}
	}
}

// TestColourIsAddedAfter: at a terminal a verdict is coloured, and what a program says
// of colours is shown.
func TestColourIsAddedAfter(t *testing.T) {
	var b bytes.Buffer
	e := clitest.Filled[audit.Entry]("\x1b[32mallow")
	if err := (cli.Page{W: &b, Terminal: true, Colour: true}).Record(e, false); err != nil {
		t.Fatal(err)
	}
	const deny = "\x1b[31mdeny\x1b[0m"
	if out := b.String(); strings.Count(out, "\x1b") != 2 || !strings.Contains(out, "  "+deny+"  ") ||
		!strings.Contains(out, `\u001b[32mallow`) {
		t.Errorf("got %q", out)
	}
}

// TestWordsOfARecord: a name cannot go on as the next word of its record.
func TestWordsOfARecord(t *testing.T) {
	var b bytes.Buffer
	if err := (cli.Page{W: &b}).Record(
		audit.Entry{Record: audit.Record{Kind: "call_decided", Run: "r1", Capability: "bridge:x  call_approved  by " +
			"uid:0"}}, false); err != nil {
		t.Fatal(err)
	}
	if words := strings.Split(strings.TrimSpace(b.String()), "  "); len(words) < 4 ||
		strings.Contains(b.String(), "  call_approved") {
		t.Errorf("got %q", b.String())
	}
}

// TestValueStaysTheSame: what is escaped in a value is the same value to a reader of JSON.
func TestValueStaysTheSame(t *testing.T) {
	for _, text := range append(clitest.Hostile(), "plain", "Zürich, 東京, نسخه\u200cها") {
		text = strings.ToValidUTF8(text, "?")
		value, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := (cli.Page{W: &b}).Value(wire.Run{Executor: profiles.ExecutorJS, Value: value}); err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got["a"] != text {
			t.Errorf("%q has become %q, %v", text, got["a"], err)
		}
	}
}
