package commands

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/format"
)

//go:embed templates
var templates embed.FS

// policyTemplate is one template: its purpose, its files, and the shell command that creates the paths below $WORKSPACE
// that it names. A guest does not start while a path that is granted or denied to it is missing.
type policyTemplate struct {
	name, about string
	files       []string
	prepare     string
}

func policyTemplates() []policyTemplate {
	return []policyTemplate{
		{"code-review", "reads a change, asks reviewers, comments once a person approves",
			[]string{"code-review.yaml", "code-review_test.yaml"}, ""},
		{"data-engineer", "Python with pandas over one warehouse, through a gateway",
			[]string{"data-engineer.yaml", "data-engineer_test.yaml"}, "mkdir -p data out"},
		{"orchestrator", "JavaScript that starts subagents and nothing else",
			[]string{"orchestrator.yaml", "orchestrator_test.yaml"}, ""},
		{"layered", "an organisation, a team, and the three agents below them", []string{
			"org.yaml", "team.yaml", "code-review.yaml", "code-review_test.yaml", "data-engineer.yaml",
			"data-engineer_test.yaml",
			"orchestrator.yaml", "orchestrator_test.yaml"}, "mkdir -p data out .git/hooks && touch .env"},
	}
}

func names() (out []string) {
	for _, k := range policyTemplates() {
		out = append(out, k.name)
	}
	return out
}

// initFlags holds the flags of init.
type initFlags struct {
	template, owner string
	list            bool
}

func newInit(cfg InitConfig) *cobra.Command {
	var q initFlags
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first policy from a template",
		Long: `Init writes a policy and its tests from a template into DIR (default: this
folder). The files compile as they are, and their comments say what to change.
If one of the files exists, init writes nothing.

Exit codes: 0 written, 2 a file exists already or DIR cannot be written.`,
		Example: `  ringd init --list
  ringd init policies --template data-engineer --owner team:data@acme.example
  ringd vet policies && ringd test policies`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.list {
				return cfg.listed()
			}
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return cfg.initialise(cmd.Context(), q, dir)
		},
	}
	cmd.Flags().StringVarP(&q.template, "template", "t", "code-review", "template to use; see --list")
	cmd.Flags().StringVar(&q.owner, "owner", "", "such as team:devex@acme.example (default: this user)")
	cmd.Flags().BoolVar(&q.list, "list", false, "list the templates")
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c InitConfig) listed() error {
	for _, k := range policyTemplates() {
		if _, err := fmt.Fprintf(c.Out, "%-14s %s\n", k.name, k.about); err != nil {
			return fmt.Errorf("write list: %w", err)
		}
	}
	return nil
}

// templateValues holds the values of a template.
type templateValues struct {
	Owner   string
	Layered bool // the agents have a parent
}

func (c InitConfig) initialise(ctx context.Context, q initFlags, dir string) error {
	at := slices.IndexFunc(policyTemplates(), func(k policyTemplate) bool { return k.name == q.template })
	if at < 0 {
		return cli.Usage("--template %q: want one of %s", q.template, strings.Join(names(), ", "))
	}
	by, err := policyOwner(q.owner)
	if err != nil {
		return err
	}
	k := policyTemplates()[at]
	files, policy := map[string][]byte{}, cli.Policy{Path: dir, Folder: true}
	for _, f := range k.files {
		if files[f], err = fillTemplate(f, templateValues{by, k.name == "layered"}); err != nil {
			return err
		}
		if !strings.HasSuffix(f, "_test.yaml") {
			policy.Sources = append(policy.Sources, schema.Source{Name: f, Data: files[f]})
		}
	}
	found, err := c.Check(ctx, policy)
	if err != nil {
		return cli.Failed(cli.Unavailable, fmt.Errorf("compile the policy: %w", err))
	}
	if found.Refused() {
		return fmt.Errorf("template %s with owner %s does not compile: %w", k.name, by, found)
	}
	if err := writeNew(dir, files, k.files); err != nil {
		return err
	}
	for _, f := range k.files {
		if _, err := fmt.Fprintln(c.Out, filepath.Join(dir, f)); err != nil {
			return fmt.Errorf("write list: %w", err)
		}
	}
	fmt.Fprintf(c.Err, "next: ringd vet %s && ringd test %s\n", dir, dir)
	if k.prepare != "" {
		fmt.Fprintf(c.Err, "before a run, in the workspace: %s\n", k.prepare)
	}
	return nil
}

// fillTemplate reads a template and inserts the values.
func fillTemplate(file string, with templateValues) ([]byte, error) {
	text, err := fs.ReadFile(templates, "templates/"+file)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	t, err := template.New(file).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, with); err != nil {
		return nil, fmt.Errorf("fill template: %w", err)
	}
	if strings.HasSuffix(file, "_test.yaml") {
		return out.Bytes(), nil
	}
	written, found, err := format.Source(schema.Source{Name: file, Data: out.Bytes()})
	if err == nil && found.Refused() {
		err = found
	}
	if err != nil {
		return nil, fmt.Errorf("lay out template %s: %w", file, err)
	}
	return written, nil
}
