// The command test: it runs the tests beside policies. It decides their cases like ringd decide, starts no
// program and opens no connection. It prints the failures and the rules that no case covers.

package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// TestConfig configures the command.
type TestConfig struct {
	*cli.Program
	Now func() time.Time
	// Compile compiles the sources as of a time, in a child process. Positions in the findings are as the
	// user typed them. If ended is set, exceptions that have ended by then are warnings.
	Compile func(_ context.Context, _ cli.Policy, now time.Time, ended bool) (*profiles.Set, schema.Diagnostics, error)
	// Rego runs tests of the policy's guardrails in a child process. Positions in its result are those of the
	// sources.
	Rego func(_ context.Context, _ cli.Policy, tests []schema.Source) (worker.TestResult, error)
	// Scripts configures the process that parses scripts. Workspace and Home are set here.
	Scripts worker.ScriptsConfig
	Calls   worker.CallsConfig // evaluates guardrails and conditions about calls
}

// testFlags holds the flags and arguments.
type testFlags struct {
	path, run, junit      string
	json, coverage, watch bool
	only                  *regexp.Regexp
}

// NewTest returns the command.
func NewTest(cfg TestConfig) *cobra.Command {
	var q testFlags
	var policy cli.OnePolicy
	cmd := &cobra.Command{
		Use:   "test [PATH]",
		Short: "Run the tests of policies",
		Long: `Test compiles the policies of a folder as one policy and runs the cases of every
*_test.yaml in it. For each unexpected decision it shows the rule that decided.
It also runs the tests of guardrails, guardrails/*_test.rego. PATH is the folder
(default: .), one file of tests, or one policy. The tests of a policy are
POLICY_test.yaml in its folder and those of its guardrails. No case is executed:
cases are decided as by ringd decide, at the time "now" of their file.
docs/TESTING.md describes the files.

--coverage lists the rules that decided no case. Each sub-command that a program
may use is a rule. A file of tests may require that a share of the rules is
covered: coverage: {rules: 100%, denies: 100%}. --run does not check the share.
The name of a guardrail's test is FILE/GUARDRAIL/NAME.

Exit codes: 0 all is as expected, 1 a case or a test failed, a required share
was not reached, or the policy or a test has findings, 2 PATH cannot be read, or
there are no tests.`,
		Example: `  ringd test policies/
  ringd test --run 'exfil|quota' --coverage policies/
  ringd test --junit report.xml policies/
  ringd test --watch policies/`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.path, err = policy.Path(args); err != nil {
				return err
			}
			if q.only, err = regexp.Compile(q.run); err != nil {
				return cli.Usage("--run: %w", err)
			}
			if q.watch && (q.json || q.junit != "") {
				return cli.Usage("--watch prints text only: leave --json and --junit out")
			}
			if q.watch {
				return cfg.watch(cmd.Context(), q)
			}
			return cfg.runOnce(cmd.Context(), q)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&q.run, "run", "", "REGEXP: run only tests FILE/AGENT/NAME that match")
	cmd.Flags().BoolVar(&q.coverage, "coverage", false, "list the rules that decided no case")
	cmd.Flags().BoolVar(&q.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&q.junit, "junit", "", "FILE: also write JUnit XML")
	cmd.Flags().BoolVar(&q.watch, "watch", false, "run again whenever a file changes, until ^C")
	_ = cmd.RegisterFlagCompletionFunc("run", cobra.NoFileCompletions)
	_ = cmd.MarkFlagFilename("junit", "xml") // the flag exists
	return cmd
}

// runOnce runs the tests and reports the result.
func (c TestConfig) runOnce(ctx context.Context, q testFlags) error {
	policy, tests, err := c.read(q.path)
	if err != nil {
		return err
	}
	r, err := c.run(ctx, q, policy, tests)
	if err != nil {
		return err
	}
	return c.report(q, r)
}

// read returns the policy and the tests at a path.
func (c TestConfig) read(path string) (cli.Policy, []schema.Source, error) {
	policy, tests, err := cli.ReadTests(path)
	switch {
	case err != nil:
		return policy, nil, cli.Failed(cli.Misused, err)
	case len(tests) == 0:
		return policy, nil, cli.Usage("%s: no *_test.yaml next to the policies, and no guardrails/*_test.rego",
			filepath.ToSlash(path))
	default:
		return policy, tests, nil
	}
}

// report prints a report and returns its exit.
func (c TestConfig) report(q testFlags, r *report) error {
	if q.junit != "" {
		text, err := junit(r)
		if err == nil {
			err = atomicfile.Replace(q.junit, text, 0o644)
		}
		if err != nil {
			return cli.Usage("write report: %w", cli.Bare(err))
		}
	}
	var err error
	if q.json {
		err = cli.JSON(c.Out, r)
	} else {
		err = testPrinter{c.Page(c.Out)}.report(r, q.coverage)
	}
	switch {
	case err != nil:
		return err
	case r.Summary.Failed > 0 || r.Findings.Refused() || !r.Summary.Covered:
		return cli.Failed(cli.Refused, nil)
	case r.Summary.Passed == 0:
		return cli.Usage("no case and no test matches --run %q", q.run)
	default:
		return nil
	}
}

// actionText formats an action as ringd decide accepts it.
func actionText(a profiles.Action) string {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Sprintf("%T", a)
	}
	return string(text)
}
