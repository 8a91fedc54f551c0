package commands

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
)

// page is where a list goes.
type exceptionsPage struct{ cli.Page }

// Columns of the list: what is longer pushes the rest of its line.
const (
	idWidth             = 16
	agentWidth          = 24
	exceptionsTextWidth = 66 // of what stands behind a name, in 80 columns
)

// list writes exceptions for people: a line each, and what it is below.
func (p exceptionsPage) list(l listed, files cli.Policy) error {
	var b strings.Builder
	if len(l.Exceptions) == 0 {
		b.WriteString("no exceptions\n")
	} else {
		fmt.Fprintf(&b, "%-*s %-*s %-10s %6s %5s  %s\n", idWidth, "ID", agentWidth, "AGENT", "ENDS", "DAYS", "USES",
			"FLAGS")
	}
	for i := range l.Exceptions {
		p.row(&b, &l.Exceptions[i], l.Log, files)
	}
	if _, err := fmt.Fprint(p.W, b.String()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func (p exceptionsPage) row(b *strings.Builder, r *row, log bool, files cli.Policy) {
	days, uses := strconv.Itoa(r.DaysLeft), "?"
	if r.DaysLeft == 0 {
		days = "<1"
	}
	flags := make([]string, len(r.Flags))
	for i, flag := range r.Flags {
		if flags[i] = p.Middling(flag); flag == flagEnded {
			flags[i], days = p.Bad(flag), "-"
		}
	}
	if r.Uses != nil {
		uses = strconv.Itoa(*r.Uses)
	}
	fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("%-*s %-*s %s %6s %5s  %s", idWidth, cli.Clean(r.ID), agentWidth,
		cli.Clean(r.Agent),
		r.Expires.UTC().Format(time.DateOnly), days, uses, strings.Join(flags, " ")), " "))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, strings.Join(
				cli.Folded(cli.Block(text), exceptionsTextWidth), "\n            "))
		}
	}
	line("grants", grants(&r.Exception))
	line("lifts", strings.Join(r.Lifts, ", "))
	line("owner", r.Owner)
	line("approved", strings.Join(r.ApprovedBy, ", "))
	line("reason", r.Reason)
	line("ticket", r.Ticket)
	line("ends", r.Expires.UTC().Format(time.RFC3339))
	switch {
	case r.LastUse != nil:
		line("last use", r.LastUse.UTC().Format(time.RFC3339))
	case log && r.Uses == nil:
		line("uses", "not known: uses of its grants are not recorded")
	}
	line("at", fmt.Sprintf("%s:%d", files.Shown(r.Rule.File), r.Rule.Line))
}
