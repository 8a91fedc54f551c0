package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/schema"
)

// probeFor bounds what doctor tries out.
const probeFor = 30 * time.Second

func newDoctor(p *program) *cobra.Command {
	var asJSON bool
	var state string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can enforce, layer by layer",
		Long: `Doctor tries every layer out and says whether this host enforces it, why not,
and what would help. A layer marked * is needed by the default profile
(JavaScript, minTier wasm). The layer state is the room on the disk of the state
folder: without records nothing runs. With --state DIR it is needed.

Exit codes: 0 the default profile can be enforced, 125 it cannot.`,
		Example: "  ringd doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), probeFor)
			defer cancel()
			h := p.examine(ctx, state)
			if asJSON {
				if err := render.JSON(p.Out, h); err != nil {
					return err
				}
			} else {
				p.Page(p.Out).Health(h)
			}
			if !h.Enforceable {
				return cli.Failed(cli.Unavailable, errors.New("the default profile cannot be enforced on this host"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "the daemon's state folder (default: ~/.local/state/ringd)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) examine(ctx context.Context, state string) render.Health {
	h := render.Health{Enforceable: true}
	h.Add(p.examineCompiler(ctx))
	around, tier, engine := p.probeGuest(ctx)
	h.Tier = tier
	h.Add(engine)
	for _, name := range sortedKeys(around) {
		if name == "wasm" {
			continue // the engine's own line
		}
		h.Add(render.LayerOf(name, around[name]))
	}
	if dir := cmp.Or(state, p.Env.State); dir != "" {
		h.Add(cli.StateLayer(dir, state != ""))
	}
	return h
}

// examineCompiler compiles a small policy in the child.
func (p *program) examineCompiler(ctx context.Context) render.Layer {
	l := render.Layer{Name: "compiler", Required: true, State: render.LayerUnavailable, Fix: "ringd starts itself as a child: its file must be there and allowed to run"}
	text := []byte("interpreter_ring:\n  allowed_imports: []\n")
	_, found, err := p.compiler().run(ctx, []schema.Source{{Name: "policy.yaml", Data: text}})
	switch {
	case err != nil:
		l.Reason = err.Error()
	case found.Refused():
		l.Reason, l.Fix = found.Error(), "report this: the policy is a fixed one"
	default:
		l.State, l.Reason, l.Fix = render.LayerEnforced, "policies compile in a process with limits on time and memory", ""
	}
	return l
}
