package commands

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
)

// explainPrinter prints explanations.
type explainPrinter struct{ cli.Page }

// explained prints an explanation for people.
func (p explainPrinter) explained(e explanation) error {
	var b strings.Builder
	dec := e.Decision
	fmt.Fprintf(&b, "%s  %s\n", p.verdict(dec.Verdict.String()), cli.Clean(string(dec.Code)))
	for line := range strings.SplitSeq(dec.Text, "\n") {
		if dec.Text != "" {
			fmt.Fprintf(&b, "  %s\n", cli.Clean(line))
		}
	}
	if dec.Text == "" {
		fmt.Fprintf(&b, "  %s\n", strings.Join(cli.Folded(cli.Block(dec.Reason), reasonWidth), "\n  "))
	}
	if dec.Text == "" && len(dec.Instead) > 0 {
		fmt.Fprintf(
			&b,
			"  %s\n",
			strings.Join(
				cli.Folded("instead: "+cli.Block(strings.Join(dec.Instead, ", or ")), reasonWidth-4),
				"\n      ",
			),
		)
	}
	if w := dec.Would; w != nil {
		fmt.Fprintf(
			&b,
			"  mode audit: %s  %s, and is let through\n",
			p.verdict(w.Verdict.String()),
			cli.Clean(string(w.Code)),
		)
	}
	if s := e.Source; s != nil {
		fmt.Fprintf(
			&b,
			"\nrule    %s:%d\n        %s\n        %s\n",
			cli.Visible(s.File),
			s.Line,
			cli.Visible(dec.Rule.Path),
			clip(cli.Clean(strings.TrimSpace(s.Text)), explainWidth),
		)
	}
	fmt.Fprintf(&b, "policy  %srevision %s\n", namedAction(e.Policy), cli.Short(dec.Revision))
	p.layers(&b, e)
	p.limits(&b, e.Limits)
	for _, c := range e.Change {
		fmt.Fprintf(&b, "change  %s\n", strings.Join(cli.Folded(cli.Block(c), explainWidth), "\n        "))
	}
	if len(e.Tree) > 0 {
		b.WriteString("\n")
		p.tree(&b, e.Tree, 0)
	}
	if _, err := fmt.Fprint(p.W, b.String()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// explainWidth is the width of the text after a name, in 80 columns.
const explainWidth = 70

// tree prints commands with their verdicts, indented by depth.
func (p explainPrinter) tree(b *strings.Builder, nodes []worker.ScriptNode, depth int) {
	for _, n := range nodes {
		place := ""
		if n.Line > 0 {
			place = fmt.Sprintf("%d:%d", n.Line, n.Column)
		}
		text := strings.Repeat("  ", depth) + cli.Clean(n.Text)
		if n.Kind == "redirect" || n.Kind == "variable" {
			text = strings.Repeat("  ", depth) + n.Kind + " " + cli.Clean(n.Text)
		}
		fmt.Fprintf(b, "%-6s %s  %s\n", place, p.verdict(n.Verdict), clip(text, 57))
		if d := n.Decision; d != nil && n.Verdict == profiles.Deny.String() && d.Reason != "" {
			indent := strings.Repeat(" ", 6+1+verdictWidth+2+2*(depth+1))
			for _, line := range cli.Folded(cli.Block(d.Reason), max(78-len(indent), 20)) {
				fmt.Fprintf(b, "%s%s\n", indent, line)
			}
		}
		p.tree(b, n.Children, depth+1)
	}
}

// verdictWidth is the width of the longest verdict.
const verdictWidth = len("at run time")

func (p explainPrinter) verdict(v string) string {
	padded := fmt.Sprintf("%-*s", verdictWidth, cli.Clean(v))
	switch v {
	case profiles.Allow.String():
		return p.Good(padded)
	case profiles.Deny.String():
		return p.Bad(padded)
	default:
		return p.Middling(padded)
	}
}

func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// reasonWidth is the width of an indented reason, in 80 columns.
const reasonWidth = 78

// namedAction formats the name of the policy that decides, as a prefix. It is empty if no agent has one.
func namedAction(policy string) string {
	if policy == "" {
		return ""
	}
	return cli.Clean(policy) + ", "
}
