// Page prints results of commands: findings, runs, records and status, as text for people and as JSON or
// SARIF for machines. It uses colour only if allowed, and shows control characters of programs instead of
// sending them. The commands call it.

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

// Page is an output stream.
type Page struct {
	W      io.Writer
	Colour bool // W is a terminal that accepts colour

	Terminal bool // W is a terminal

	// Line returns a line of a file that findings name, from 1, without its newline. If it is nil, no lines
	// are shown.
	Line func(file string, line int) (text string, ok bool)
}

func (p Page) style(s, text string) string {
	if !p.Colour {
		return text
	}
	return s + text + safetext.Plain
}

// Good styles a good state.
func (p Page) Good(text string) string { return p.style(safetext.Green, text) }

// Bad styles a state that refuses.
func (p Page) Bad(text string) string { return p.style(safetext.Red, text) }

// Middling styles a state in between.
func (p Page) Middling(text string) string { return p.style(safetext.Yellow, text) }

// JSON writes v, indented, with a newline, and with invisible characters escaped.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		_, err = io.WriteString(w, escapeJSON(b.String()))
	}
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// escapeJSON returns the same JSON with invisible characters escaped, because people also read it at terminals.
// Only strings have characters beyond ASCII.
func escapeJSON(text string) string {
	hidden := func(r rune) bool { return r >= 0x7f && (!unicode.IsPrint(r) || isInvisible(r)) }
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

// Clean makes foreign text safe for one line of a terminal: control characters, including newline and tab,
// are replaced by visible text. Styles are added afterwards.
func Clean(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Block(s))
}

// Block is Clean for text of several lines, and keeps newline and tab. The caller folds it or indents its
// further lines, so that none looks like a record.
func Block(s string) string {
	if !strings.ContainsFunc(s, safetext.Hostile) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if safetext.Hostile(r) {
			b.WriteString(visibleRune(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// visibleRune returns a visible text for a character that must not be sent.
func visibleRune(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Findings prints findings in the format of contract.md, with warnings marked. At a terminal it breaks them
// at 80 columns, but never between place and code, which editors parse, and it shows the source line if p has
// it. Otherwise every finding stays on one line, for grep.
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
	b.WriteString(p.indentAfter(displayWidth(place+code+marked+":"), d.Msg) + "\n")
	b.WriteString(p.excerpt(d.Pos))
	if d.Hint != "" {
		b.WriteString("    hint:" + p.indentAfter(len("    hint:"), d.Hint) + "\n")
	}
	if also := otherPlaces(d.Pos, d.Msg, d.Related); also != "" {
		b.WriteString("    also: " + p.Hang(len("    also: "), also, "      ") + "\n")
	}
	return b.String()
}

// otherPlaces formats the other places of a finding on a line, each once, without those that its message names.
func otherPlaces(at schema.Pos, msg string, related []schema.Pos) string {
	var out []string
	for _, other := range related {
		text := Visible(other.String())
		if other != at && !isNamed(at, msg, other) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// isNamed reports whether a message names other: by its place, or by its line number if it is in the same file.
func isNamed(at schema.Pos, msg string, other schema.Pos) bool {
	if containsWords(msg, other.String()) {
		return true
	}
	return other.File == at.File && other.Line != at.Line &&
		(containsWords(msg, fmt.Sprintf("line %d", other.Line)) ||
			containsWords(msg, fmt.Sprintf("at %d:%d", other.Line, other.Column)))
}

// containsWords reports whether a text contains words, not as the start of a longer number.
func containsWords(text, words string) bool {
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

// indentAfter formats a text after a prefix of so many columns. Further lines are indented, so that none looks like
// a finding. At a terminal a long line is broken between words.
func (p Page) indentAfter(columns int, text string) string {
	if !p.Terminal {
		return " " + indentFurther(text)
	}
	const indent = "      "
	var out []string
	for i, line := range strings.Split(strings.TrimRight(Block(text), "\n"), "\n") {
		taken := len(indent)
		if i == 0 {
			taken = columns + 1
		}
		switch {
		case taken+displayWidth(line) <= width:
			out = append(out, line)
		case i == 0 && taken+displayWidth(firstWord(line)) > width:
			out = append(append(out, ""), fold(line, width-len(indent))...)
		default:
			out = append(out, foldAfter(line, width-taken, width-len(indent))...)
		}
	}
	return strings.TrimRight(" "+out[0], " ") + strings.Join(append([]string{""}, out[1:]...), "\n"+indent)
}

// indentFurther indents the further lines of a text below the first, so that none looks like a finding.
func indentFurther(text string) string {
	return Indented(strings.TrimRight(text, "\n"), "      ")
}

// Indented is Block with indent before its further lines.
func Indented(text, indent string) string {
	return strings.ReplaceAll(Block(text), "\n", "\n"+indent)
}

// Lines is Block that indents every further line that is not indented.
func Lines(text string) string {
	lines := strings.Split(Block(text), "\n")
	for i, l := range lines {
		if i > 0 && l != "" && l[0] != ' ' && l[0] != '\t' {
			lines[i] = "    " + l
		}
	}
	return strings.Join(lines, "\n")
}

// Count formats a number with a noun: 1 finding, 2 findings.
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
