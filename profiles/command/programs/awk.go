package programs

import (
	"slices"
	"strings"
)

// The code below reads what an awk program starts: system(), pipes to and from commands,
// coprocesses, and directives that load code.
//
// Whether a slash begins a regular expression depends on awk's grammar. If the tokens around
// it do not decide that, the text is read in both ways, and the reading that starts more
// applies.

// mostAwk is the longest text that is read.
const mostAwk = 64 << 10

// awkProgram is what an awk text starts. The zero awkProgram starts nothing.
type awkProgram struct {
	Texts   []string // shell text that it runs
	Refused string   // why its effect cannot be known; empty if it can
	Files   bool     // it reads more program text from files
}

// parseAwk reads an awk program.
func parseAwk(text string) awkProgram {
	if len(text) > mostAwk {
		return awkProgram{Refused: "the program is too long to be read"}
	}
	var out awkProgram
	some := false
	var why string
	for _, regexps := range [...]bool{false, true} {
		tokens, ambiguous, ok := scan(text, regexps)
		if !ok {
			why = "the program cannot be read"
			continue
		}
		p := judge(tokens)
		if !some || awkStrict(p) > awkStrict(out) {
			out = p
		}
		some = true
		if !ambiguous {
			break
		}
	}
	if !some {
		return awkProgram{Refused: why}
	}
	return out
}

func awkStrict(p awkProgram) int {
	if p.Refused != "" {
		return 1 << 20
	}
	return len(p.Texts)
}

type kind uint8

const (
	sign    kind = iota // text is the sign
	awkName             // identifiers and keywords
	number
	str // text is its value
	awkRegexp
	line // the end of a line
)

type token struct {
	kind kind
	text string
}

// awkScanner cuts a text into tokens.
type awkScanner struct {
	text      string
	i         int
	regexps   bool // an ambiguous slash begins a regular expression
	ambiguous bool // there was one
	out       []token
}

// scan reads a text. It returns false for one in which a string or a regular expression does not end.
func scan(text string, regexps bool) (out []token, ambiguous, ok bool) {
	s := &awkScanner{text: text, regexps: regexps}
	for s.i < len(text) {
		if !s.token() {
			return nil, s.ambiguous, false
		}
	}
	return s.out, s.ambiguous, true
}

// token reads a token, or what stands between tokens.
func (s *awkScanner) token() bool {
	switch c := s.text[s.i]; {
	case c == ' ' || c == '\t' || c == '\r':
		s.i++
	case c == '\\' && s.i+1 < len(s.text) && (s.text[s.i+1] == '\n' || s.text[s.i+1] == '\r'):
		s.i += 2
	case c == '\n':
		s.out = append(s.out, token{kind: line})
		s.i++
	case c == '#':
		s.comment()
	case c == '"':
		value, end, closed := quoted(s.text, s.i+1)
		s.out = append(s.out, token{kind: str, text: value})
		s.i = end
		return closed
	case c == '/':
		return s.slash()
	case letter(c):
		s.run(awkName, 0, func(c byte) bool { return letter(c) || digit(c) })
	case digit(c) || c == '.':
		s.run(number, 1, func(c byte) bool { return digit(c) || letter(c) || c == '.' })
	default:
		end := s.i + 1
		if end < len(s.text) && pair(s.text[s.i:end+1]) {
			end++
		}
		s.out = append(s.out, token{kind: sign, text: s.text[s.i:end]})
		s.i = end
	}
	return true
}

// comment skips to the end of the line.
func (s *awkScanner) comment() {
	if end := strings.IndexByte(s.text[s.i:], '\n'); end >= 0 {
		s.i += end
	} else {
		s.i = len(s.text)
	}
}

// run reads a token of bytes of one kind, after some that belong to it anyway.
func (s *awkScanner) run(kind kind, least int, is func(byte) bool) {
	end := s.i + least
	for end < len(s.text) && is(s.text[end]) {
		end++
	}
	s.out = append(s.out, token{kind: kind, text: s.text[s.i:end]})
	s.i = end
}

// slash reads a division or a regular expression.
func (s *awkScanner) slash() bool {
	is, sure := regexpAfter(s.out)
	if !sure {
		s.ambiguous, is = true, s.regexps
	}
	if !is {
		s.out = append(s.out, token{kind: sign, text: "/"})
		s.i++
		return true
	}
	end, closed := regexpEnd(s.text, s.i+1)
	s.out = append(s.out, token{kind: awkRegexp})
	s.i = end
	return closed
}

// pair reports two signs that are one.
func pair(s string) bool {
	return slices.Contains([]string{
		"||", "&&", "|&", "++", "--", "==", "!=", "<=", ">=", ">>", "+=", "-=", "*=", "%=", "^=", "**", "!~", "::",
	}, s)
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
func digit(c byte) bool { return c >= '0' && c <= '9' }

// quoted reads a string whose quote has been read.
func quoted(text string, i int) (value string, end int, closed bool) {
	var b strings.Builder
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), i + 1, true
		case c == '\n':
			return "", i, false
		case c == '\\' && i+1 < len(text):
			i++
			switch e := text[i]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '/':
				b.WriteByte(e)
			case '\n':
			default:
				b.WriteString("\x00") // octals and the like: no command has it
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", i, false
}

