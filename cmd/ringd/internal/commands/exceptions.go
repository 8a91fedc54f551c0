// The command that lists exceptions: the layers that each one exceeds, when it ends, and whether a run used
// it. It changes nothing, and it lists ended exceptions too.

package commands

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// Marks of an exception in the list.
const (
	flagEnded  = "ended"
	flagSoon   = "soon"   // ends within --soon
	flagUnused = "unused" // its agent ran, and no record used it
)

// ExceptionsConfig configures the command.
type ExceptionsConfig struct {
	*cli.Program
	Now func() time.Time
	// Compile reads and compiles a policy in which exceptions may have ended. An ended one is a warning, and
	// the set still has its grants. Findings have the paths that the user typed.
	Compile func(ctx context.Context, files cli.Policy) (*profiles.Set, schema.Diagnostics, error)
}

// exceptionsFlags holds the flags and arguments.
type exceptionsFlags struct {
	policy, agent, state, since, soon string
	failOn                            []string
	json                              bool
}

// NewExceptions returns the command.
func NewExceptions(cfg ExceptionsConfig) *cobra.Command {
	var q exceptionsFlags
	var policy cli.OnePolicy
	cmd := &cobra.Command{
		Use:   "exceptions [PATH]",
		Short: "List the exceptions of a policy, with expiry and uses",
		Long: `Exceptions lists the exceptions of every agent, the next to end first. The list
shows what each exception grants, the layers that it exceeds, its owner and
approvers, when it ends, and how often programs used it according to the audit
log of the state folder. Without a state folder the uses are not known. Uses of
JavaScript modules are never known. An exception is flagged ended, soon (it ends
within --soon) or unused (its agent ran, and no recorded action needed it).

Exceptions also lists a policy that is refused only because an exception ended.

Exit codes: 0 listed, 1 an exception has ended or has a flag of --fail-on, 2 the
policy is refused, or the policy or the log cannot be read.`,
		Example: `  ringd exceptions policies/
  ringd exceptions policies/ --since 30d --fail-on unused,soon`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.policy, err = policy.Path(args); err != nil {
				return err
			}
			return cfg.list(cmd.Context(), q)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&q.agent, "agent", "", "exceptions of one agent")
	cmd.Flags().StringVar(&q.state, "state", "", "state folder (default: ~/.local/state/ringd, if there)")
	cmd.Flags().StringVar(&q.since, "since", "", "count uses since a time (RFC 3339) or age such as 30d")
	cmd.Flags().StringVar(&q.soon, "soon", "30d", "flag those that end within this time")
	cmd.Flags().StringSliceVar(&q.failOn, "fail-on", nil, "unused, soon: also exit with 1 for these")
	cmd.Flags().BoolVar(&q.json, "json", false, "print JSON")
	_ = cmd.MarkFlagDirname("state")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(
		[]string{flagUnused, flagSoon}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// exceptionsList is the JSON result.
type exceptionsList struct {
	Now        time.Time      `json:"now"`
	Since      time.Time      `json:"since,omitzero"`
	Log        bool           `json:"log"` // an audit log was read for uses
	Exceptions []exceptionRow `json:"exceptions"`
	Revision   string         `json:"revision"`
}

// exceptionRow is an exception of an agent.
type exceptionRow struct {
	Agent    string `json:"agent"`
	DaysLeft int    `json:"days_left"` // whole days; 0 if it ends within a day, or has ended
	Uses     *int   `json:"uses"`      // null if unknown
	// LastUse is the last use in the log since --since.
	LastUse *time.Time `json:"last_use,omitempty"`
	Flags   []string   `json:"flags"`
	profiles.Exception
}

func (c ExceptionsConfig) list(ctx context.Context, q exceptionsFlags) error {
	soon, err := config.Span(q.soon)
	if err != nil {
		return cli.Usage("--soon %q: want a duration such as 30d or 12h", q.soon)
	}
	for _, flag := range q.failOn {
		if flag != flagUnused && flag != flagSoon && flag != flagEnded {
			return cli.Usage("--fail-on %q: want unused or soon", flag)
		}
	}
	now := c.Now()
	since, err := parseMoment("--since", q.since, now)
	if err != nil {
		return err
	}
	set, files, err := c.compiled(ctx, q.policy)
	if err != nil {
		return err
	}
	if _, ok := set.Agent(q.agent); q.agent != "" && !ok {
		return cli.NoAgent(set, q.agent)
	}
	log, err := c.log(q)
	if err != nil {
		return err
	}
	out := exceptionsList{
		Now:        now.UTC(),
		Since:      since,
		Log:        log != "",
		Exceptions: []exceptionRow{},
		Revision:   set.Revision,
	}
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		if len(a.Exceptions) == 0 || q.agent != "" && name != q.agent {
			continue
		}
		if err := out.add(ctx, a, log, soon); err != nil {
			return err
		}
	}
	slices.SortStableFunc(out.Exceptions, func(x, y exceptionRow) int {
		return cmp.Or(x.Expires.Compare(y.Expires), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Agent, y.Agent))
	})
	if q.json {
		err = cli.JSON(c.Out, out)
	} else {
		err = exceptionsPrinter{c.Page(c.Out)}.list(out, files)
	}
	if err == nil && fails(out.Exceptions, q.failOn) {
		err = cli.Failed(cli.Refused, nil)
	}
	return err
}

