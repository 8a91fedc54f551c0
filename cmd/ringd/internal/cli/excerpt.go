package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/schema"
)

// leastBehind is how many columns of a line are shown from the place on, where it has them.
const leastBehind = 24

// excerpt is the line that a finding is about, with a caret below its place; "" where the
// page knows no lines, or the place lies in none.
func (p Page) excerpt(at schema.Pos) string {
	if !p.Terminal || p.Line == nil || at.Line < 1 || at.Column < 1 {
		return ""
	}
	line, ok := p.Line(at.File, at.Line)
	before := at.Column - 1 // in bytes, as places are
	if !ok || before > len(line) || !utf8.ValidString(line) || strings.Contains(line, "\x00") ||
		before < len(line) && !utf8.RuneStart(line[before]) {
		return ""
	}
	spaced := strings.NewReplacer("\t", " ", "\r", "")
	front, back := Clean(spaced.Replace(lastRunes(line[:before]))), Clean(spaced.Replace(firstRunes(line[before:])))
	number := fmt.Sprintf("%6d | ", at.Line)
	room := width - len(number)
	front = lastColumns(front, max(room-max(columnsOf(back), 1), room-leastBehind))
	below := columnsCut(front)
	back = clip(back, room-below)
	gutter := strings.Repeat(" ", len(number)-2) + "| "
	return p.style(safetext.Dim, number) + front + back + "\n" + p.style(safetext.Dim, gutter) +
		strings.Repeat(" ", below) + "^\n"
}

// nearby is how many bytes on each side of a place are looked at: some lines are very long.
const nearby = 16 * width

func firstRunes(text string) string {
	if len(text) <= nearby {
		return text
	}
	end := nearby
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func lastRunes(text string) string {
	if len(text) <= nearby {
		return text
	}
	from := len(text) - nearby
	for !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// cut stands for the rest of a line, in one column.
const cut = "…"

// lastColumns is clip from the other end.
func lastColumns(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	for columnsOf(text) > columns-1 {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return cut + text
}

// columnsCut is how wide a text of [lastColumns] is.
func columnsCut(text string) int {
	if rest, ok := strings.CutPrefix(text, cut); ok {
		return 1 + columnsOf(rest)
	}
	return columnsOf(text)
}
