package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// Join joins words by blanks; the result is open where one of them is, or more may
// follow.
func Join(ws []argv.Word, more bool) argv.Word {
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

// Split splits a command line at blanks, quotes taken out. False: it has what only
// a shell reads.
func Split(text string) ([]argv.Word, bool) {
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

// Always is the reader of programs that are never readable.
func Always(reason string) func(*Reader) {
	return func(r *Reader) {
		r.Refuse(reason, r.Name)
	}
}

// knownText gives a word's text where all of it is known.
func knownText(w argv.Word) (string, bool) { return w.Text, !w.Open }

// FromFile notes a program in a file: from standard input it is Stdin.
func (r *Reader) FromFile(w argv.Word, language string) {
	if w.Text == "-" || stdinFile(w.Text) {
		r.Out.Stdin = language
		return
	}
	if w.Open && w.Text == "" {
		r.Out.Maybe = !w.Fed || r.Out.Maybe
	}
	r.Out.Interpreter = true
}

func stdinFile(path string) bool {
	switch path {
	case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return true
	default:
		return false
	}
}

// fill puts what a program fills in for a mark in words; filled tells that there
// was one.
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

// First is the first word behind the program, where it is known.
func (r *Reader) First() (string, bool) {
	if len(r.Args) == 0 {
		return "", false
	}
	return knownText(r.Args[0])
}

// HasWord reports whether one of some words stands behind the program.
func (r *Reader) HasWord(names ...string) bool {
	for _, w := range r.Args {
		for _, n := range names {
			if w.Text == n && !w.Open {
				return true
			}
		}
	}
	return false
}
