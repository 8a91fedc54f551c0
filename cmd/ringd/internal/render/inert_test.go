package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// forged is what a line says that somebody else has put into a text.
const forged = "FORGED"

// hostile texts would begin a line of their own, move the cursor, turn text around or
// hide.
func hostile() []string {
	line := "\n" + forged + "     7  2026-11-23T00:00:00.000Z  call_approved    rforged  c1  bridge:pay  by uid:0"
	return []string{
		"x" + line, "x\r" + line[1:], "x" + line + "\n", "x\n\n" + line + "\ny", "\x1b[2J\x1b[31mred\x1b]0;title\a", "\u009b31m\u0085" + forged, "\u202egnp.exe\u2066", "a\u200bb\ufeffc\u2060d",
		"\x7f\b\b\x00\v\f", "\u2028" + forged + "\u2029", "tab\there", "  two  spaces  ", "\xff\xfe\x9b", strings.Repeat("long ", 40) + line, "\U000e0041\u061c",
	}
}

// hidden is what no terminal may get.
func hidden(r rune) bool {
	return r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// fill sets every text of v, its maps and lists among them.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(uint64(profiles.Deny))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			b, _ := json.Marshal(text)
			v.SetBytes(b)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), text)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(value, text)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1e9, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), text)
			}
		}
	}
}

func filled[T any](text string) (v T) {
	fill(reflect.ValueOf(&v).Elem(), text)
	return v
}

// sinks are the methods of a Page that write what others say, each on a text. lines is
// how many lines come of it; 0: as many as the text has, none of which begins one.
func sinks() map[string]struct {
	lines int
	write func(p render.Page, text string) error
} {
	type sink = struct {
		lines int
		write func(p render.Page, text string) error
	}
	run := func(text string) wire.Run {
		r := filled[wire.Run](text)
		r.Executor, r.ExitCode = profiles.ExecutorJS, 0
		return r
	}
	return map[string]sink{
		"Record":      {1, func(p render.Page, text string) error { return p.Record(filled[audit.Entry](text), false) }},
		"Record JSON": {1, func(p render.Page, text string) error { return p.Record(filled[audit.Entry](text), true) }},
		"Begins":      {1, func(p render.Page, text string) error { p.Begins(filled[audit.Archived](text)); return nil }},
		"Verified":    {0, func(p render.Page, text string) error { p.Verified(filled[audit.Report](text), text); return nil }},
		"Status":      {0, func(p render.Page, text string) error { p.Status(filled[wire.Status](text)); return nil }},
		"Lockdown":    {0, func(p render.Page, text string) error { p.Lockdown(filled[wire.Lockdown](text)); return nil }},
		"Health":      {0, func(p render.Page, text string) error { p.Health(filled[render.Health](text)); return nil }},
		"Question":    {0, func(p render.Page, text string) error { p.Question(filled[render.Question](text)); return nil }},
		"Findings":    {0, func(p render.Page, text string) error { return p.Findings(filled[schema.Diagnostics](text)) }},
		"Run":         {0, func(p render.Page, text string) error { p.Run(run(text)); return nil }},
		"Held": {0, func(p render.Page, text string) error {
			p.Held(run(text), filled[wire.Pending](text), text, time.Unix(0, 0))
			return nil
		}},
		"Table": {0, func(p render.Page, text string) error {
			p.Table([]string{"RUN", "AGENT"}, []render.Row{{Cells: []string{text, text}, Under: []string{text}}}, false)
			return nil
		}},
		"Report": {0, func(p render.Page, text string) error { p.Report(run(text), nil); return nil }},
		"Value":  {1, func(p render.Page, text string) error { r := run(text); r.Repr = false; return p.Value(r) }},
		"Denial": {0, func(p render.Page, text string) error {
			d := filled[profiles.Denial](text)
			_, err := fmt.Fprintln(p.W, render.Denial(&d))
			return err
		}},
		"Unavailable": {0, func(p render.Page, text string) error {
			d := filled[profiles.Denial](text)
			_, err := fmt.Fprintln(p.W, render.Unavailable(&d))
			return err
		}},
		"Refused": {0, func(p render.Page, text string) error {
			_, err := fmt.Fprintln(p.W, "ringd: "+render.Refused(text))
			return err
		}},
		"Lines": {0, func(p render.Page, text string) error {
			_, err := fmt.Fprintln(p.W, "ringd: "+render.Lines(text))
			return err
		}},
		"Clean":   {1, func(p render.Page, text string) error { _, err := fmt.Fprintln(p.W, render.Clean(text)); return err }},
		"Visible": {1, func(p render.Page, text string) error { _, err := fmt.Fprintln(p.W, render.Visible(text)); return err }},
		"Indented": {0, func(p render.Page, text string) error {
			_, err := fmt.Fprintln(p.W, "x"+render.Indented(text, "  "))
			return err
		}},
	}
}

