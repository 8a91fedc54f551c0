package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/schema"
)

func newSchema(c PolicyConfig) *cobra.Command {
	var on string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of policies, for editors",
		Long: `Schema prints the JSON Schema of both forms of a policy. Editors with the YAML
language server complete and check a policy that begins with
  # yaml-language-server: $schema=ringd.schema.json

With --guardrail it prints the JSON Schema of the input of a guardrail, on the
policy or on calls, for "opa eval --schema" and Rego editors.`,
		Example: `  ringd schema > ringd.schema.json
  ringd schema --guardrail policy > input.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if on != "" {
				s, ok := guardrail.Schemas()[on]
				if !ok {
					return cli.Usage("--guardrail %q: want policy or call", on)
				}
				return cli.JSON(c.Out, s)
			}
			b, err := schema.JSONSchema()
			if err != nil {
				return fmt.Errorf("make JSON Schema: %w", err)
			}
			_, err = fmt.Fprintf(c.Out, "%s\n", b)
			return err
		},
	}
	cmd.Flags().StringVar(&on, "guardrail", "", "schema of the input of a guardrail: policy or call")
	_ = cmd.RegisterFlagCompletionFunc("guardrail", cobra.FixedCompletions(
		[]string{guardrail.OnPolicy, guardrail.OnCall}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
