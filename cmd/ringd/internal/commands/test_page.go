package commands

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/compiler/policytest"
	"github.com/ringd/ringd/profiles"
)

// testPrinter prints reports.
type testPrinter struct{ cli.Page }

// testWidth is the width of an indented failure, in 80 columns.
const testWidth = 70

// continuation indents the further lines of a name or a rule.
const continuation = "          "

// report prints a report for people.
func (p testPrinter) report(r *report, covered bool) error {
	if err := p.Findings(r.Findings); err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range r.Files {
		if len(f.Cases) == 0 && len(f.Tests) == 0 && f.Coverage == nil {
			continue
		}
		fmt.Fprintln(&b, cli.Visible(f.File))
		for _, c := range f.Cases {
			p.one(&b, r, f, c)
		}
		for _, one := range f.Tests {
			p.rego(&b, f, one)
		}
		if t := f.Coverage; t != nil {
			p.thresholds(&b, t)
		}
	}
	if covered && r.Revision != "" {
		fmt.Fprintf(&b, "coverage  rules %s, denies %s\n", share(r.Coverage.Rules), share(r.Coverage.Denies))
		p.uncovered(&b, r.unlistedRules())
	}
	p.summary(&b, r)
	if _, err := fmt.Fprint(p.W, b.String()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func (p testPrinter) one(b *strings.Builder, r *report, f *fileReport, c caseReport) {
	p.printMark(b, c.Passed, cli.Visible(c.Agent)+": "+cli.Visible(c.Name))
	if c.Passed {
		return
	}
	line := func(name, text string) {
		for _, part := range cli.Folded(cli.Block(text), testWidth-len("reason    ")) {
			fmt.Fprintf(b, "        %-8s  %s\n", name, part)
			name = ""
		}
	}
	line("case", fmt.Sprintf("%s:%d", f.File, c.Line))
	for _, problem := range c.Problems {
		line("", problem)
	}
	line("code", string(c.Got.Code))
	line("reason", c.Got.Reason)
	if rule := c.Got.Rule; rule != nil {
		line("rule", fmt.Sprintf("%s:%d:%d %s", r.policy.Shown(rule.File), rule.Line, rule.Column, c.GotRule))
	}
}

// printMark prints PASS or FAIL and a text without line breaks.
func (p testPrinter) printMark(b *strings.Builder, passed bool, text string) {
	mark := p.Good("PASS")
	if !passed {
		mark = p.Bad("FAIL")
	}
	fmt.Fprintf(b, "  %s  %s\n", mark, p.Hang(len("  PASS  "), text, continuation))
}

func (p testPrinter) thresholds(b *strings.Builder, t *thresholds) {
	p.printMark(b, t.Met, "coverage: "+t.text())
	if !t.Met {
		p.uncovered(b, t.Uncovered)
	}
}

// unlistedRules returns the rules that decided no case and that no file with required coverage has listed.
func (r *report) unlistedRules() (out []policytest.Line) {
	told := map[profiles.Rule]bool{}
	for _, f := range r.Files {
		if f.Coverage != nil && !f.Coverage.Met {
			for _, l := range f.Coverage.Uncovered {
				told[l.Rule] = true
			}
		}
	}
	for _, l := range r.Coverage.Uncovered {
		if !told[l.Rule] {
			out = append(out, l)
		}
	}
	return out
}

// uncovered prints rules that decided no case.
func (p testPrinter) uncovered(b *strings.Builder, lines []policytest.Line) {
	for _, l := range lines {
		what := "grant"
		if l.Denies {
			what = "deny"
		}
		const heading = "        no case: "
		text := fmt.Sprintf("%s:%d:%d %s %s", cli.Visible(l.Rule.File), l.Rule.Line, l.Rule.Column, what,
			cli.Visible(l.Rule.Path))
		fmt.Fprintln(b, heading+p.Hang(len(heading), text, continuation))
	}
}

func share(s policytest.Share) string {
	return fmt.Sprintf("%d/%d (%d%%)", s.Covered, s.All, s.Percent())
}

// text formats the coverage of a file and its required minimum.
func (t *thresholds) text() string {
	return "rules " + shareOf(t.Rules, t.WantRules) + "; denies " + shareOf(t.Denies, t.WantDenies)
}

func shareOf(s policytest.Share, want int) string {
	if want == 0 {
		return share(s)
	}
	return fmt.Sprintf("%d/%d (%d%%, required %d%%)", s.Covered, s.All, s.Percent(), want)
}

func (p testPrinter) summary(b *strings.Builder, r *report) {
	s := r.Summary
	text := fmt.Sprintf("%d passed, %d failed", s.Passed, s.Failed)
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d left out by --run", s.Skipped)
	}
	switch {
	case r.Findings.Refused():
		text = p.Bad("nothing was decided: the policy or its tests have findings")
	case s.Failed > 0:
		text = p.Bad(text)
	case !s.Covered:
		text = p.Bad(p.Hang(0, text+", coverage below the required minimum", "    "))
	default:
		text = p.Good(text)
	}
	fmt.Fprintln(b, text)
}
