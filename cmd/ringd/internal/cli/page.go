// This file writes what commands show: findings, runs, records and status,
// as text for people and as JSON or SARIF for machines.
//
// It colours only when told that it may, and shows the control characters of
// programs instead of sending them. The commands call it; it decides nothing.

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/schema"
)

// Page is where text goes.
type Page struct {
	W      io.Writer
	Colour bool // W is a terminal that wants colour

	Terminal bool // W is a terminal

	// Line gives a line of a file that findings name, from 1, without its end; nil: no
	// lines are shown.
	Line func(file string, line int) (text string, ok bool)
}

func (p Page) style(s, text string) string {
	if !p.Colour {
		return text
	}
	return s + text + safetext.Plain
}

// Good and Bad mark a state.
func (p Page) Good(text string) string { return p.style(safetext.Green, text) }

// Bad marks a state that refuses.
func (p Page) Bad(text string) string { return p.style(safetext.Red, text) }

// Middling marks a state that is neither.
func (p Page) Middling(text string) string { return p.style(safetext.Yellow, text) }

// JSON writes v, indented, with a newline, and sends a terminal nothing that does
// not show.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		_, err = io.WriteString(w, escaped(b.String()))
	}
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// escaped is JSON of the same value in which everything that does not show is an
// escape: people read it at terminals, too. Beyond ASCII there are strings only.
func escaped(text string) string {
	hidden := func(r rune) bool { return r >= 0x7f && (!unicode.IsPrint(r) || blank(r)) }
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			safetext.Escape(&b, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Clean makes a word of somebody else fit for one line of a terminal: control characters
// are shown, not sent, newline and tab among them. Colour is added after it.
func Clean(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Block(s))
}

// Block is Clean for text of several lines: newline and tab stay. Its caller folds it,
// or indents its further lines, so that none of them stands where a record begins.
func Block(s string) string {
	if !strings.ContainsFunc(s, safetext.Hostile) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if safetext.Hostile(r) {
			b.WriteString(shown(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shown is a character that is not to be shown, in letters.
func shown(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Findings writes findings as contract.md has them; warnings are marked. At a terminal
// they are broken at 80 columns, but never between place and code, which editors read, and
// show the line where p has it.
// Elsewhere every line stays whole, for grep.
func (p Page) Findings(ds schema.Diagnostics) error {
	for _, d := range ds {
		if _, err := io.WriteString(p.W, p.finding(d)); err != nil {
			return fmt.Errorf("write findings: %w", err)
		}
	}
	return nil
}

func (p Page) finding(d schema.Diagnostic) string {
	code, colour, marked := Clean(d.Code), safetext.Red, ""
	if d.Severity == schema.Warning {
		colour, marked = safetext.Yellow, ": warning"
	}
	place := ""
	if d.Pos.File != "" {
		place = Visible(d.Pos.String()) + ": "
	}
	var b strings.Builder
	b.WriteString(place + p.style(colour, code) + marked + ":")
	b.WriteString(p.after(columnsOf(place+code+marked+":"), d.Msg) + "\n")
	b.WriteString(p.excerpt(d.Pos))
	if d.Hint != "" {
		b.WriteString("    hint:" + p.after(len("    hint:"), d.Hint) + "\n")
	}
	if also := others(d.Pos, d.Msg, d.Related); also != "" {
		b.WriteString("    also: " + p.Hang(len("    also: "), also, "      ") + "\n")
	}
	return b.String()
}

// others are the other places of a finding, on a line, each once; without those that its
// message names.
func others(at schema.Pos, msg string, related []schema.Pos) string {
	var out []string
	for _, other := range related {
		text := Visible(other.String())
		if other != at && !named(at, msg, other) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// named reports whether a message says where other is: its place, or the number of its
// line where that is another line of the same file.
func named(at schema.Pos, msg string, other schema.Pos) bool {
	if says(msg, other.String()) {
		return true
	}
	return other.File == at.File && other.Line != at.Line &&
		(says(msg, fmt.Sprintf("line %d", other.Line)) || says(msg, fmt.Sprintf("at %d:%d", other.Line, other.Column)))
}

// says reports whether words stand in a text, and not as the begin of a longer number.
func says(text, words string) bool {
	for {
		_, rest, ok := strings.Cut(text, words)
		if !ok {
			return false
		}
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			return true
		}
		text = rest
	}
}

// after is a text that stands behind so many columns of its first line. Its further
// lines are indented: none looks like a finding of its own. At a terminal a line that
// does not fit is broken between words.
func (p Page) after(columns int, text string) string {
	if !p.Terminal {
		return " " + further(text)
	}
	const indent = "      "
	var out []string
	for i, line := range strings.Split(strings.TrimRight(Block(text), "\n"), "\n") {
		taken := len(indent)
		if i == 0 {
			taken = columns + 1
		}
		switch {
		case taken+columnsOf(line) <= width:
			out = append(out, line)
		case i == 0 && taken+columnsOf(firstWord(line)) > width:
			out = append(append(out, ""), fold(line, width-len(indent))...)
		default:
			out = append(out, foldAfter(line, width-taken, width-len(indent))...)
		}
	}
	return strings.TrimRight(" "+out[0], " ") + strings.Join(append([]string{""}, out[1:]...), "\n"+indent)
}

// further is a text whose further lines stand under the first: none looks like a finding
// of its own.
func further(text string) string {
	return Indented(strings.TrimRight(text, "\n"), "      ")
}

// Indented is Block with its further lines behind indent.
func Indented(text, indent string) string {
	return strings.ReplaceAll(Block(text), "\n", "\n"+indent)
}

// Lines is Block in which every further line is indented that is not so already.
func Lines(text string) string {
	lines := strings.Split(Block(text), "\n")
	for i, l := range lines {
		if i > 0 && l != "" && l[0] != ' ' && l[0] != '\t' {
			lines[i] = "    " + l
		}
	}
	return strings.Join(lines, "\n")
}

// Count words a number: 1 finding, 2 findings.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
