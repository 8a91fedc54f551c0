package schema

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// trouble is what a text that cannot be parsed is wrong about, as its lines show it. The
// zero Trouble is none.
type trouble struct {
	Line      int // from 1
	Column    int
	Msg, Hint string
}

// cueTrouble finds what makes a text CUE and no YAML: a package, or fields behind one another.
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

// yamlInCUE finds what makes a text YAML and no CUE: a version without quotes, an item with a
// dash.
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

// openTrouble finds a bracket or a quote of YAML that is not closed: the innermost one.
func openTrouble(text []byte) trouble {
	type at struct {
		line, column int
		r            byte
	}
	var open []at
	quoted := at{}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if quoted.r == 0 && len(open) == 0 {
			if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] == '#' {
				continue
			}
		}
		for j := 0; j < len(line); j++ {
			c := line[j]
			before := byte(' ')
			if j > 0 {
				before = line[j-1]
			}
			starts := strings.IndexByte(" [{,:", before) >= 0
			switch {
			case quoted.r == '"' && c == '\\':
				j++
			case quoted.r != 0:
				if c == quoted.r {
					quoted = at{}
				}
			case (c == '"' || c == '\'') && starts:
				quoted = at{i + 1, j + 1, c}
			case c == '#' && before == ' ':
				j = len(line)
			case (c == '[' || c == '{') && (starts || len(open) > 0):
				open = append(open, at{i + 1, j + 1, c})
			case (c == ']' || c == '}') && len(open) > 0:
				if want := map[byte]byte{'[': ']', '{': '}'}[open[len(open)-1].r]; want != c {
					last := open[len(open)-1]
					return trouble{last.line, last.column, "a list or object in brackets is not closed",
						fmt.Sprintf("close the %c of this line with %c", last.r, want)}
				}
				open = open[:len(open)-1]
			}
		}
	}
	if quoted.r != 0 {
		return trouble{quoted.line, quoted.column, "a quoted text is not closed",
			fmt.Sprintf("close it with %c", quoted.r)}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		return trouble{last.line, last.column, "a list or object in brackets is not closed",
			fmt.Sprintf("close the %c of this line with %c", last.r, map[byte]byte{'[': ']', '{': '}'}[last.r])}
	}
	return trouble{}
}

// indentTrouble finds the first line of YAML in blocks that stands in no column of those around
// it, or deeper than a line that holds a value.
func indentTrouble(text []byte) trouble {
	type level struct{ column, line int }
	var open []level
	holds := regexp.MustCompile(`^(- )*[A-Za-z_"'][^:#]*: +[^#\s|>&*!]`) // a field with its value
	lines := strings.Split(string(text), "\n")
	before, last := 0, 0 // lines that hold something: the one before, and this one, from 1
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if before, last = last, i+1; trimmed == "---" {
			continue
		}
		if strings.ContainsAny(trimmed[:1], "[]{}") || strings.HasSuffix(trimmed, "|") ||
			strings.HasSuffix(trimmed, ">") || strings.HasSuffix(trimmed, "|-") {
			return trouble{} // texts and brackets over several lines have their own columns
		}
		at := indent(line)
		popped := level{-1, 0}
		for len(open) > 0 && open[len(open)-1].column > at {
			popped = open[len(open)-1]
			open = open[:len(open)-1]
		}
		top := level{-1, 0}
		if len(open) > 0 {
			top = open[len(open)-1]
		}
		switch {
		case top.column == at:
		case popped.line > 0: // it lies between two columns
			near := popped
			if top.line > 0 && at-top.column < popped.column-at {
				near = top
			}
			return trouble{i + 1, at + 1, "the indentation does not fit the fields above",
				fmt.Sprintf("indent it with %s, as line %d", spaces(near.column), near.line)}
		case top.line > 0 && top.line == before && holds.MatchString(strings.TrimSpace(lines[top.line-1])):
			return trouble{i + 1, at + 1, "the line is indented further than the field above, which already has a " +
				"value",
				fmt.Sprintf("indent it with %s, as line %d", spaces(top.column), top.line)}
		default:
			open = append(open, level{at, i + 1})
		}
		for rest := line[at:]; strings.HasPrefix(rest, "- "); {
			inner := strings.TrimLeft(rest[1:], " ")
			at += len(rest) - len(inner)
			rest = inner
			if strings.Contains(inner, ": ") || strings.HasSuffix(inner, ":") || strings.HasPrefix(inner, "- ") {
				open = append(open, level{at, i + 1})
			}
		}
	}
	return trouble{}
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