// add adds the exceptions of an agent, with their uses in the log of the folder. An empty log means none.
func (l *exceptionsList) add(ctx context.Context, a profiles.Agent, log string, soon time.Duration) (err error) {
	var t *exceptionUses
	if log != "" {
		if t, err = countUses(ctx, log, a, l.Since); err != nil {
			return cli.Usage("read log: %w", err)
		}
	}
	for i := range a.Exceptions {
		l.Exceptions = append(l.Exceptions, rowOf(a, &a.Exceptions[i], t, l.Now, soon))
	}
	return nil
}

// compiled returns the set of a policy whose exceptions may have ended. Findings about ended ones are
// dropped, because the list shows them.
func (c ExceptionsConfig) compiled(ctx context.Context, path string) (*profiles.Set, cli.Policy, error) {
	files, err := cli.ReadSources(path)
	if err != nil {
		return nil, files, cli.Failed(cli.Misused, err)
	}
	set, found, err := c.Compile(ctx, files)
	if err != nil {
		return nil, files, err
	}
	found = slices.DeleteFunc(found, func(d schema.Diagnostic) bool {
		return d.Code == layers.CodeExpired && d.Severity != schema.Error
	})
	if err := c.Page(c.Err).Findings(found); err != nil {
		return nil, files, err
	}
	if found.Refused() || set == nil {
		return nil, files, cli.Usage("the policy is refused: see ringd vet")
	}
	return set, files, nil
}

// log returns the folder of the audit log, or "" if there is none and no flag requires one.
func (c ExceptionsConfig) log(q exceptionsFlags) (string, error) {
	state, err := c.State(q.state)
	if err != nil {
		if q.state == "" && q.since == "" {
			return "", nil
		}
		return "", err
	}
	dir := cli.Layout(state).Audit
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if q.state == "" && q.since == "" {
			return "", nil
		}
		return "", cli.Usage("--state %s: no audit log in it", state)
	}
	return dir, nil
}

func rowOf(a profiles.Agent, e *profiles.Exception, t *exceptionUses, now time.Time, soon time.Duration) exceptionRow {
	r := exceptionRow{Agent: a.Name, Flags: []string{}, Exception: *e}
	ended := e.Ended(now)
	if !ended {
		r.DaysLeft = int(e.Expires.Sub(now) / (24 * time.Hour))
	}
	switch {
	case ended:
		r.Flags = append(r.Flags, flagEnded)
	case e.Expires.Sub(now) <= soon:
		r.Flags = append(r.Flags, flagSoon)
	}
	if t == nil || !usesAreLogged(a, e.ID) {
		return r
	}
	use := t.uses[e.ID]
	n := use.times
	r.Uses = &n
	if n > 0 {
		r.LastUse = &use.last
	} else if len(t.runs) > 0 {
		r.Flags = append(r.Flags, flagUnused)
	}
	return r
}

func fails(rows []exceptionRow, on []string) bool {
	return slices.ContainsFunc(rows, func(r exceptionRow) bool {
		return slices.ContainsFunc(r.Flags, func(flag string) bool {
			return flag == flagEnded || slices.Contains(on, flag)
		})
	})
}

// grants formats the grants of an exception.
func grants(e *profiles.Exception) string {
	var parts []string
	for _, list := range []struct {
		name  string
		items []string
	}{{"imports", e.Grants.Imports}, {"egress", e.Grants.Egress}, {"binaries", e.Grants.Binaries}} {
		if len(list.items) > 0 {
			parts = append(parts, list.name+" "+strings.Join(list.items, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
