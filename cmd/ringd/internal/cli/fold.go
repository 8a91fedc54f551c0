package cli

import (
	"strings"
	"unicode/utf8"
)

// width is that of the narrowest terminal that text is made for.
const width = 80

// fold breaks text between words, so that no line is wider than columns unless a
// word is.
func fold(text string, columns int) []string {
	return foldAfter(text, columns, columns)
}

// foldAfter is fold with a first line of another width.
func foldAfter(text string, first, columns int) []string {
	var out []string
	now, room := "", first
	for _, word := range strings.Fields(text) {
		switch {
		case now == "":
			now = word
		case columnsOf(now)+1+columnsOf(word) > room:
			out = append(out, now)
			now, room = word, columns
		default:
			now += " " + word
		}
	}
	if now != "" {
		out = append(out, now)
	}
	return out
}

// Hang is a line of text that stands behind so many columns. At a terminal it is broken
// between words where it does not fit, with its further lines behind indent. Elsewhere it
// stays whole, for grep.
func (p Page) Hang(columns int, text, indent string) string {
	if !p.Terminal || columns+columnsOf(text) <= width {
		return text
	}
	return strings.Join(foldAfter(text, width-columns, width-len(indent)), "\n"+indent)
}

// firstWord is what of a line cannot be broken at its begin.
func firstWord(line string) string {
	if words := strings.Fields(line); len(words) > 0 {
		return words[0]
	}
	return ""
}

// folded is fold for text with commands in it: it breaks a line behind "&&" and
// "; " first, so that a command that fits stays whole, and can be pasted.
func folded(text string, columns int) []string {
	var out []string
	for part := range strings.SplitSeq(breakable(text), "\n") {
		lines := fold(part, columns)
		if n := len(out); n > 0 && len(lines) > 0 && utf8.RuneCountInString(out[n-1]+" "+lines[0]) <= columns {
			out[n-1] += " " + lines[0]
			lines = lines[1:]
		}
		out = append(out, lines...)
	}
	return out
}

// Folded breaks text into lines of so many columns, at spaces where there are some.
func Folded(text string, columns int) []string { return fold(text, columns) }

func breakable(text string) string {
	return strings.NewReplacer(" && ", " &&\n", "; ", ";\n").Replace(text)
}
