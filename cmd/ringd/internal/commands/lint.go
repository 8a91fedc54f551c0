package commands

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// lintFlags holds the flags of lint.
type lintFlags struct{ policy, format, failOn, soon, log, since string }

func newLint(c PolicyConfig) *cobra.Command {
	var q lintFlags
	var policy cli.OnePolicy
	cmd := &cobra.Command{
		Use:   "lint [PATH]",
		Short: "Warn about risky rules",
		Long: `Lint prints the findings of vet, and warns about valid but risky rules: rules
that another one covers, hosts by wildcard, any port or any method, grants of
far too many files, approvals without a named approver, bridges without a call
limit, policies owned by one person, and dates that are past or near. With --log
it also warns about grants that no recorded run used. docs/TESTING.md lists the
codes.

A comment next to the rule suppresses a warning and gives the reason:
  # ringd:lint-ignore wildcard-egress the names change daily
A suppression that matches nothing is reported.

Exit codes: 0 no findings, 1 findings of --fail-on or worse, 2 PATH or the log
cannot be read.`,
		Example: `  ringd lint policies/
  ringd lint policies/ --fail-on error --format sarif > lint.sarif
  ringd lint policies/ --log ~/.local/state/ringd --since 30d`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.policy, err = policy.Path(args); err != nil {
				return err
			}
			return c.lint(cmd.Context(), q)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&q.format, "format", "text", "text, json or sarif")
	cmd.Flags().StringVar(&q.failOn, "fail-on", "warning", "exit with 1 for warning or error")
	cmd.Flags().StringVar(&q.soon, "soon", "30d", "warn about dates within 30d, 12h, …")
	cmd.Flags().StringVar(&q.log, "log", "", "state folder; warn about grants its log never used")
	cmd.Flags().StringVar(&q.since, "since", "", "with --log: a time (RFC 3339) or an age such as 30d")
	_ = cmd.MarkFlagDirname("log")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(
		[]string{"text", "json", "sarif"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(
		[]string{"warning", "error"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c PolicyConfig) lint(ctx context.Context, q lintFlags) error {
	soon, err := config.Span(q.soon)
	switch {
	case q.format != "text" && q.format != "json" && q.format != "sarif":
		return cli.Usage("--format %q: want text, json or sarif", q.format)
	case q.failOn != "warning" && q.failOn != "error":
		return cli.Usage("--fail-on %q: want warning or error", q.failOn)
	case err != nil:
		return cli.Usage("--soon %q: want a duration such as 30d or 12h", q.soon)
	case q.since != "" && q.log == "":
		return cli.Usage("--since goes with --log")
	}
	files, err := ReadPolicy(q.policy)
	if err != nil {
		return err
	}
	set, found, err := c.Lint(ctx, files, lint.Options{Now: c.Now(), Soon: soon})
	if err != nil {
		return err
	}
	skipped := []string{lint.CodeUnusedGrant}
	if q.log != "" && set != nil {
		skipped = nil
		unused, err := c.unused(ctx, q, set)
		if err != nil {
			return err
		}
		found = append(found, unused...)
	}
	found = files.Place(lint.Suppress(files.Sources, found, skipped...))
	if err := c.reportVet(q.format, []cli.Policy{files}, found); err != nil {
		return err
	}
	if q.format == "text" && len(found) > 0 {
		fmt.Fprintln(c.Err, cli.Count(len(found), "finding"))
	}
	if q.failOn == "warning" && len(found) > 0 {
		return cli.Failed(cli.Refused, nil)
	}
	return nil
}

// unused returns a finding for each grant that no recorded run used. In a policy for several agents a grant
// is unused if no agent that ran used it. Nothing is known of an agent that never ran.
func (c PolicyConfig) unused(
	ctx context.Context,
	q lintFlags,
	set *profiles.Set,
) (found schema.Diagnostics, err error) {
	since, err := parseMoment("--since", q.since, c.Now())
	if err != nil {
		return nil, err
	}
	dir := cli.Layout(q.log).Audit
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, cli.Usage("--log %s: no audit log in it", filepath.ToSlash(q.log))
	}
	type grant struct {
		rule         profiles.Rule
		what, policy string
	}
	ran, runs, left := map[string]int{}, map[string]int{}, map[grant]int{}
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		used, n, err := usedBy(ctx, dir, name, since)
		if err != nil {
			return nil, cli.Usage("read log: %w", err)
		}
		if n == 0 {
			continue
		}
		ran[a.Policy]++
		runs[a.Policy] += n
		for _, change := range lint.SuggestFor(a, used).Changes {
			if change.Do == lint.Remove {
				left[grant{change.Rule, change.What, a.Policy}]++
			}
		}
	}
	if len(ran) == 0 {
		return nil, cli.Usage("--log %s: it has no runs of the policy's agents", filepath.ToSlash(q.log))
	}
	for g, n := range left {
		if n < ran[g.policy] {
			continue
		}
		found = append(found, schema.Diagnostic{
			Pos:  schema.Pos{File: g.rule.File, Line: g.rule.Line, Column: g.rule.Column},
			Code: lint.CodeUnusedGrant, Severity: schema.Warning,
			Hint: "remove it; `ringd suggest` prints a narrower policy",
			Msg: fmt.Sprintf("%s: %s: none of %s in the log used it", g.rule.Path, g.what,
				cli.Count(runs[g.policy], "run")),
		})
	}
	return found, nil
}