// regexpAfter reports whether a slash begins a regular expression behind tokens.
func regexpAfter(before []token) (is, sure bool) {
	if len(before) == 0 {
		return true, true
	}
	t := before[len(before)-1]
	switch t.kind {
	case line:
		return true, true
	case number, str, awkRegexp:
		return false, true
	case awkName:
		switch t.text {
		case "print", "printf", "return", "in", "else", "do", "case", "delete", "exit", "and", "BEGIN", "END":
			return true, true
		case "getline", "length":
			return false, false
		}
		return false, true
	case sign:
	}
	switch t.text {
	case ")", "++", "--", "$":
		return false, false
	case "]":
		return false, true
	}
	return true, true
}

// regexpEnd finds the end of a regular expression. A slash in brackets does not end
// it; awks for which it does refuse what is left, as the bracket is open there.
func regexpEnd(text string, i int) (end int, closed bool) {
	in := false
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return i, false
		case c == '\\':
			i++
		case c == '[' && !in:
			in = true
			if i+1 < len(text) && text[i+1] == '^' {
				i++
			}
			if i+1 < len(text) && text[i+1] == ']' {
				i++
			}
		case c == '[' && i+1 < len(text) && strings.IndexByte(":.=", text[i+1]) >= 0: // [:alpha:]
			rest := text[i+2:]
			if end := strings.Index(rest, text[i+1:i+2]+"]"); end >= 0 && !strings.Contains(rest[:end], "\n") {
				i += end + 3
			}
		case c == ']':
			in = false
		case c == '/' && !in:
			return i + 1, true
		}
	}
	return i, false
}

// awkTokens are the tokens of a program.
type awkTokens []token

// at returns a token. In front of the first one and behind the last one is the end of a line.
func (ts awkTokens) at(i int) token {
	if i < 0 || i >= len(ts) {
		return token{kind: line}
	}
	return ts[i]
}

// judge finds what tokens start.
func judge(tokens []token) awkProgram {
	ts := awkTokens(tokens)
	var p awkProgram
	for i, t := range ts {
		refused := ""
		switch {
		case t.kind == str && strings.Contains(t.text, "/inet"):
			refused = "the program reaches the network"
		case t.kind == awkName && t.text == "system" && ts.at(i-1).text != "func" && ts.at(i-1).text != "function":
			refused = p.system(ts, i)
		case t.kind == sign && t.text == "|&":
			refused = "a coprocess of awk cannot be checked"
		case t.kind == sign && t.text == "|":
			if text, ok := ts.piped(i); ok {
				p.Texts = append(p.Texts, text)
			} else {
				refused = "a pipe of awk runs what is put together as the program runs"
			}
		case t.kind == sign && t.text == "@":
			refused = p.directive(ts.at(i + 1))
		}
		if p.Refused == "" {
			p.Refused = refused
		}
	}
	return p
}

// system reads a call of system, and returns why it is refused.
func (p *awkProgram) system(ts awkTokens, i int) (refused string) {
	open, text, end := ts.at(i+1).text == "(", ts.at(i+2), ts.at(i+3)
	switch {
	case open && text.kind == str && end.kind == sign && end.text == ")":
		p.Texts = append(p.Texts, text.text)
		return ""
	case open && text.kind == sign && text.text == ")":
		return ""
	default:
		return "system() runs text that is built at run time"
	}
}

// directive reads what stands behind @, and returns why it is refused.
func (p *awkProgram) directive(t token) (refused string) {
	switch {
	case t.text == "include" || t.text == "namespace":
		p.Files = true
	case t.text == "load":
		return "@load loads a library"
	case t.kind == awkName:
		return "an indirect call may be one of system"
	}
	return ""
}

// piped reads the command on the other side of a pipe, if it is one string.
func (ts awkTokens) piped(i int) (string, bool) {
	next := ts.at(i + 1)
	if next.kind == awkName && next.text == "getline" {
		if ts.at(i-1).kind != str {
			return "", false
		}
		before := ts.at(i - 2)
		alone := before.kind == line || before.kind == awkName && (before.text == "do" || before.text == "else") ||
			before.kind == sign && !slices.Contains([]string{")", "]", "++", "--", "$"}, before.text)
		if !alone {
			return "", false
		}
		return ts.at(i - 1).text, true
	}
	if next.kind != str {
		return "", false
	}
	if end := ts.at(i + 2); end.kind == line || end.kind == sign && (end.text == ";" || end.text == "}") {
		return next.text, true
	}
	return "", false
}
