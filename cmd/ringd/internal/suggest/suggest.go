// Package suggest holds the verb that reads what programs imported from the audit log
// and says which narrower list would do. It changes nothing.
package suggest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/answer"
	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/auditcmd"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
	"github.com/ringd/ringd/compiler/imports"
	"github.com/ringd/ringd/profiles"
)

// Config is what the verb is made of.
type Config struct {
	*cli.Program
	Now func() time.Time
	// Compile reads and compiles a policy. What it refuses it has told.
	Compile func(ctx context.Context, path string) (*profiles.Set, sources.Policy, error)
}

// asked is what the verb is asked.
type asked struct {
	policy, agent, state, since string
	json                        bool
}

// New returns the verb.
func New(cfg Config) *cobra.Command {
	var q asked
	cmd := &cobra.Command{
		Use:   "suggest -p PATH",
		Short: "Suggest narrower imports from what programs used",
		Long: `Suggest reads from the audit log which modules the Python programs of an agent
imported, as their guests said, and prints the import lists that allow these and
nothing that the policy does not allow. Entries that no program used are named.
Nothing is changed. What a guest says is no proof: read the list before you take
it over.

Exit codes: 0 a list is printed, 2 the policy or the log cannot be read, or the
log has no imports of the agent.`,
		Example: "  ringd suggest -p policy.yaml --agent analyst --since 720h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cfg.suggest(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVarP(&q.policy, "policy", "p", "", "policy file or folder (required)")
	cmd.Flags().StringVar(&q.agent, "agent", "", `agent (default: the only one, else "default")`)
	cmd.Flags().StringVar(&q.state, "state", "", "state folder (default: ~/.local/state/ringd)")
	cmd.Flags().StringVar(&q.since, "since", "", "a time (RFC 3339) or an age such as 720h")
	cmd.Flags().BoolVar(&q.json, "json", false, "print JSON")
	_ = cmd.MarkFlagRequired("policy") // the flag is there
	return cmd
}

// found is what the verb says.
type found struct {
	Agent string `json:"agent"`
	Runs  int    `json:"runs"` // whose imports are known
	imports.Suggestion
}

func (c Config) suggest(ctx context.Context, q asked) error {
	set, files, err := c.Compile(ctx, q.policy)
	if err != nil {
		return err
	}
	name := answer.Agent(set, q.agent)
	a, ok := set.Agent(name)
	if !ok {
		return cli.Usage("the policy has no agent %q", name)
	}
	since, err := auditcmd.Moment("--since", q.since, c.Now())
	if err != nil {
		return err
	}
	state, err := c.State(q.state)
	if err != nil {
		return err
	}
	used, runs, err := read(ctx, cli.Layout(state).Audit, name, since)
	if err != nil {
		return cli.Usage("read log: %w", err)
	}
	out := found{Agent: name, Runs: runs}
	if out.Suggestion, ok = imports.Suggest(a, used); !ok {
		return cli.Usage("the policy does not grant python to agent %q", name)
	}
	if runs == 0 {
		return cli.Usage("the log has no imports of agent %q: there is nothing to suggest from", name)
	}
	if q.json {
		return render.JSON(c.Out, out)
	}
	if _, err := fmt.Fprint(c.Out, text(out, files)); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// read collects the modules that programs of an agent imported, sorted, and in how
// many runs.
func read(ctx context.Context, dir, agent string, since time.Time) ([]string, int, error) {
	used, runs := map[string]bool{}, 0
	for e, err := range audit.Query(ctx, dir, audit.Filter{Agent: agent, Kinds: []audit.Kind{audit.RunEnded}, Since: since}) {
		if err != nil {
			return nil, 0, err
		}
		list := e.Record.Detail["imports"]
		if list == "" {
			continue
		}
		runs++
		for name := range strings.SplitSeq(list, ",") {
			used[name] = true
		}
	}
	return slices.Sorted(maps.Keys(used)), runs, nil
}

// text is the suggestion as a part of a policy, with what it leaves out.
func text(f found, files sources.Policy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# agent %s: what its programs imported, runs: %d\n", render.Clean(f.Agent), f.Runs)
	fmt.Fprintf(&b, "imports:\n  allow: [%s]\n", strings.Join(f.Allow, ", "))
	if len(f.Deny) > 0 {
		fmt.Fprintf(&b, "  deny: [%s] # beside what is denied now\n", strings.Join(f.Deny, ", "))
	}
	for _, r := range f.Unused {
		fmt.Fprintf(&b, "# not used: %s, at %s:%d\n", render.Clean(r.Name), files.Shown(r.Rule.File), r.Rule.Line)
	}
	for _, name := range f.Refused {
		fmt.Fprintf(&b, "# used, and not allowed now: %s\n", render.Clean(name))
	}
	return b.String()
}
