package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/schema"
)

// probeFor limits the time of the examinations of doctor.
const probeFor = 30 * time.Second

func newDoctor(p *program) *cobra.Command {
	var asJSON, asProfile bool
	var state string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show which isolation layers this host can enforce",
		Long: `Doctor starts a test guest and reports which isolation layers were in force. For
each missing layer it prints the reason and a remedy. The default profile
(JavaScript, minTier wasm) needs the layers marked *. The layer "state" is the
free space on the disk of the state folder, because nothing runs without audit
records. With --state DIR that layer is required too.

--apparmor tests nothing. It prints the AppArmor profile that this ringd needs
on Ubuntu 23.10 and later, for the path of this ringd. See docs/HOSTS.md.

Exit codes: 0 the default profile can be enforced, 125 it cannot.`,
		Example: `  ringd doctor --json
  ringd doctor --apparmor | sudo tee /etc/apparmor.d/ringd &&
    sudo apparmor_parser -r /etc/apparmor.d/ringd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asProfile {
				return p.printAppArmor()
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), probeFor)
			defer cancel()
			h := p.examine(ctx, state)
			if asJSON {
				if err := cli.JSON(p.Out, h); err != nil {
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
	cmd.Flags().BoolVar(&asProfile, "apparmor", false, "print the AppArmor profile for this program")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printAppArmor prints the AppArmor profile for this program.
func (p *program) printAppArmor() error {
	profile, ok := commands.AppArmorProfile(p.Self)
	if !ok {
		return cli.Failed(cli.Refused, fmt.Errorf("the path %q cannot be used in an AppArmor profile: install ringd "+
			"as /usr/local/bin/ringd", p.Self))
	}
	_, err := io.WriteString(p.Out, profile)
	return err
}

func (p *program) examine(ctx context.Context, state string) cli.Health {
	h := cli.Health{Enforceable: true}
	h.Add(p.examineCompiler(ctx))
	p.probe(ctx, &h)
	interpreter, engine := p.examineInterpreter(ctx), p.examineWasm()
	commands.PythonHealth(&h, interpreter, engine)
	h.Add(interpreter)
	h.Add(engine)
	if dir := cmp.Or(state, p.Env.State); dir != "" {
		h.Add(cli.StateLayer(dir, state != ""))
	}
	return h
}

// examineWasm examines the second engine of Python, which every policy may use.
func (p *program) examineWasm() cli.Layer {
	l := cli.Layer{
		Name:   "python_wasm",
		State:  cli.LayerEnforced,
		Reason: "CPython " + place.Version + " in WebAssembly, for policies with tier: wasm",
	}
	err := place.Check(p.wasmDir())
	if errors.Is(err, place.ErrAbsent) {
		err = place.ErrAbsent // the remedy names the place: a path must not be folded
	}
	if err != nil {
		l.State, l.Reason, l.Fix = cli.LayerUnavailable, err.Error(), place.Remedy
	}
	return l
}

// examineCompiler compiles a small policy in the compile child.
func (p *program) examineCompiler(ctx context.Context) cli.Layer {
	l := cli.Layer{Name: "compiler", Required: true, State: cli.LayerUnavailable,
		Fix: "ringd starts itself as a child: its file must exist and be executable"}
	text := []byte("interpreter_ring:\n  allowed_imports: []\n")
	_, found, err := p.compiler().compileChild(ctx, []schema.Source{{Name: "policy.yaml", Data: text}})
	switch {
	case err != nil:
		l.Reason = err.Error()
	case found.Refused():
		l.Reason, l.Fix = found.Error(), "report this: the policy is a fixed one"
	default:
		l.State, l.Reason, l.Fix = cli.LayerEnforced,
			"policies are compiled in a process with limits on time and memory", ""
	}
	return l
}

// examineInterpreter examines the Python interpreter of the host.
func (p *program) examineInterpreter(ctx context.Context) cli.Layer {
	l := cli.Layer{Name: "python", State: cli.LayerUnavailable}
	found, err := p.stacks().newEnvironments("", nil)
	if err != nil {
		l.Reason = err.Error()
		return l
	}
	i, packages, err := found.Host(ctx)
	var no *executors.Unavailable
	switch {
	case errors.As(err, &no):
		l.Reason, l.Fix = no.Text, no.Fix
	case err != nil:
		l.Reason = err.Error()
	default:
		l.State, l.Reason = cli.LayerEnforced, fmt.Sprintf(
			"CPython %s, %s, with %s",
			i.Version,
			i.Path,
			cli.Count(packages, "package"),
		)
	}
	return l
}
