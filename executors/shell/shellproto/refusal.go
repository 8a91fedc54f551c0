// This file owns the words in which whoever wrote a script reads why it was
// refused: what was refused and by which line of the policy, where it stands in
// the script, how it is reached, what had run, and what to do instead. The same
// text goes to every reader: decide, explain, run and the API.
//
// It is pure, says nothing that the decision does not hold, and fits a screen.

package shellproto

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringd/ringd/profiles"
)

// RefusalPlace is where a refusal happened.
type RefusalPlace struct {
	Script string   // the outermost text
	Begun  bool     // the script had begun
	Ran    []string // what had run before, oldest first; the last of them when there were many
	More   int      // how many ran before those
}

// Bounds of the text, in characters.
const (
	maxLine    = 100
	maxInstead = 4
	maxRan     = 5
)

// RefusalText is the refusal, without a line end; "" for what is no refusal.
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

// width is that of a line: of a terminal, less what a caller puts before it.
const width = 76

// folded breaks lines that are too long at a space; what follows stands further in.
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

// where shows the place in the script, and what leads to it.
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

// excerpt is the line of a script around a column, which counts bytes from 1.
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

// refusalLine makes one line of at most so many characters that a terminal can show.
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
