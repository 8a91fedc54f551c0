package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// The states of a layer.
const (
	layerEnforced    = "enforced"
	layerUnavailable = "unavailable"
)

// probeFor bounds what doctor tries out.
const probeFor = 30 * time.Second

// layer is one thing that stands between a program and the host.
type layer struct {
	Name     string `json:"name"`
	State    string `json:"state"`    // enforced | best-effort | unavailable
	Required bool   `json:"required"` // the default profile needs it
	Reason   string `json:"reason"`
	Fix      string `json:"fix,omitempty"`
}

// health is what this host can enforce.
type health struct {
	Enforceable bool    `json:"enforceable"` // the default profile
	Tier        string  `json:"tier"`        // the strongest that a guest gets
	Layers      []layer `json:"layers"`
}

func newDoctor(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can enforce, layer by layer",
		Long: `Doctor tries every layer out and says whether this host enforces it, why not,
and what would help. A layer marked * is needed by the default profile
(JavaScript, minTier wasm).

Exit codes: 0 the default profile can be enforced, 125 it cannot.`,
		Example: "  ringd doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), probeFor)
			defer cancel()
			h := p.examine(ctx)
			if asJSON {
				if err := render.JSON(p.Out, h); err != nil {
					return err
				}
			} else {
				p.printHealth(h)
			}
			if !h.Enforceable {
				return cli.Failed(cli.Unavailable, errors.New("the default profile cannot be enforced on this host"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) examine(ctx context.Context) health {
	h := health{Enforceable: true}
	h.add(p.examineCompiler(ctx))
	around, tier, engine := p.probeGuest(ctx)
	h.Tier = tier
	h.add(engine)
	for _, name := range sortedKeys(around) {
		if name == "wasm" {
			continue // the engine's own line
		}
		h.add(describeLayer(name, around[name]))
	}
	return h
}

func (h *health) add(l layer) {
	h.Layers = append(h.Layers, l)
	if l.Required && l.State != layerEnforced {
		h.Enforceable = false
	}
}

// examineCompiler compiles a small policy in the child.
func (p *program) examineCompiler(ctx context.Context) layer {
	l := layer{Name: "compiler", Required: true, State: layerUnavailable, Fix: "ringd compiles policies on Linux only"}
	text := []byte("interpreter_ring:\n  allowed_imports: []\n")
	_, found, err := p.compiler().run(ctx, []schema.Source{{Name: "policy.yaml", Data: text}})
	switch {
	case err != nil:
		l.Reason = err.Error()
	case found.Refused():
		l.Reason, l.Fix = found.Error(), "report this: the policy is a fixed one"
	default:
		l.State, l.Reason, l.Fix = layerEnforced, "policies compile in a process with limits on time and memory", ""
	}
	return l
}

// describeLayer words a layer of the kernel ring.
func describeLayer(name, state string) layer {
	known := map[string]struct{ holds, fix string }{
		"process":      {"every guest is a process of its own", ""},
		"environment":  {"the environment of a guest is empty", ""},
		"descriptors":  {"a guest has one descriptor, its connection", ""},
		"rlimits":      {"processor time, memory, files and descriptors of a guest are bounded by the kernel", ""},
		"no_new_privs": {"a guest cannot gain privileges by exec", ""},
		"parent_death": {"a guest dies with the daemon", ""},
		"namespaces":   {"own user, mount, network and process namespaces", "not in this version"},
		"mounts":       {"a file tree of its own", "not in this version"},
		"landlock":     {"files by Landlock rules", "not in this version"},
		"seccomp":      {"a list of system calls", "not in this version"},
		"cgroups":      {"memory and processes by control group", "not in this version"},
	}
	k := known[name]
	l := layer{Name: name, State: state, Reason: k.holds, Required: k.fix == ""}
	if state != layerEnforced {
		l.Reason = "not there: " + k.holds
		l.Fix = k.fix
		if !l.Required {
			l.Fix += "; a policy that asks for minTier " + string(profiles.TierOS) + " or above is refused"
		}
	}
	return l
}

func (p *program) printHealth(h health) {
	page := p.Page(p.Out)
	fmt.Fprintf(p.Out, "strongest tier: %s\n", h.Tier)
	for _, l := range h.Layers {
		mark, state := " ", fmt.Sprintf("%-11s", l.State)
		if l.Required {
			mark = "*"
		}
		switch {
		case l.State == layerEnforced:
			state = page.Good(state)
		case l.Required:
			state = page.Bad(state)
		default:
			state = page.Middling(state)
		}
		fmt.Fprintf(p.Out, "%s %-13s %s  %s\n", mark, l.Name, state, l.Reason)
		if l.Fix != "" {
			fmt.Fprintf(p.Out, "  %-13s fix: %s\n", "", l.Fix)
		}
	}
}
