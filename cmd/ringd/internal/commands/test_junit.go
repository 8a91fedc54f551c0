package commands

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
)

// The part of JUnit's XML that all readers accept.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Time    string        `xml:"time,attr,omitempty"` // seconds; empty if nothing ran
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit returns a report as JUnit XML: a suite for each file, a test for each case and agent, a test for each
// guardrail test, one for the required coverage of a file, and an error for each finding.
func junit(r *report) ([]byte, error) {
	out := junitSuites{Name: "ringd test"}
	add := func(s junitSuite) {
		out.Tests, out.Failures, out.Errors = out.Tests+s.Tests, out.Failures+s.Failures, out.Errors+s.Errors
		out.Suites = append(out.Suites, s)
	}
	if r.Findings.Refused() {
		s := junitSuite{Name: r.policy.Shown("")}
		for _, d := range r.Findings {
			s.add(junitCase{Name: d.Code + " " + d.Pos.String(), Class: "finding", File: d.Pos.File, Line: d.Pos.Line,
				Error: &junitProblem{Message: xmlText(d.Msg), Type: d.Code, Text: xmlText(d.String())}})
		}
		add(s)
	}
	for _, f := range r.Files {
		s := junitSuite{Name: f.File}
		for _, c := range f.Cases {
			s.add(f.junit(r, c))
		}
		for _, one := range f.Tests {
			s.add(one.junit(f.File))
		}
		if t := f.Coverage; t != nil {
			s.add(t.junit(f.File))
		}
		add(s)
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	c.Name = cli.Visible(c.Name)
	s.Cases = append(s.Cases, c)
}

func (f *fileReport) junit(r *report, c caseReport) junitCase {
	out := junitCase{Name: c.Name, Class: c.Agent, File: f.File, Line: c.Line}
	if c.Passed {
		return out
	}
	text := fmt.Sprintf("action: %s\ncode: %s\nreason: %s\n", actionText(c.action), c.Got.Code, c.Got.Reason)
	if rule := c.Got.Rule; rule != nil {
		text += fmt.Sprintf("rule: %s:%d:%d %s\n", r.policy.Shown(rule.File), rule.Line, rule.Column, c.GotRule)
	}
	out.Failure = &junitProblem{Message: xmlText(strings.Join(c.Problems, "; ")), Type: string(c.Got.Code),
		Text: xmlText(text)}
	return out
}

func (t *thresholds) junit(file string) junitCase {
	out := junitCase{Name: "coverage", Class: "coverage", File: file}
	if t.Met {
		return out
	}
	var b strings.Builder
	testPrinter{}.uncovered(&b, t.Uncovered)
	out.Failure = &junitProblem{Type: "coverage", Text: xmlText(b.String()),
		Message: t.text()}
	return out
}

// xmlText shows invisible characters, and removes those that XML 1.0 cannot hold in any form.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= 0x20 && r <= 0xd7ff, r >= 0xe000 && r <= 0xfffd, r >= 0x10000:
			return r
		default:
			return '\ufffd'
		}
	}, cli.Block(s))
}