// TestEverySinkIsInert: whatever a program, a policy or a caller has put into any text,
// a reader gets one record as one line, no other line begins with it, and nothing that a
// terminal obeys.
func TestEverySinkIsInert(t *testing.T) {
	for name, s := range sinks() {
		for _, text := range hostile() {
			var b bytes.Buffer
			if err := s.write(render.Page{W: &b, Terminal: true}, text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			out := b.String()
			if i := strings.IndexFunc(out, func(r rune) bool { return hidden(r) && r != '\t' }); i >= 0 {
				t.Errorf("%s of %q sends %q", name, text, out[max(0, i-20):min(len(out), i+20)])
			}
			if n := strings.Count(out, "\n"); s.lines > 0 && (n != s.lines || strings.Contains(out, "\t")) {
				t.Errorf("%s of %q is %d lines: %q", name, text, n, out)
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, forged) {
					t.Errorf("%s of %q has a line that begins with it: %q", name, text, out)
				}
			}
		}
	}
}

// TestSinksAreListed: a method of Page that is not among the sinks shows nothing of
// others, or it is one of those that are said here.
func TestSinksAreListed(t *testing.T) {
	all := sinks()
	for _, name := range []string{
		"Good", "Bad", "Middling", // words of ours, coloured
		"Stream", "Console", // the lines of a program, which are its own: TestProgramsText
	} {
		all[name] = all[""]
	}
	for m := range reflect.TypeFor[render.Page]().Methods() {
		if _, ok := all[m.Name]; !ok {
			t.Errorf("no test has Page.%s: list it among the sinks", m.Name)
		}
	}
}

// TestProgramsText: the lines of a program stay lines, and send a terminal text alone.
func TestProgramsText(t *testing.T) {
	for _, text := range hostile() {
		var b bytes.Buffer
		p := render.Page{W: &b, Terminal: true}
		p.Stream(wire.ConsoleEntry{Text: text + "\n"})
		p.Console(wire.ConsoleEntry{Level: "log", Text: text})
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return hidden(r) && r != '\t' }); i >= 0 {
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
	e := filled[audit.Entry]("\x1b[32mallow")
	if err := (render.Page{W: &b, Terminal: true, Colour: true}).Record(e, false); err != nil {
		t.Fatal(err)
	}
	const deny = "\x1b[31mdeny\x1b[0m"
	if out := b.String(); strings.Count(out, "\x1b") != 2 || !strings.Contains(out, "  "+deny+"  ") || !strings.Contains(out, `\u001b[32mallow`) {
		t.Errorf("got %q", out)
	}
}

// TestWordsOfARecord: a name cannot go on as the next word of its record.
func TestWordsOfARecord(t *testing.T) {
	var b bytes.Buffer
	if err := (render.Page{W: &b}).Record(audit.Entry{Record: audit.Record{Kind: "call_decided", Run: "r1", Capability: "bridge:x  call_approved  by uid:0"}}, false); err != nil {
		t.Fatal(err)
	}
	if words := strings.Split(strings.TrimSpace(b.String()), "  "); len(words) < 4 || strings.Contains(b.String(), "  call_approved") {
		t.Errorf("got %q", b.String())
	}
}

// TestValueStaysTheSame: what is escaped in a value is the same value to a reader of JSON.
func TestValueStaysTheSame(t *testing.T) {
	for _, text := range append(hostile(), "plain", "Zürich, 東京, نسخه\u200cها") {
		text = strings.ToValidUTF8(text, "?")
		value, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := (render.Page{W: &b}).Value(wire.Run{Executor: profiles.ExecutorJS, Value: value}); err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got["a"] != text {
			t.Errorf("%q has become %q, %v", text, got["a"], err)
		}
	}
}
