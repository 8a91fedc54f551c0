// The commands that decide actions and run nothing: decide, for machines, and explain, for people.

package commands

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
)

// DecideConfig configures the commands.
type DecideConfig struct {
	*cli.Program
	Now func() time.Time
	// Compile reads and compiles a policy. It has printed what it refuses.
	Compile func(ctx context.Context, path string) (*profiles.Set, cli.Policy, error)
	// Layers returns what the policy and each layer above it decide about an action. It returns nil if the
	// policy cannot be found on its own.
	Layers func(ctx context.Context, files cli.Policy, policy string, a layers.AskedAction) (
		[]layers.LayerAnswer, error)
	// Scripts configures the process that parses scripts. Workspace and Home are set here.
	Scripts worker.ScriptsConfig
	Calls   worker.CallsConfig
}

type decideVerbs struct{ DecideConfig }

// NewDecide returns the commands.
func NewDecide(cfg DecideConfig) []*cobra.Command {
	v := &decideVerbs{cfg}
	return []*cobra.Command{newDecide(v), newExplain(v)}
}

// target selects the policy and the agent that decide.
type target struct {
	policy           cli.OnePolicy
	path             string // as the policy names it
	agent, workspace string
}

func (t *target) bind(cmd *cobra.Command) {
	t.policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&t.agent, "agent", "", `agent (default: the only one, else "default")`)
	cmd.Flags().StringVar(&t.workspace, "workspace", "/workspace", "folder of $WORKSPACE")
}

// decider is a policy that decides. The caller closes it.
type decider struct {
	*profiles.Decider
	set    *profiles.Set
	files  cli.Policy
	reader *worker.Scripts
	calls  *worker.Calls
}

// Close ends the processes that parsed scripts and evaluated guardrails.
func (d *decider) Close() error { return errors.Join(d.reader.Close(), d.calls.Close()) }

func (v *decideVerbs) decider(ctx context.Context, t target) (*decider, error) {
	set, files, err := v.Compile(ctx, t.path)
	if err != nil {
		return nil, err
	}
	cfg := v.Scripts
	cfg.Workspace, cfg.Home = t.workspace, v.Env.Home
	reader, err := worker.NewScripts(cfg)
	if err != nil {
		return nil, err
	}
	calls := worker.NewCalls(v.Calls)
	return &decider{set: set, files: files, reader: reader, calls: calls,
		Decider: set.Decider(AgentNamed(set, t.agent), profiles.Environment{
			Workspace: t.workspace, Home: v.Env.Home, Now: v.Now(), Script: reader.Decide(ctx),
			Condition: calls.Condition(ctx), Guardrail: calls.Guardrail(ctx),
		})}, nil
}

func newDecide(v *decideVerbs) *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "decide [PATH]",
		Short: "Decide actions, one per line; runs nothing",
		Long: `Decide reads one action per line from stdin, as JSON, and prints one decision
per line, in the same order. It runs no program, opens no file and resolves no
name. A line that is not a valid action is denied as action.malformed, and
reading continues. The text of a script is parsed in a separate process, which
is ended if it takes too long.

Exit codes: 0 nothing denied, 1 something denied, 2 the policy or stdin cannot
be read.`,
		Example: `  echo '{"import":{"executor":"python","module":"urllib3.util"}}' |
    ringd decide policy.yaml
  echo '{"shell":{"script":"git fetch && rm -fr build"}}' |
    ringd decide policy.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if t.path, err = t.policy.Path(args); err != nil {
				return err
			}
			d, err := v.decider(cmd.Context(), t)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, d.Close()) }()
			denied, err := decideLines(cmd.Context(), d.Decider, d.set.Revision, v.In, v.Out)
			if err != nil {
				return cli.Failed(cli.Misused, err)
			}
			if denied {
				return cli.Failed(cli.Refused, nil)
			}
			return nil
		},
	}
	t.bind(cmd)
	return cmd
}

// AgentNamed returns agent, or a default if it is empty: the only agent of the set, else that of the compact
// form.
func AgentNamed(set *profiles.Set, agent string) string {
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
