package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/profiles"
)

func newCompile(c PolicyConfig) *cobra.Command {
	var policy cli.OnePolicy
	var agent, dir string
	cmd := &cobra.Command{
		Use:   "compile [PATH]",
		Short: "Print the compiled set of a policy",
		Long: `Compile prints the compiled form of a policy: canonical JSON (RFC 8785), with
the same bytes and the same revision on every host. With --agent it prints the
part of that agent. With -o DIR it writes set.json, and agent-NAME.json for each
agent, instead.

Exit codes: 0 done, 1 findings, 2 the policy cannot be read.`,
		Example: `  ringd compile policy.yaml
  ringd compile policies/ --agent code-review
  ringd compile policies/ -o out/`,
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
			return c.writeSet(set, agent, dir)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&agent, "agent", "", "print this agent's part only")
	cmd.Flags().StringVarP(&dir, "output", "o", "", "write into this folder instead of printing")
	return cmd
}

func (c PolicyConfig) writeSet(set *profiles.Set, agent, dir string) error {
	parts := map[string][]byte{}
	for name, a := range set.Agents {
		if agent != "" && name != agent {
			continue
		}
		b, err := canonical(a)
		if err != nil {
			return err
		}
		parts[name] = b
	}
	if agent != "" && len(parts) == 0 {
		return cli.NoAgent(set, agent)
	}
	whole, err := canonical(set)
	if err != nil {
		return err
	}
	switch {
	case dir != "":
		return writeParts(dir, whole, parts)
	case agent != "":
		_, err = fmt.Fprintf(safetext.Bytes(c.Out), "%s\n", parts[agent])
	default:
		_, err = fmt.Fprintf(safetext.Bytes(c.Out), "%s\n", whole) // the revision is the digest of it
	}
	return err
}

func writeParts(dir string, whole []byte, parts map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Usage("make folder: %w", cli.Bare(err))
	}
	write := func(name string, b []byte) error {
		return os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o644)
	}
	err := write("set.json", whole)
	for name, b := range parts {
		err = errors.Join(err, write("agent-"+name+".json", b))
	}
	if err != nil {
		return cli.Usage("write compiled set: %w", err)
	}
	return nil
}

// canonical returns the RFC 8785 form of a value.
func canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return profiles.Canonical(b)
}
