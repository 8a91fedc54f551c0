package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/decide"
	"github.com/ringd/ringd/profiles"
)

func newDecide(p *program) *cobra.Command {
	var policy, agent, workspace string
	cmd := &cobra.Command{
		Use:   "decide -p PATH",
		Short: "Decide actions, one a line; runs nothing",
		Long: `Decide reads one action a line from stdin, as JSON, and prints one decision a
line, in the same order. It runs nothing, opens nothing and resolves nothing.
A line that is not a valid action is denied as action.malformed; the rest goes
on.

Exit codes: 0 nothing denied, 1 something denied, 2 the policy or stdin cannot
be read.`,
		Example: `  echo '{"import":{"executor":"python","module":"urllib3.util"}}' |
    ringd decide -p policy.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := p.compiled(cmd.Context(), policy)
			if err != nil {
				return err
			}
			d := set.Decider(defaultAgent(set, agent), profiles.Environment{
				Workspace: workspace, Home: p.Env.Home, Now: time.Now(), Condition: (&decide.Conditions{}).Decide(cmd.Context()),
			})
			denied, err := decide.Lines(cmd.Context(), d, set.Revision, p.In, p.Out)
			if err != nil {
				return cli.Failed(cli.Misused, err)
			}
			if denied {
				return cli.Failed(cli.Refused, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&policy, "policy", "p", "", "policy file or folder (required)")
	agentFlag(cmd, &agent)
	cmd.Flags().StringVar(&workspace, "workspace", "/workspace", "what $WORKSPACE stands for")
	required(cmd, "policy")
	return cmd
}

func agentFlag(cmd *cobra.Command, agent *string) {
	cmd.Flags().StringVar(agent, "agent", "", "agent (default: the only one, else \"default\")")
}

// defaultAgent is the agent that is meant when none is named: the only one of
// the set, else that of the compact form.
func defaultAgent(set *profiles.Set, agent string) string {
	if agent == "" && len(set.Agents) == 1 {
		for name := range set.Agents {
			return name
		}
	}
	if agent == "" {
		return "default"
	}
	return agent
}
