package commands

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
)

// exceptionsPrinter prints a list of exceptions.
type exceptionsPrinter struct{ cli.Page }

// Columns of the list. A longer text pushes the rest of its line.
const (
	idWidth         = 16
	agentWidth      = 24
	exceptionsWidth = 66 // width of the text after a name, in 80 columns
)

// list prints exceptions for people: one line each, with its details below.
func (p exceptionsPrinter) list(l exceptionsList, files cli.Policy) error {
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

func (p exceptionsPrinter) row(b *strings.Builder, r *exceptionRow, log bool, files cli.Policy) {
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
				cli.Folded(cli.Block(text), exceptionsWidth), "\n            "))
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
