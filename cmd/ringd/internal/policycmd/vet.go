package policycmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
	"github.com/ringd/ringd/schema"
)

func newVet(c Config) *cobra.Command {
	var policy cli.OnePolicy
	var format, interpreter, workspace string
	var probe bool
	cmd := &cobra.Command{
		Use:   "vet [PATH…]",
		Short: "Check policies and print every finding",
		Long: `Vet reads policies, each PATH a file or a folder (.yaml .yml .json .cue; by
default this folder), and prints every finding at once, sorted, as
file:line:col: code: message. At a terminal they are broken at 80 columns.
Warnings refuse nothing; vet and lint print them, other verbs how many there
are.

With --probe it looks at this host too: which packages of Python that a policy
lists are installed here, the digest of each environment that it grants, and
whether every listed package can be imported under the policy, each in a guest.
One that a rule breaks refuses the policy; what is not installed is a warning,
so is a policy that names $WORKSPACE where --workspace names no folder, a path
that is not there, and a folder that may be written on the disk of the state
folder.

Exit codes: 0 nothing to refuse, 1 findings, 2 a PATH cannot be read.`,
		Example: `  ringd vet policy.yaml
  ringd vet --format sarif policies/ > vet.sarif
  ringd vet --probe policy.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := policy.Paths(args)
			if err != nil {
				return err
			}
			if format != "text" && format != "json" && format != "sarif" {
				return cli.Usage("--format %q: want text, json or sarif", format)
			}
			look := Look(nil)
			if probe {
				look = c.inWorkspace(c.Probe(interpreter), workspace)
			}
			found, err := c.vet(cmd.Context(), paths, look)
			if err != nil {
				return err
			}
			return c.reportVet(format, found)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&format, "format", "text", "text, json or sarif")
	cmd.Flags().BoolVar(&probe, "probe", false, "try the Python packages that they list, on this host")
	cmd.Flags().StringVar(&interpreter, "python", "", "its interpreter; as python.interpreter for serve")
	cmd.Flags().StringVar(&workspace, "workspace", "", "with --probe: folder that $WORKSPACE stands for here")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "sarif"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// vet checks each path as a policy of its own; look may be nil.
func (c Config) vet(ctx context.Context, paths []string, look Look) (schema.Diagnostics, error) {
	var read []sources.Policy
	for _, path := range paths {
		files, err := Read(path)
		if err != nil {
			return nil, err
		}
		read = append(read, files)
	}
	var found schema.Diagnostics
	for _, files := range read {
		set, ds, err := c.Compile(ctx, files)
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

func (c Config) reportVet(format string, found schema.Diagnostics) error {
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
		err = render.JSON(c.Out, map[string]any{"findings": list})
	case "sarif":
		err = render.JSON(c.Out, render.SARIF(found, c.Version))
	default:
		err = c.Page(c.Out).Findings(found)
	}
	if err != nil {
		return err
	}
	if found.Refused() {
		return cli.Failed(cli.Refused, nil)
	}
	return nil
}
