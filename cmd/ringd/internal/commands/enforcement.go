package commands

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/compiler/enforcement"
	"github.com/ringd/ringd/profiles"
)

// enforced lists the layers that enforce the fields of an agent.
type enforced struct {
	Agent    string            `json:"agent"`
	Revision string            `json:"revision"`
	Rows     []enforcement.Row `json:"rows"`
	Host     *hostReport       `json:"host,omitempty"` // nil without --host
}

func newEnforcement(c PolicyConfig) *cobra.Command {
	var policy cli.OnePolicy
	var agent, workspace string
	var asJSON, host bool
	cmd := &cobra.Command{
		Use:   "enforcement [PATH]",
		Short: "Show what enforces each field of a policy",
		Long: `Enforcement prints, for each agent of a policy, the fields that the agent uses,
and what enforces each field in each granted executor: a ring or layer, the
compiler, another party, or nothing. --json also names the tests that show it.

With --host, enforcement starts a guest, as ringd doctor does, and reports
whether this host has the layers that each executor of the agent needs. A
missing layer is an error with a remedy: that executor starts nothing here.
$WORKSPACE in a policy is an error too, unless --workspace names the folder.

A policy that uses a field without enforcement does not compile.
docs/ENFORCEMENT.md has the whole table.

Exit codes: 0 done, 1 findings, 2 the policy cannot be read, or has no such
agent, 125 with --host if a layer is missing.`,
		Example: `  ringd enforcement policies/
  ringd enforcement policies/ --host
  ringd enforcement policies/ --agent code-review --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := policy.Path(args)
			if err != nil {
				return err
			}
			set, _, err := c.Compiled(cmd.Context(), path)
			if err != nil {
				return err
			}
			out, err := enforcedOf(set, agent)
			if err != nil {
				return err
			}
			if host {
				if set, err = placeSet(set, workspace); err != nil {
					return err
				}
				h := c.examine(cmd.Context())
				for i := range out {
					out[i].Host = newHostReport(set.Agents[out[i].Agent], h)
				}
				if err := c.addUnmet(cmd.Context(), set, out); err != nil {
					return err
				}
			}
			return c.enforcement(out, asJSON)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&agent, "agent", "", "this agent only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the tests that show it")
	cmd.Flags().BoolVar(&host, "host", false, "test this host, as ringd doctor does")
	cmd.Flags().StringVar(&workspace, "workspace", "", "with --host: folder of $WORKSPACE")
	_ = cmd.RegisterFlagCompletionFunc("agent", cobra.NoFileCompletions)
	return cmd
}

// enforcedOf returns the agents of a set, or only the given one.
func enforcedOf(set *profiles.Set, agent string) ([]enforced, error) {
	var out []enforced
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		if agent == "" || name == agent {
			out = append(out, enforced{Agent: name, Revision: set.Revision, Rows: enforcement.Used(set.Agents[name])})
		}
	}
	if agent != "" && len(out) == 0 {
		return nil, cli.NoAgent(set, agent)
	}
	return out, nil
}

func (c PolicyConfig) enforcement(out []enforced, asJSON bool) error {
	if asJSON {
		if err := cli.JSON(c.Out, out); err != nil {
			return err
		}
	} else {
		c.enforcedText(out)
	}
	for _, a := range out {
		if a.Host != nil && !a.Host.Enforceable {
			m := a.Host.Missing[0]
			return cli.Failed(cli.Unavailable, fmt.Errorf("this host cannot enforce agent %s: %s needs layer %s",
				cli.Visible(a.Agent), m.Executor, m.Layer))
		}
	}
	return nil
}

func (c PolicyConfig) enforcedText(out []enforced) {
	for _, a := range out {
		fmt.Fprintf(c.Out, "%s\n", cli.Visible(a.Agent))
		for _, r := range a.Rows {
			fmt.Fprintf(c.Out, "  %s\n", r.Name)
			for _, cell := range r.Cells {
				for i, line := range cli.Folded(cell.By, 80-28) {
					head := [2]string{cell.Executor, string(cell.Level)}
					if i > 0 {
						head = [2]string{}
					}
					fmt.Fprintf(c.Out, "    %-8s%-14s  %s\n", head[0], head[1], line)
				}
			}
		}
		if a.Host != nil {
			c.printHost(a.Host)
		}
	}
}
