package commands

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/schema"
)

// diffPrinter prints a difference for people.
type diffPrinter struct{ cli.Page }

// diffWidth is the width of the text after a mark and a class, in 80 columns.
const diffWidth = 66

func (p diffPrinter) document(doc pageDocument) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"old  %s  %s\nnew  %s  %s\n",
		cli.Clean(doc.Old.Path),
		cli.Short(doc.Old.Revision),
		cli.Clean(doc.New.Path),
		cli.Short(doc.New.Revision),
	)
	for _, a := range doc.Above() {
		fmt.Fprintf(&b, "\n%s: %s\n", cli.Clean(a.Name), p.class(a.Class, a.Class.String()))
		for _, ch := range a.Changes {
			ch.Layer = "" // the agent's name is the layer
			p.change(&b, ch)
		}
	}
	for _, a := range doc.Touched() {
		name := "agent " + cli.Clean(a.Name)
		if a.Name == "" {
			name = "the whole set"
		}
		fmt.Fprintf(&b, "\n%s: %s\n", name, p.class(a.Class, a.Class.String()))
		for _, ch := range a.Changes {
			p.change(&b, ch)
		}
	}
	n, headroom := doc.Counts, ""
	if n["headroom"] > 0 {
		headroom = fmt.Sprintf("%d headroom, ", n["headroom"])
	}
	fmt.Fprintf(
		&b,
		"\n%s: %d widen, %s%d narrow, %d neutral\n",
		p.class(doc.Class, cli.Count(all(n), "change")),
		n["widens"],
		headroom,
		n["narrows"],
		n["neutral"],
	)
	if doc.Impact != nil {
		p.impact(&b, doc.Impact)
	}
	if _, err := fmt.Fprint(p.W, b.String()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func (p diffPrinter) class(c diff.Class, text string) string {
	switch c {
	case diff.Narrows:
		return p.Good(text)
	case diff.Neutral:
		return text
	case diff.Widens, diff.Headroom:
		return p.Bad(text)
	default:
		return p.Bad(text)
	}
}

func (p diffPrinter) change(b *strings.Builder, ch Change) {
	mark := map[diff.Kind]string{diff.Added: "+", diff.Removed: "-", diff.Changed: "~"}[ch.Kind]
	class := ch.Class.String()
	indent := "\n             "
	says := ch.Says
	if ch.Undecided {
		says += " (undecided)"
	}
	fmt.Fprintf(
		b,
		"  %s %s%s%s\n",
		mark,
		p.class(ch.Class, class),
		strings.Repeat(" ", 9-len(class)),
		strings.Join(cli.Folded(cli.Block(says), diffWidth), indent),
	)
	note := func(label, s string) {
		if s != "" {
			fmt.Fprintf(b, "             %s\n", strings.Join(cli.Folded(label+cli.Block(s), diffWidth), indent))
		}
	}
	note("", ch.Why)
	note("exception ", ch.Exception)
	note("layer ", ch.Layer)
	note("old ", where(ch.OldLine))
	note("new ", where(ch.NewLine))
}

func where(l *Line) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Path)
}

func (p diffPrinter) impact(b *strings.Builder, m *Impact) {
	fmt.Fprintf(b, "\nimpact on %s of %s\n", cli.Count(m.Decisions, "decision"), cli.Clean(m.Log))
	for _, g := range m.Groups {
		mark := cli.Clean(g.Result)
		switch g.Result {
		case wouldAllow:
			mark = p.Bad(mark)
		case wouldDeny, wouldAsk:
			mark = p.Middling(mark)
		}
		line := fmt.Sprintf("%d × %s", g.Count, g.Capability)
		if g.Agent != "" {
			line += " of " + g.Agent
		}
		fmt.Fprintf(b, "  %s  %s\n", mark, strings.Join(cli.Folded(cli.Block(line), diffWidth), "\n    "))
		if g.Why != "" {
			fmt.Fprintf(b, "    %s\n", strings.Join(cli.Folded(cli.Block(g.Why), diffWidth), "\n    "))
		}
	}
	c := m.Counts
	fmt.Fprintf(b, "would_allow %d, would_deny %d, would_ask %d, unchanged %d, not_replayable %d\n",
		c[wouldAllow], c[wouldDeny], c[wouldAsk], c[Unchanged], c[notReplayable])
}

// findings converts changes to diagnostics. A change that widens or raises a ceiling is an error, the rest
// are warnings.
func findings(doc pageDocument) schema.Diagnostics {
	var out schema.Diagnostics
	for _, list := range []struct {
		of     string
		agents []Agent
	}{{"", doc.Ceilings}, {"agent ", doc.Agents}} {
		for _, a := range list.agents {
			for _, ch := range a.Changes {
				out = append(out, found(ch, list.of+a.Name))
			}
		}
	}
	return out
}

func found(ch Change, of string) schema.Diagnostic {
	d := schema.Diagnostic{
		Code:     "diff-" + ch.Class.String(),
		Msg:      of + ": " + ch.Says,
		Hint:     ch.Why,
		Severity: schema.Warning,
	}
	if ch.Class == diff.Widens || ch.Class == diff.Headroom {
		d.Severity = schema.Error
	}
	at := func(l *Line, column int) schema.Pos {
		return schema.Pos{File: l.File, Line: l.Line, Column: column}
	}
	switch {
	case ch.NewLine != nil:
		d.Pos = at(ch.NewLine, ch.NewRule.Column)
		if ch.OldLine != nil {
			d.Related = []schema.Pos{at(ch.OldLine, ch.OldRule.Column)}
		}
	case ch.OldLine != nil:
		d.Pos = at(ch.OldLine, ch.OldRule.Column)
	}
	return d
}
