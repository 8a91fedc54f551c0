package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// join joins words by blanks. The result is open if one of them is, or if more may follow.
func join(ws []argv.Word, more bool) argv.Word {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
		if w.Open {
			return argv.Word{Text: b.String(), Open: true, Fed: w.Fed}
		}
	}
	return argv.Word{Text: b.String(), Open: more, Fed: more}
}

// split splits a command line at blanks and removes its quotes. It returns false for a line with
// what only a shell reads.
func split(text string) ([]argv.Word, bool) {
	if strings.ContainsAny(text, "$`\\\n;&|<>(){}") {
		return nil, false
	}
	var out []argv.Word
	var b strings.Builder
	in, quote := false, byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == ' ' || c == '\t':
			if in {
				out = append(out, argv.Known(b.String()))
				b.Reset()
			}
			in = false
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if in {
		out = append(out, argv.Known(b.String()))
	}
	return out, quote == 0
}

// prepend returns words with a word in front.
func prepend(first argv.Word, ws []argv.Word) []argv.Word { return append([]argv.Word{first}, ws...) }

func isStdin(path string) bool {
	return path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0"
}

// fill replaces a mark in words by what a program fills in, and reports whether there was one.
func fill(ws []argv.Word, mark string, with argv.Word) (out []argv.Word, filled bool) {
	if mark == "" {
		return ws, false
	}
	out = make([]argv.Word, len(ws))
	for i, w := range ws {
		out[i] = w
		if before, _, ok := strings.Cut(w.Text, mark); ok {
			out[i] = argv.Word{Text: before + with.Text, Open: true, Fed: with.Fed || w.Fed}
			filled = true
		}
	}
	return out, filled
}
