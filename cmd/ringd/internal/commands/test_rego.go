package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/schema"
)

// regoReport is one test of a guardrail.
type regoReport struct {
	Name      string  `json:"name"` // test_x
	Guardrail string  `json:"guardrail"`
	Passed    bool    `json:"passed"`
	Line      int     `json:"line"`
	Column    int     `json:"column"`
	Message   string  `json:"message,omitempty"` // why it failed
	Millis    float64 `json:"elapsed_ms"`
}

// runRego runs the tests of guardrails, and adds mistakes in them to the findings. After findings that refuse it
// runs none.
func (t *testRun) runRego(ctx context.Context, tests []schema.Source) ([]worker.RegoTest, error) {
	r := t.report
	var found schema.Diagnostics
	for _, src := range tests {
		if !strings.HasPrefix(src.Name, guardrail.Folder) {
			found = append(found, schema.Diagnostic{Pos: schema.Pos{File: src.Name, Line: 1, Column: 1},
				Code: guardrail.CodeInvalid,
				Msg:  "tests no guardrail: it is not in " + guardrail.Folder,
				Hint: "move it to " + guardrail.Folder + " next to the policies"})
		}
	}
	r.Findings = append(r.Findings, r.policy.Place(found)...)
	if len(tests) == 0 || r.Findings.Refused() {
		return nil, nil
	}
	got, err := t.Rego(ctx, r.policy, tests)
	if err != nil {
		return nil, fmt.Errorf("run tests of guardrails: %w", err)
	}
	r.Findings = append(r.Findings, r.policy.Place(got.Diagnostics)...)
	return got.Tests, nil
}

// reportRego reports the tests of guardrails by file, in the order in which they ran.
func (t *testRun) reportRego(tests []worker.RegoTest) {
	files := map[string]*fileReport{}
	for _, one := range tests {
		if !t.q.only.MatchString(one.File + "/" + one.Guardrail + "/" + one.Name) {
			t.report.Summary.Skipped++
			continue
		}
		f := files[one.File]
		if f == nil {
			f = &fileReport{File: t.report.policy.Shown(one.File), Cases: []caseReport{}}
			files[one.File] = f
			t.report.Files = append(t.report.Files, f)
		}
		f.Tests = append(f.Tests, regoReport{one.Name, one.Guardrail, one.Passed, one.Line, one.Column, one.Msg,
			float64(one.Elapsed.Microseconds()) / 1000})
		if one.Passed {
			t.report.Summary.Passed++
		} else {
			t.report.Summary.Failed++
		}
	}
}

// rego prints a test of a guardrail for people.
func (p testPrinter) rego(b *strings.Builder, f *fileReport, one regoReport) {
	p.printMark(b, one.Passed, fmt.Sprintf("%s: %s (%s ms)", cli.Visible(one.Guardrail), cli.Visible(one.Name),
		strconv.FormatFloat(one.Millis, 'f', 1, 64)))
	if one.Passed {
		return
	}
	name := "test"
	for _, text := range []string{fmt.Sprintf("%s:%d:%d", f.File, one.Line, one.Column), one.Message} {
		for _, part := range cli.Folded(cli.Block(text), testWidth-len("reason    ")) {
			fmt.Fprintf(b, "        %-8s  %s\n", name, part)
			name = ""
		}
	}
}

func (one regoReport) junit(file string) junitCase {
	out := junitCase{Name: one.Name, Class: one.Guardrail, File: file, Line: one.Line,
		Time: strconv.FormatFloat(one.Millis/1000, 'f', 6, 64)}
	if !one.Passed {
		out.Failure = &junitProblem{Message: xmlText(one.Message), Type: "guardrail-test",
			Text: xmlText(fmt.Sprintf("%s:%d:%d: %s", file, one.Line, one.Column, one.Message))}
	}
	return out
}
