package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// columns is the width of the text of a question, maxArgs the number of shown bytes of the arguments.
const (
	columns = 80
	maxArgs = 16 << 10
)

// Question is a call that waits for an approver.
type Question struct {
	Run, Agent string
	Pending    wire.Pending
	Rule       *profiles.Rule // rule that requires the approval; may be nil
	Place      string         // flags of the shown commands, with a leading space; may be empty
	Now        time.Time
}

// Question prints what the call would do and who may decide. It reports whether all of the arguments are
// shown.
func (p Page) Question(q Question) (whole bool) {
	c := q.Pending
	line := func(what, format string, args ...any) {
		text := wrap(Clean(fmt.Sprintf(format, args...)), columns-12)
		fmt.Fprintf(p.W, "  %s %s\n", p.style(safetext.Dim, fmt.Sprintf("%-8s", what)),
			strings.Join(text, "\n           "))
	}
	fmt.Fprintf(p.W, "%s waits for an approval\n", p.style(safetext.Yellow, Visible(c.Bridge)))
	line("run", "%s, call %s, agent %s", ShortID(q.Run), c.ID, q.Agent)
	if c.ArgsBytes > 0 {
		line("does", "%s with %d bytes of arguments, which are shown by", Visible(c.Bridge), c.ArgsBytes)
		line("", "`ringd approve %s %s%s`", ShortID(q.Run), c.ID, q.Place)
	}
	facts, hidden := commandOf(c)
	if len(facts) == 0 && c.ArgsBytes == 0 {
		facts, hidden = callOf(c)
	}
	for _, f := range facts {
		line(f.what, "%s", f.text)
	}
	if hidden > 0 {
		line("", "… %d of %d bytes are not shown: see `ringd runs %s%s --json`", hidden, len(c.Args), ShortID(q.Run),
			q.Place)
	}
	const name = "digest"
	if text := Clean(c.Digest); len(text) <= columns-len("  "+name+" ") {
		fmt.Fprintf(p.W, "  %s %s\n", p.style(safetext.Dim, name), text) // on one line, to be copied
	} else {
		line(name, "%s", text)
	}
	if q.Rule != nil && q.Rule.File != "" {
		line("rule", "%s:%d:%d %s", q.Rule.File, q.Rule.Line, q.Rule.Column, q.Rule.Path)
	}
	if c.Because != "" {
		line("because", "%s", c.Because)
	}
	line("from", "%s", approverText(c))
	if c.Expires != nil {
		line("until", "%s (%s)", c.Expires.UTC().Format(time.RFC3339), left(c.Expires.Sub(q.Now)))
	}
	return hidden == 0 && c.ArgsBytes == 0
}

// Does describes what a call would do, on one line.
func Does(c wire.Pending) string {
	if c.ArgsBytes > 0 {
		return fmt.Sprintf("%s(%d bytes)", Visible(c.Bridge), c.ArgsBytes)
	}
	if facts, _ := commandOf(c); len(facts) > 0 {
		return facts[0].text
	}
	return Visible(c.Bridge) + "(" + valueOf(c.Args) + ")"
}

// callOf formats a bridge call with its arguments. hidden is the number of bytes that were left out.
func callOf(c wire.Pending) (facts []fact, hidden int) {
	args, whole := arguments(c.Args)
	if !whole {
		hidden = len(c.Args) - maxArgs
	}
	for i, text := range args {
		f := fact{"", text}
		if i == 0 {
			f = fact{"does", Visible(c.Bridge) + "(" + text}
		}
		if i == len(args)-1 && whole {
			f.text += ")"
		}
		facts = append(facts, f)
	}
	return facts, hidden
}

// approverText describes who may approve and who has.
func approverText(c wire.Pending) string {
	s := "any approver"
	if len(c.From) > 0 {
		s = strings.Join(c.From, ", ")
	}
	if c.Count > 1 {
		s = fmt.Sprintf("%d of %s", c.Count, s)
	}
	for i, a := range c.Approvals {
		if s += ", "; i == 0 {
			s += "approved by "
		}
		s += a.By
		if a.As != "" {
			s += " as " + a.As
		}
	}
	return s
}

func left(d time.Duration) string {
	switch {
	case d <= 0:
		return "over"
	case d < time.Minute:
		return fmt.Sprintf("%.0f seconds left", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f minutes left", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f hours left", d.Hours())
	default:
		return fmt.Sprintf("%.0f days left", d.Hours()/24)
	}
}

// arguments formats a call's arguments as indented lines, with invisible characters escaped. whole is false
// if they are too long and the end is missing.
func arguments(args json.RawMessage) (lines []string, whole bool) {
	var b bytes.Buffer
	if err := json.Indent(&b, args, "", "  "); err != nil {
		b.Reset()
		b.Write(args) // escaped and shown as it is
	}
	text := b.String()
	if whole = len(args) <= maxArgs; !whole && len(text) > maxArgs {
		text = strings.ToValidUTF8(text[:maxArgs], "")
	}
	for line := range strings.Lines(text) {
		lines = append(lines, Visible(strings.TrimSuffix(line, "\n")))
	}
	if len(lines) == 0 {
		lines = []string{""}
	}
	return lines, whole
}

// maxMarks limits the combining marks on one letter, because more would cover other letters.
const maxMarks = 3

// Visible escapes every rune that is not visible: controls, direction marks, spaces without width, blank
// letters, and combining marks without a letter.
func Visible(s string) string {
	var b strings.Builder
	marks := maxMarks // for the previous letter; a full one takes no more
	for _, r := range s {
		mark := unicode.Is(unicode.M, r)
		switch {
		case mark:
			marks++
		case unicode.IsLetter(r):
			marks = 0
		default:
			marks = maxMarks
		}
		switch {
		case unicode.IsPrint(r) && !isInvisible(r) && !(mark && marks > maxMarks):
			b.WriteRune(r)
		default:
			safetext.Escape(&b, r)
		}
	}
	return b.String()
}

// isInvisible reports whether a rune counts as printable but is not visible.
func isInvisible(r rune) bool {
	const emptyBraille = 0x2800
	return r == emptyBraille || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// wrap folds a line to a width, at spaces if possible.
func wrap(s string, width int) []string {
	var out []string
	r := []rune(s)
	for {
		n := runesThatFit(r, width)
		if n == len(r) {
			return append(out, string(r))
		}
		for whole := n; r[n-1] != ' '; n-- {
			if n <= whole/2 {
				n = whole
				break
			}
		}
		out = append(out, string(r[:n]))
		r = r[n:]
	}
}

// firstWide is the first rune that may be two columns wide.
const firstWide = 0x1100

// runesThatFit returns how many of the runes fit into a width. Letters of scripts that some terminals show twice as
// wide count twice. Otherwise the terminal would break the line, and its rest would begin in the column of
// the names.
func runesThatFit(r []rune, width int) int {
	for n, c := range r {
		if width--; c >= firstWide {
			width--
		}
		if width < 0 {
			return n
		}
	}
	return len(r)
}
