// This file owns what a program of awk starts: system(), pipes to and from
// commands, coprocesses, and what loads code. [Of] asks it.
//
// Where a slash begins a regular expression depends on awk's grammar. A text in
// which the parts around it do not say is read both ways, and the reading that
// starts more counts.

package programs

import "strings"

// mostAwk is the longest text that is read.
const mostAwk = 64 << 10

// awkProgram is what a text starts. The zero Program starts nothing.
type awkProgram struct {
	Texts   []string // shell text that it runs
	Refused string   // why nobody can know what it starts; "" where everybody can
	Files   bool     // it takes more program from files
}

// parseAwk reads a program.
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
	number              // numbers too: operands
	str                 // text is what it says
	awkRegexp
	line // the end of a line
)

type token struct {
	kind kind
	text string
}

// scan cuts a text into tokens. Of what is ambiguous, regexps says that a slash
// begins a regular expression.
func scan(text string, regexps bool) (out []token, ambiguous, ok bool) {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '\\' && i+1 < len(text) && (text[i+1] == '\n' || text[i+1] == '\r'):
			i += 2
		case c == '\n':
			out = append(out, token{kind: line})
			i++
		case c == '#':
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return out, ambiguous, true
			}
			i += end
		case c == '"':
			value, end, closed := quoted(text, i+1)
			if !closed {
				return nil, ambiguous, false
			}
			out = append(out, token{kind: str, text: value})
			i = end
		case c == '/':
			is, sure := regexpAfter(out)
			if !sure {
				ambiguous, is = true, regexps
			}
			if !is {
				out = append(out, token{kind: sign, text: "/"})
				i++
				continue
			}
			end, closed := regexpEnd(text, i+1)
			if !closed {
				return nil, ambiguous, false
			}
			out = append(out, token{kind: awkRegexp})
			i = end
		case letter(c):
			end := i
			for end < len(text) && (letter(text[end]) || digit(text[end])) {
				end++
			}
			out = append(out, token{kind: awkName, text: text[i:end]})
			i = end
		case digit(c) || c == '.':
			end := i + 1
			for end < len(text) && (digit(text[end]) || letter(text[end]) || text[end] == '.') {
				end++
			}
			out = append(out, token{kind: number, text: text[i:end]})
			i = end
		default:
			end := i + 1
			if end < len(text) && pair(text[i:end+1]) {
				end++
			}
			out = append(out, token{kind: sign, text: text[i:end]})
			i = end
		}
	}
	return out, ambiguous, true
}

func pair(s string) bool {
	switch s {
	case "||", "&&", "|&", "++", "--", "==", "!=", "<=", ">=", ">>", "+=", "-=", "*=", "%=", "^=", "**", "!~", "::":
		return true
	default:
		return false
	}
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
				b.WriteString("\x00") // seds, octals and their like: nobody's command
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
			if end := strings.Index(text[i+2:], text[i+1:i+2]+"]"); end >= 0 && !strings.Contains(text[i+2:i+2+end], "\n") {
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

// judge finds what tokens start.
func judge(ts []token) awkProgram {
	var p awkProgram
	refuse := func(why string) {
		if p.Refused == "" {
			p.Refused = why
		}
	}
	at := func(i int) token {
		if i < 0 || i >= len(ts) {
			return token{kind: line}
		}
		return ts[i]
	}
	for i, t := range ts {
		switch {
		case t.kind == str && strings.Contains(t.text, "/inet"):
			refuse("the program reaches the network")
		case t.kind == awkName && t.text == "system" && at(i-1).text != "func" && at(i-1).text != "function":
			if at(i+1).text == "(" && at(i+2).kind == str && at(i+3).kind == sign && at(i+3).text == ")" {
				p.Texts = append(p.Texts, at(i+2).text)
			} else if !(at(i+1).text == "(" && at(i+2).kind == sign && at(i+2).text == ")") {
				refuse("system() runs what is put together as the program runs")
			}
		case t.kind == sign && t.text == "|&":
			refuse("a coprocess of awk cannot be judged")
		case t.kind == sign && t.text == "|":
			if text, ok := piped(at, i); ok {
				p.Texts = append(p.Texts, text)
			} else {
				refuse("a pipe of awk runs what is put together as the program runs")
			}
		case t.kind == sign && t.text == "@":
			switch at(i + 1).text {
			case "include", "namespace":
				p.Files = true
			case "load":
				refuse("@load loads a library")
			default:
				if at(i+1).kind == awkName {
					refuse("an indirect call may be one of system")
				}
			}
		}
	}
	return p
}

// piped reads the command on the other side of a pipe where it is one string.
func piped(at func(int) token, i int) (string, bool) {
	if at(i+1).kind == awkName && at(i+1).text == "getline" {
		if at(i-1).kind != str {
			return "", false
		}
		if b := at(i - 2); b.kind == line || b.kind == sign && b.text != ")" && b.text != "]" && b.text != "++" && b.text != "--" || b.kind == awkName && (b.text == "do" || b.text == "else") {
			return at(i - 1).text, b.text != "$"
		}
		return "", false
	}
	if at(i+1).kind != str {
		return "", false
	}
	switch e := at(i + 2); {
	case e.kind == line, e.kind == sign && (e.text == ";" || e.text == "}"):
		return at(i + 1).text, true
	}
	return "", false
}
