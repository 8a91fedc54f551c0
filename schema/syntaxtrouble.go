package schema

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// trouble is the cause of a syntax error, found by looking at the lines of the text. The zero trouble means
// that no cause was found.
type trouble struct {
	Line      int // counts from 1
	Column    int
	Msg, Hint string
}

// cueTrouble finds signs that a text is CUE and not YAML: a package clause, or several fields on one line.
func cueTrouble(text []byte) trouble {
	is := regexp.MustCompile(
		`^(package [a-z]+|import "|\s*[A-Za-z_]+: [A-Za-z_]+: (["{\[0-9]|true|false)|` +
			`#?[A-Za-z_]+: #?[A-Za-z_]* ?&? ?\{$)`)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if !is.MatchString(line) || strings.HasSuffix(line, "{") && (i+1 == len(lines) ||
			strings.HasSuffix(strings.TrimSpace(lines[i+1]), ",")) {
			continue
		}
		return trouble{i + 1, 1 + indent(line), "this looks like CUE, in a file of YAML",
			"name the file .cue, or write it as YAML: one field a line, without { }"}
	}
	return trouble{}
}

// yamlInCUE finds signs that a text is YAML and not CUE: an unquoted version, a list item with a dash.
func yamlInCUE(text []byte) trouble {
	is := regexp.MustCompile(
		`^(apiVersion:\s*ringd/|---\s*$|\s+- [A-Za-z]|[A-Za-z]+:\s*$|\s*[A-Za-z]+: [A-Za-z$][^"{\[]*:[^"{\[]*$)`)
	for i, line := range strings.Split(string(text), "\n") {
		if is.MatchString(line) {
			return trouble{i + 1, 1 + indent(line), "this looks like YAML, in a file of CUE",
				"name the file .yaml, or put texts in quotes and fields in { }"}
		}
	}
	return trouble{}
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// openTrouble finds the innermost bracket or quote of YAML that is not closed.
func openTrouble(text []byte) trouble {
	var b brackets
	for i, line := range bytes.Split(text, []byte("\n")) {
		trimmed := bytes.TrimSpace(line)
		if b.quoted.r == 0 && len(b.open) == 0 && len(trimmed) > 0 && trimmed[0] == '#' {
			continue
		}
		for j := 0; j < len(line); {
			next, closed := b.read(i+1, line, j)
			if !closed {
				return b.unclosed()
			}
			j = next
		}
	}
	if q := b.quoted; q.r != 0 {
		return trouble{q.line, q.column, "a quoted text is not closed", fmt.Sprintf("close it with %c", q.r)}
	}
	if len(b.open) > 0 {
		return b.unclosed()
	}
	return trouble{}
}

// brackets has the brackets and the quote that are open at the place up to which a YAML text was read.
type brackets struct {
	open   []opening // the innermost last
	quoted opening
}

// opening is a bracket or a quote, with its line and column from 1. The zero value means none.
type opening struct {
	line, column int
	r            byte
}

// closers maps each opening bracket to its closing one.
func closers() map[byte]byte { return map[byte]byte{'[': ']', '{': '}'} }

// read reads one character of a line and returns the position of the next one. It returns false if the
// character closes a bracket that is not the innermost one.
func (b *brackets) read(number int, line []byte, at int) (next int, closed bool) {
	c, before := line[at], byte(' ')
	if at > 0 {
		before = line[at-1]
	}
	starts := strings.IndexByte(" [{,:", before) >= 0
	switch {
	case b.quoted.r == '"' && c == '\\':
		return at + 2, true
	case b.quoted.r == c:
		b.quoted = opening{}
	case b.quoted.r != 0:
	case (c == '"' || c == '\'') && starts:
		b.quoted = opening{number, at + 1, c}
	case c == '#' && before == ' ':
		return len(line), true
	case (c == '[' || c == '{') && (starts || len(b.open) > 0):
		b.open = append(b.open, opening{number, at + 1, c})
	case (c == ']' || c == '}') && len(b.open) > 0:
		if closers()[b.open[len(b.open)-1].r] != c {
			return at, false
		}
		b.open = b.open[:len(b.open)-1]
	}
	return at + 1, true
}

func (b *brackets) unclosed() trouble {
	last := b.open[len(b.open)-1]
	return trouble{last.line, last.column, "a list or object in brackets is not closed",
		fmt.Sprintf("close the %c of this line with %c", last.r, closers()[last.r])}
}

// indentTrouble finds the first line of block YAML whose indentation is wrong: it matches none of the
// surrounding levels, or is deeper than a line that already has a value.
func indentTrouble(text []byte) trouble {
	var c columns
	c.lines = strings.Split(string(text), "\n")
	last := 0 // the previous line with content, from 1
	for i, line := range c.lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		before := last
		if last = i + 1; trimmed == "---" {
			continue
		}
		if strings.ContainsAny(trimmed[:1], "[]{}") || strings.HasSuffix(trimmed, "|") ||
			strings.HasSuffix(trimmed, ">") || strings.HasSuffix(trimmed, "|-") {
			return trouble{} // multi-line texts and brackets have their own indentation
		}
		if t := c.enter(i+1, before); t.Line > 0 {
			return t
		}
		c.items(i + 1)
	}
	return trouble{}
}

// columns holds the indentation levels around a line of block YAML.
type columns struct {
	lines []string
	open  []column // the innermost last
}

// column is one level, with the first line that has it, from 1.
type column struct{ at, line int }

// enter closes the levels that are deeper than a line, and opens the level of the line. before is the number
// of the previous line with content.
func (c *columns) enter(number, before int) trouble {
	at := indent(c.lines[number-1])
	popped, top := column{-1, 0}, column{-1, 0}
	for len(c.open) > 0 && c.open[len(c.open)-1].at > at {
		popped = c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
	}
	if len(c.open) > 0 {
		top = c.open[len(c.open)-1]
	}
	switch {
	case top.at == at:
	case popped.line > 0: // between two levels
		near := popped
		if top.line > 0 && at-top.at < popped.at-at {
			near = top
		}
		return trouble{number, at + 1, "the indentation does not fit the fields above",
			fmt.Sprintf("indent it with %s, as line %d", spaces(near.at), near.line)}
	case top.line > 0 && top.line == before && hasValue(c.lines[top.line-1]):
		return trouble{number, at + 1, "the line is indented further than the field above, which already has a value",
			fmt.Sprintf("indent it with %s, as line %d", spaces(top.at), top.line)}
	default:
		c.open = append(c.open, column{at, number})
	}
	return trouble{}
}

// items adds a column for each dash at the start of a line: the column of the field after that dash.
func (c *columns) items(number int) {
	at := indent(c.lines[number-1])
	for rest := c.lines[number-1][at:]; strings.HasPrefix(rest, "- "); {
		inner := strings.TrimLeft(rest[1:], " ")
		at += len(rest) - len(inner)
		rest = inner
		if strings.Contains(inner, ": ") || strings.HasSuffix(inner, ":") || strings.HasPrefix(inner, "- ") {
			c.open = append(c.open, column{at, number})
		}
	}
}

// hasValue reports whether a line is a field with a value.
func hasValue(line string) bool {
	return regexp.MustCompile(`^(- )*[A-Za-z_"'][^:#]*: +[^#\s|>&*!]`).MatchString(strings.TrimSpace(line))
}

func spaces(n int) string {
	switch n {
	case 0:
		return "no space"
	case 1:
		return "1 space"
	default:
		return fmt.Sprintf("%d spaces", n)
	}
}
