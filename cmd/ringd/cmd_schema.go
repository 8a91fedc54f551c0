package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/schema"
)

func newSchema(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of policies, for editors",
		Long: `Schema prints the JSON Schema of both forms of a policy. Editors with the YAML
language server complete and check a policy that begins with
  # yaml-language-server: $schema=ringd.schema.json`,
		Example: "  ringd schema > ringd.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b, err := schema.JSONSchema()
			if err != nil {
				return fmt.Errorf("make JSON Schema: %w", err)
			}
			_, err = fmt.Fprintf(p.Out, "%s\n", b)
			return err
		},
	}
}
