// Decide decides a whole script without running it. It parses the script and decides each command of its text.
// A dry run settles the questions that the text leaves open. A script that neither settles is denied. `decide`
// and `explain` call it. The daemon never does, since it reads no shell.

package dryrun

import (
	"context"
	"slices"
	"strings"

	"github.com/ringd/ringd/executors/shell/preflight"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
)

// Decide decides a script. It is deterministic, ends by itself, and may be called concurrently. The report is
// nil if the script cannot be read. Its Decision is that of the text alone.
func Decide(ctx context.Context, d *profiles.Decider, a profiles.ShellAction) (profiles.Decision, *preflight.Report) {
	s, refusal := script.Parse(a.Script)
	if refusal != nil {
		return unread(refusal), nil
	}
	report := preflight.Check(ctx, s, preflight.Config{Decider: d, Cwd: a.Cwd, Home: "/home/agent"})
	if report.Decision.Verdict == profiles.Deny {
		return report.Decision, &report
	}
	check := func(ctx context.Context, s *script.Script, dir string, functions []string) profiles.Decision {
		return preflight.Check(
			ctx, s, preflight.Config{Decider: d, Cwd: dir, Home: "/home/agent", Functions: functions},
		).Decision
	}
	c := Config{Decider: d, Cwd: a.Cwd, Check: check}
	ran := Run(ctx, c, s)
	if dec, refused := settle(ran); refused {
		report.Refused = append(report.Refused, ran.Refused...)
		return dec, &report
	}
	if ran.Reads && runsText(report.Tree) {
		c.Output = true
		if again := Run(ctx, c, s); len(again.Output) > 0 {
			dec := again.Output[0]
			dec.Revision = report.Decision.Revision
			report.Refused = append(report.Refused, dec)
			return dec, &report
		}
	}
	if report.Decision.Verdict == profiles.Allow && len(ran.Asks) > 0 {
		return ran.Asks[0], &report
	}
	return report.Decision, &report
}

// runsText reports whether one of the commands could run text, or has a name that is not known before it runs.
func runsText(tree []*preflight.Node) bool {
	return slices.ContainsFunc(tree, func(n *preflight.Node) bool {
		name, _, _ := strings.Cut(n.Text, " ")
		if strings.Contains(name, "…") && n.Kind != "redirect" && n.Kind != "variable" {
			return true
		}
		words := strings.FieldsFunc(n.Text, func(r rune) bool { return strings.ContainsRune(" \t\n/'\"\\;&|(){}", r) })
		return slices.ContainsFunc(words, readsText) || runsText(n.Children)
	})
}

func readsText(word string) bool {
	switch word {
	case "eval", "trap", "source", ".", "alias", "sh", "bash", "dash", "ash", "ksh", "zsh", "rbash", "mksh":
		return true
	default:
		return false
	}
}

// settle returns the decision of a dry run. It returns false if the dry run denies nothing.
func settle(r Report) (profiles.Decision, bool) {
	switch {
	case len(r.Refused) > 0:
		return r.Refused[0], true
	case r.Endless != "":
		return profiles.Decision{
			Code: profiles.CodeShellEndless, Reason: "the script does not end: " + r.Endless,
			Instead: []string{"end the loop after a number of turns"},
		}, true
	case !r.Settled:
		return profiles.Decision{
			Code: profiles.CodeShellUnsettled, Reason: "neither the text nor a dry run shows what the script does",
		}, true
	default:
		return profiles.Decision{}, false
	}
}

// unread is the decision about a text that is no valid script.
func unread(r *script.Refusal) profiles.Decision {
	d := profiles.Decision{Code: r.Code, Reason: r.Reason, Instead: r.Instead}
	if r.Line > 0 {
		d.Evidence = &profiles.Evidence{Line: r.Line, Column: r.Column}
	}
	return d
}
