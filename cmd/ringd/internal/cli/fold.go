package cli

import (
	"strings"
	"unicode/utf8"
)

// width is the width of the narrowest supported terminal.
const width = 80

// fold breaks text between words, so that no line is wider than columns, unless a word is.
func fold(text string, columns int) []string {
	return foldAfter(text, columns, columns)
}

// foldAfter is fold with another width of the first line.
func foldAfter(text string, first, columns int) []string {
	var out []string
	now, room := "", first
	for _, word := range strings.Fields(text) {
		switch {
		case now == "":
			now = word
		case displayWidth(now)+1+displayWidth(word) > room:
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

// Hang formats a line of text after a prefix of so many columns. At a terminal it is broken between words if
// it is too wide, with indent before further lines. Otherwise it stays one line, for grep.
func (p Page) Hang(columns int, text, indent string) string {
	if !p.Terminal || columns+displayWidth(text) <= width {
		return text
	}
	return strings.Join(foldAfter(text, width-columns, width-len(indent)), "\n"+indent)
}

// firstWord returns the start of a line that cannot be broken.
func firstWord(line string) string {
	if words := strings.Fields(line); len(words) > 0 {
		return words[0]
	}
	return ""
}

// foldCommands is fold for text with commands. It breaks a line after "&&" and "; " first, so that a command that
// fits stays on one line and can be pasted.
func foldCommands(text string, columns int) []string {
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

// Folded breaks text into lines of so many columns, at spaces if possible.
func Folded(text string, columns int) []string { return fold(text, columns) }

func breakable(text string) string {
	return strings.NewReplacer(" && ", " &&\n", "; ", ";\n").Replace(text)
}
