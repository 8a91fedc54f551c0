package programs

import "strings"

// The code below reads what a sed program starts: the e command and the e flag of the s command. It reads the
// text twice, with the brackets of regular expressions as in POSIX and without, because seds differ. The
// reading that starts more applies.

// mostSed is the longest text that is read.
const mostSed = 64 << 10

// sedProgram is what a sed text starts. The zero sedProgram starts nothing.
type sedProgram struct {
	Texts   []string // shell text that it runs
	Refused string   // why its effect cannot be known; empty if it can
}

// parseSed reads a program: the script of one sed, its pieces joined by line ends.
func parseSed(text string) sedProgram {
	if len(text) > mostSed {
		return sedProgram{Refused: "the program is too long to be read"}
	}
	plain, okPlain := read(text, false)
	posix, okPosix := read(text, true)
	switch {
	case !okPlain && !okPosix:
		return sedProgram{Refused: "the program cannot be read: " + plain.Refused}
	case !okPlain:
		return posix
	case !okPosix:
		return plain
	case plain.Refused != "" || len(plain.Texts) > len(posix.Texts) && posix.Refused == "":
		return plain
	}
	return posix
}

type sedReader struct {
	text     string
	i        int
	brackets bool // a delimiter in brackets is no delimiter
	out      sedProgram
}

func read(text string, brackets bool) (sedProgram, bool) {
	r := &sedReader{text: text, brackets: brackets}
	depth := 0
	for {
		r.skip(" \t\r\n;")
		if r.i >= len(r.text) {
			return r.out, depth == 0
		}
		if !r.addresses() {
			return r.bad("an address")
		}
		if r.i >= len(r.text) {
			return r.bad("a command is missing")
		}
		c := r.text[r.i]
		r.i++
		if c == '{' {
			depth++
			continue
		}
		if c == '}' {
			depth--
			if depth < 0 {
				return r.bad("a brace")
			}
			continue
		}
		if !r.command(c) {
			return r.bad("the command " + string(rune(c)))
		}
	}
}

func (r *sedReader) bad(what string) (sedProgram, bool) {
	r.out.Refused = what
	return r.out, false
}

func (r *sedReader) skip(set string) {
	for r.i < len(r.text) && strings.IndexByte(set, r.text[r.i]) >= 0 {
		r.i++
	}
}

func (r *sedReader) peek() byte {
	if r.i < len(r.text) {
		return r.text[r.i]
	}
	return 0
}

// addresses reads the addresses before a command.
func (r *sedReader) addresses() bool {
	if !r.address() {
		return false
	}
	r.skip(" \t")
	if r.peek() == ',' {
		r.i++
		r.skip(" \t")
		if !r.address() {
			return false
		}
	}
	r.skip(" \t!")
	return true
}

func (r *sedReader) address() bool {
	switch c := r.peek(); {
	case c == '$':
		r.i++
	case c >= '0' && c <= '9' || c == '+' || c == '~':
		r.i++
		r.skip("0123456789~")
	case c == '/':
		r.i++
		return r.until('/', true) && r.flags()
	case c == '\\' && r.i+1 < len(r.text):
		d := r.text[r.i+1]
		r.i += 2
		return d != '\n' && d != '\\' && r.until(d, true) && r.flags()
	}
	return true
}

func (r *sedReader) flags() bool {
	r.skip("IM")
	return true
}

// until reads up to a delimiter.
func (r *sedReader) until(d byte, regexp bool) bool {
	for r.i < len(r.text) {
		c := r.text[r.i]
		r.i++
		switch {
		case c == d:
			return true
		case c == '\\':
			if r.i >= len(r.text) {
				return false
			}
			r.i++
		case c == '\n' && regexp:
			return false
		case c == '[' && regexp && r.brackets:
			r.bracket()
		}
	}
	return false
}

// bracket reads a bracket expression; an open one is a character.
func (r *sedReader) bracket() {
	i := r.i
	if i < len(r.text) && r.text[i] == '^' {
		i++
	}
	if i < len(r.text) && r.text[i] == ']' {
		i++
	}
	for ; i < len(r.text) && r.text[i] != '\n'; i++ {
		switch {
		case r.text[i] == ']':
			r.i = i + 1
			return
		case r.text[i] == '[' && i+1 < len(r.text) && strings.IndexByte(":.=", r.text[i+1]) >= 0:
			if end := strings.Index(r.text[i+2:], string(r.text[i+1])+"]"); end >= 0 {
				i += end + 3
			}
		}
	}
}

// line reads up to the end of the line.
func (r *sedReader) line() string {
	end := strings.IndexByte(r.text[r.i:], '\n')
	if end < 0 {
		end = len(r.text) - r.i
	}
	out := r.text[r.i : r.i+end]
	r.i += end
	return out
}

// command reads what follows a command's letter.
func (r *sedReader) command(c byte) bool {
	switch c {
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return r.end()
	case 'a', 'i', 'c':
		r.body()
		return true
	case ':', 'b', 't', 'T':
		r.skip(" \t")
		r.word()
		return r.end()
	case 'e':
		text := strings.Trim(r.line(), " \t")
		if strings.HasSuffix(text, "\\") {
			return false // the text goes on in the next line
		}
		if text == "" || text == ";" || text == "}" {
			r.out.Refused = "the command e runs the text of the pattern space"
		} else {
			r.out.Texts = append(r.out.Texts, text)
		}
		return true
	case 'r', 'R', 'w', 'W':
		r.line()
		return true
	case 'v':
		r.skip(" \t")
		r.word()
		return r.end()
	case 'q', 'Q', 'l', 'L':
		r.skip(" \t0123456789")
		return r.end()
	case '#':
		r.line()
		return true
	case 's':
		return r.substitute()
	case 'y':
		d := r.peek()
		r.i++
		return d != 0 && d != '\n' && d != '\\' && r.until(d, false) && r.until(d, false) && r.end()
	default:
		return false
	}
}

func (r *sedReader) word() {
	for r.i < len(r.text) && strings.IndexByte(" \t\r\n;}", r.text[r.i]) < 0 {
		r.i++
	}
}

// end reports whether a command ends here.
func (r *sedReader) end() bool {
	r.skip(" \t\r")
	switch r.peek() {
	case 0:
		return r.i >= len(r.text)
	case ';', '\n', '}', '#':
		return true
	default:
		return false
	}
}

// body reads the text of a, i and c, up to a line end that has no backslash in front.
func (r *sedReader) body() {
	for r.i < len(r.text) {
		c := r.text[r.i]
		r.i++
		switch c {
		case '\\':
			r.i++
		case '\n':
			return
		}
	}
	r.i = min(r.i, len(r.text))
}

// substitute reads s. Its flag e runs the outcome.
func (r *sedReader) substitute() bool {
	d := r.peek()
	r.i++
	if d == 0 || d == '\n' || d == '\\' || !r.until(d, true) || !r.until(d, false) {
		return false
	}
	for {
		switch c := r.peek(); {
		case c == 'e':
			r.out.Refused = "the flag e of s runs the result of the substitution"
			r.i++
		case c >= '0' && c <= '9', c == 'g', c == 'p', c == 'N', c == 'I', c == 'i', c == 'M', c == 'm':
			if r.i >= len(r.text) {
				return true
			}
			r.i++
		case c == 'w':
			r.line()
			return true
		default:
			return r.end()
		}
	}
}
