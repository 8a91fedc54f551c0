// RefusalText is the text in which the author of a script reads why it was denied: the denied command and the
// line of the policy, the position in the script, the commands that lead to it, the programs that had run, and
// what to do instead. All readers get the same text: decide, explain, run and the API. It adds nothing to the
// decision, and fits a screen.

package shellproto

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringd/ringd/profiles"
)

// RefusalPlace is where a denial happened.
type RefusalPlace struct {
	Script string   // the outermost text
	Begun  bool     // the script had begun
	Ran    []string // programs that had run before, oldest first; the last ones if there were many
	More   int      // how many ran before those
}

// Limits of the text, in characters.
const (
	maxLine    = 100
	maxInstead = 4
	maxRan     = 5
)

// RefusalText returns the text of a denial without a line end. It is empty if d is no denial.
func RefusalText(d profiles.Decision, at RefusalPlace) string {
	if d.Verdict == profiles.Allow {
		return ""
	}
	var b strings.Builder
	head := "refused before start"
	switch {
	case d.Verdict == profiles.Ask:
		head = "waits for an approval"
	case at.Begun:
		head = "refused while running"
	}
	fmt.Fprintf(&b, "%s: %s", head, refusalLine(d.Reason, 3*maxLine))
	if r := d.Rule; r != nil && r.File != "" {
		fmt.Fprintf(&b, "  (%s:%d", refusalLine(r.File, maxLine), r.Line)
		if r.Path != "" {
			fmt.Fprintf(&b, ", %s", refusalLine(r.Path, maxLine))
		}
		b.WriteString(")")
	}
	where(&b, d, at)
	if d.Verdict == profiles.Deny {
		fmt.Fprintf(&b, "\n  %s", ran(at))
		instead(&b, d)
	}
	return folded(b.String())
}

// width is that of a line: of a terminal, less the prefix that a caller adds.
const width = 76

// folded breaks long lines at a space. Continuation lines are indented further.
func folded(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for first := true; ; first = false {
			r := []rune(line)
			if len(r) <= width {
				out = append(out, line)
				break
			}
			at := width
			for at > width/2 && r[at] != ' ' {
				at--
			}
			if r[at] != ' ' {
				at = width
			}
			indent := "      "
			if first && !strings.HasPrefix(line, " ") {
				indent = "  "
			} else if !first && !strings.HasPrefix(line, "      ") {
				indent = "  "
			}
			out = append(out, strings.TrimRight(string(r[:at]), " "))
			line = indent + strings.TrimLeft(string(r[at:]), " ")
		}
	}
	return strings.Join(out, "\n")
}

// where writes the position in the script, and the commands that lead to it.
func where(b *strings.Builder, d profiles.Decision, at RefusalPlace) {
	e := d.Evidence
	if e == nil {
		return
	}
	if e.Line > 0 {
		place := fmt.Sprintf("\n  at %d:%d  ", e.Line, e.Column)
		b.WriteString(place + excerpt(at.Script, e.Line, e.Column, width+1-len(place)))
	}
	if len(e.Chain) > 0 {
		fmt.Fprintf(b, "\n  reached through: %s", refusalLine(strings.Join(e.Chain, " → "), maxLine))
	}
}

func ran(at RefusalPlace) string {
	if !at.Begun || len(at.Ran) == 0 && at.More == 0 {
		return "nothing was run"
	}
	last := at.Ran
	more := at.More
	if cut := len(last) - maxRan; cut > 0 {
		last, more = last[cut:], more+cut
	}
	out := "had run before: "
	if more > 0 {
		out += fmt.Sprintf("%d more, then ", more)
	}
	words := make([]string, len(last))
	for i, one := range last {
		words[i] = refusalLine(one, 60)
	}
	return out + strings.Join(words, "; ") + "; the rest was stopped"
}

func instead(b *strings.Builder, d profiles.Decision) {
	b.WriteString("\n  instead: ")
	n := 0
	for _, one := range d.Instead {
		if n == maxInstead {
			break
		}
		if n > 0 {
			b.WriteString(", or ")
		}
		b.WriteString(refusalLine(one, maxLine))
		n++
	}
	if n > 0 {
		b.WriteString("; or ")
	}
	b.WriteString("ask the operator to change the policy. Another spelling will be refused too.")
}

// excerpt returns the part of a script's line around a column, which counts bytes from 1.
func excerpt(script string, line, column, most int) string {
	for ; line > 1; line-- {
		_, rest, ok := strings.Cut(script, "\n")
		if !ok {
			return ""
		}
		script = rest
	}
	text, _, _ := strings.Cut(script, "\n")
	start := 0
	if column > most/2 {
		start = min(column-most/3, len(text))
		for start < len(text) && !utf8.RuneStart(text[start]) {
			start++
		}
	}
	if start > 0 {
		return "…" + refusalLine(text[start:], most-2)
	}
	return refusalLine(text, most-1)
}

// refusalLine truncates s to that many characters and replaces those that a terminal cannot print.
func refusalLine(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == most {
			return b.String() + "…"
		}
		switch {
		case r == '\n' || r == '\t':
			r = ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			r = '�'
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}
