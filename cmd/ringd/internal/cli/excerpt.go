package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/schema"
)

// minAfterPlace is the minimum number of columns shown from the place on, if the line has them.
const minAfterPlace = 24

// excerpt returns the line of a finding, with a caret below its place. It is empty if the page has no lines,
// or not this one.
func (p Page) excerpt(at schema.Pos) string {
	if !p.Terminal || p.Line == nil || at.Line < 1 || at.Column < 1 {
		return ""
	}
	line, ok := p.Line(at.File, at.Line)
	before := at.Column - 1 // in bytes, as in places
	if !ok || before > len(line) || !utf8.ValidString(line) || strings.Contains(line, "\x00") ||
		before < len(line) && !utf8.RuneStart(line[before]) {
		return ""
	}
	spaced := strings.NewReplacer("\t", " ", "\r", "")
	front, back := Clean(spaced.Replace(lastRunes(line[:before]))), Clean(spaced.Replace(firstRunes(line[before:])))
	number := fmt.Sprintf("%6d | ", at.Line)
	room := width - len(number)
	front = lastColumns(front, max(room-max(displayWidth(back), 1), room-minAfterPlace))
	below := widthOfLast(front)
	back = clip(back, room-below)
	gutter := strings.Repeat(" ", len(number)-2) + "| "
	return p.style(safetext.Dim, number) + front + back + "\n" + p.style(safetext.Dim, gutter) +
		strings.Repeat(" ", below) + "^\n"
}

// excerptBytes limits the bytes that are processed on each side of a place, because some lines are very long.
const excerptBytes = 16 * width

func firstRunes(text string) string {
	if len(text) <= excerptBytes {
		return text
	}
	end := excerptBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func lastRunes(text string) string {
	if len(text) <= excerptBytes {
		return text
	}
	from := len(text) - excerptBytes
	for !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// ellipsis marks the rest of a line, in one column.
const ellipsis = "…"

// lastColumns is clip that keeps the end.
func lastColumns(text string, columns int) string {
	if displayWidth(text) <= columns {
		return text
	}
	for displayWidth(text) > columns-1 {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return ellipsis + text
}

// widthOfLast returns the width of a text of [lastColumns].
func widthOfLast(text string) int {
	if rest, ok := strings.CutPrefix(text, ellipsis); ok {
		return 1 + displayWidth(rest)
	}
	return displayWidth(text)
}
