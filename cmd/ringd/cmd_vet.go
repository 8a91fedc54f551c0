package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

func newVet(p *program) *cobra.Command {
	var format, interpreter string
	var probe bool
	cmd := &cobra.Command{
		Use:   "vet PATH…",
		Short: "Check policies and print every finding",
		Long: `Vet reads policies, each PATH a file or a folder (.yaml .yml .json .cue), and
prints every finding at once, sorted, as file:line:col: code: message.

With --probe it looks at this host too: which packages of Python that a policy
lists are installed here, the digest of each environment that it grants, and
whether every listed package can be imported under the policy, each in a guest.
One that a rule breaks refuses the policy; what is not installed is a warning.

Exit codes: 0 nothing to refuse, 1 findings, 2 a PATH cannot be read.`,
		Example: `  ringd vet policy.yaml
  ringd vet --format sarif policies/ > vet.sarif
  ringd vet --probe policy.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if format != "text" && format != "json" && format != "sarif" {
				return cli.Usage("--format %q: want text, json or sarif", format)
			}
			look := hostLook(nil)
			if probe {
				look = p.pythonLook(interpreter)
			}
			found, err := p.vet(cmd.Context(), paths, look)
			if err != nil {
				return err
			}
			return p.reportVet(format, found)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json or sarif")
	cmd.Flags().BoolVar(&probe, "probe", false, "try the Python packages that they list, on this host")
	cmd.Flags().StringVar(&interpreter, "python", "", "its interpreter; as python.interpreter for serve")
	return cmd
}

// readPolicy reads what -p names.
func readPolicy(path string) (sources.Policy, error) {
	policy, err := sources.Read(path)
	if err != nil {
		return policy, cli.Failed(cli.Misused, err)
	}
	return policy, nil
}

// hostLook finds what a policy that was compiled meets on this host.
type hostLook func(context.Context, *profiles.Set) (schema.Diagnostics, error)

// vet checks each path as a policy of its own; look may be nil.
func (p *program) vet(ctx context.Context, paths []string, look hostLook) (schema.Diagnostics, error) {
	var read []sources.Policy
	for _, path := range paths {
		files, err := readPolicy(path)
		if err != nil {
			return nil, err
		}
		read = append(read, files)
	}
	var found schema.Diagnostics
	for _, files := range read {
		set, ds, err := p.compile(ctx, files)
		if err != nil {
			return nil, err
		}
		found = append(found, ds...)
		if look == nil || set == nil || ds.Refused() {
			continue
		}
		if ds, err = look(ctx, set); err != nil {
			return nil, err
		}
		found = append(found, files.Place(ds)...)
	}
	return found.Sort(), nil
}

// vetFinding is one finding of --format json.
type vetFinding struct {
	File     string       `json:"file"`
	Line     int          `json:"line"`
	Column   int          `json:"column"`
	Code     string       `json:"code"`
	Message  string       `json:"message"`
	Hint     string       `json:"hint,omitempty"`
	Severity string       `json:"severity"`
	Related  []schema.Pos `json:"related,omitempty"`
}

func (p *program) reportVet(format string, found schema.Diagnostics) error {
	var err error
	switch format {
	case "json":
		list := []vetFinding{}
		for _, d := range found {
			severity := "error"
			if d.Severity == schema.Warning {
				severity = "warning"
			}
			list = append(list, vetFinding{d.Pos.File, d.Pos.Line, d.Pos.Column, d.Code, d.Msg, d.Hint, severity, d.Related})
		}
		err = render.JSON(p.Out, map[string]any{"findings": list})
	case "sarif":
		err = render.JSON(p.Out, render.SARIF(found, buildVersion().Version))
	default:
		err = p.Page(p.Out).Findings(found)
	}
	if err != nil {
		return err
	}
	if found.Refused() {
		return cli.Failed(cli.Refused, nil)
	}
	return nil
}

// refuseFindings prints findings where a result cannot be given; nil when none
// of them refuses.
func (p *program) refuseFindings(found schema.Diagnostics) error {
	if err := p.Page(p.Err).Findings(found); err != nil {
		return err
	}
	if !found.Refused() {
		return nil
	}
	n := 0
	for _, d := range found {
		if d.Severity == schema.Error {
			n++
		}
	}
	return cli.Failed(cli.Refused, fmt.Errorf("the policy is refused: %s", render.Count(n, "finding")))
}
