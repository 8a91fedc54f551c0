package commands

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema"
)

func newVet(c PolicyConfig) *cobra.Command {
	var policy cli.OnePolicy
	var format, interpreter, workspace string
	var probe bool
	cmd := &cobra.Command{
		Use:   "vet [PATH…]",
		Short: "Check policies and print every finding",
		Long: `Vet reads policies and prints every finding, sorted, as file:line:col: code:
message. Each PATH is a file or a folder (.yaml .yml .json .cue); the default is
this folder. At a terminal findings are wrapped at 80 columns and show the line
of the file with a caret. Warnings refuse nothing. Vet and lint print them;
other commands print only their number.

With --probe vet also checks this host: which Python packages of a policy are
installed, the digest of each environment that a policy grants, and whether
every listed package can be imported under the policy, each in a guest. A
package that a rule breaks refuses the policy. These are warnings: a package
that is not installed, $WORKSPACE without --workspace, a path that does not
exist, and a writable folder on the disk of the state folder.

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
			look := LookFunc(nil)
			if probe {
				look = c.withWorkspace(c.Probe(interpreter), workspace)
			}
			read, err := readAll(paths)
			if err != nil {
				return err
			}
			found, err := c.vet(cmd.Context(), read, look)
			if err != nil {
				return err
			}
			return c.reportVet(format, read, found)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&format, "format", "text", "text, json or sarif")
	cmd.Flags().BoolVar(&probe, "probe", false, "check the listed Python packages on this host")
	cmd.Flags().StringVar(&interpreter, "python", "", "interpreter, as python.interpreter of serve")
	cmd.Flags().StringVar(&workspace, "workspace", "", "with --probe: folder of $WORKSPACE")
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(
		[]string{"text", "json", "sarif"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// readAll reads each path as a separate policy.
func readAll(paths []string) (read []cli.Policy, err error) {
	for _, path := range paths {
		files, err := ReadPolicy(path)
		if err != nil {
			return nil, err
		}
		read = append(read, files)
	}
	return read, nil
}

// vet checks each policy by itself. look may be nil.
func (c PolicyConfig) vet(ctx context.Context, read []cli.Policy, look LookFunc) (schema.Diagnostics, error) {
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

// linesOf returns a lookup of source lines by the file names of findings.
func linesOf(read []cli.Policy) func(file string, line int) (string, bool) {
	split := map[string][]string{}
	return func(file string, line int) (string, bool) {
		lines, ok := split[file]
		for _, p := range read {
			for i := 0; i < len(p.Sources) && !ok; i++ {
				if ok = p.Shown(p.Sources[i].Name) == file; ok {
					lines = strings.Split(string(p.Sources[i].Data), "\n")
					split[file] = lines
				}
			}
		}
		if line < 1 || line > len(lines) {
			return "", false
		}
		return lines[line-1], true
	}
}

func (c PolicyConfig) reportVet(format string, read []cli.Policy, found schema.Diagnostics) error {
	var err error
	switch format {
	case "json":
		list := []vetFinding{}
		for _, d := range found {
			severity := "error"
			if d.Severity == schema.Warning {
				severity = "warning"
			}
			list = append(list, vetFinding{d.Pos.File, d.Pos.Line, d.Pos.Column, d.Code, d.Msg, d.Hint, severity,
				d.Related})
		}
		err = cli.JSON(c.Out, map[string]any{"findings": list})
	case "sarif":
		err = cli.JSON(c.Out, cli.SARIF(found, c.Version))
	default:
		page := c.Page(c.Out)
		page.Line = linesOf(read)
		err = page.Findings(found)
	}
	if err != nil {
		return err
	}
	if found.Refused() {
		return cli.Failed(cli.Refused, nil)
	}
	return nil
}
