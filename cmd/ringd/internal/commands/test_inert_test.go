// The page is not exported, and its texts come from policies and their tests.

package commands

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/compiler/policytest"
	"github.com/ringd/ringd/profiles"
)

func TestReportIsInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		var b bytes.Buffer
		r := clitest.Filled[report](text)
		r.policy = cli.Policy{Path: text}
		r.Files[0].Cases[0].Passed, r.Files[0].Cases[1].Passed, r.Files[0].Coverage.Met = false, true, false
		if err := (testPrinter{cli.Page{W: &b, Terminal: true}}).report(&r, true); err != nil {
			t.Fatal(err)
		}
		clitest.Check(t, "test", text, b.String(), 0)
	}
}

// TestReportFits: at a terminal the lines of a report are broken between words, deeper
// than where a mark stands; elsewhere each is one line.
func TestReportFits(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("PASS  the name goes on ", 12))
	rule := profiles.Rule{
		File:   "policies/of/a folder/with spaces/in its name/analyst.yaml",
		Line:   6,
		Column: 114,
		Path:   "spec.executors.python.imports.deny[0]",
	}
	r := report{Revision: "x", Files: []*fileReport{{
		File:     "a_test.yaml",
		Cases:    []caseReport{{Name: long, Agent: "analyst", Passed: true}, {Name: long, Agent: "analyst"}},
		Tests:    []regoReport{{Name: long, Guardrail: "g", Passed: true}},
		Coverage: &thresholds{Uncovered: []policytest.Line{{Rule: rule}}},
	}}}
	r.Summary.Skipped, r.Summary.Passed = 123456, 123456
	for _, terminal := range []bool{true, false} {
		var b bytes.Buffer
		if err := (testPrinter{cli.Page{W: &b, Terminal: terminal}}).report(&r, true); err != nil {
			t.Fatal(err)
		}
		widest, marks := 0, 0
		for line := range strings.Lines(b.String()) {
			widest = max(widest, len(strings.TrimSuffix(line, "\n")))
			if strings.HasPrefix(line, "  PASS  ") || strings.HasPrefix(line, "  FAIL  ") {
				marks++
			}
		}
		if (widest <= 80) != terminal || marks != 4 {
			t.Errorf("terminal %t: %d columns, %d marks\n%s", terminal, widest, marks, b.String())
		}
		if whole := strings.Contains(b.String(), "        no case: "+rule.File+":6:114 grant "+rule.Path+
			"\n"); whole == terminal {
			t.Errorf("terminal %t: the rule is whole: %t\n%s", terminal, whole, b.String())
		}
	}
}
