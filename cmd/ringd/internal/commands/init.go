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

// kind is one template: what it is for, its files, and the shell command that makes
// what its paths below $WORKSPACE name, where it names more than the workspace: a
// guest does not start while a path that is granted or denied to it is missing.
type kind struct {
	name, about string
	files       []string
	prepare     string
}

func kinds() []kind {
	return []kind{
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
	for _, k := range kinds() {
		out = append(out, k.name)
	}
	return out
}

// asked is what init is asked.
type asked struct {
	template, owner string
	list            bool
}

func newInit(cfg InitConfig) *cobra.Command {
	var q asked
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
	for _, k := range kinds() {
		if _, err := fmt.Fprintf(c.Out, "%-14s %s\n", k.name, k.about); err != nil {
			return fmt.Errorf("write list: %w", err)
		}
	}
	return nil
}

// filled is what a template is filled with.
type filled struct {
	Owner   string
	Layered bool // the agents have a parent
}

func (c InitConfig) initialise(ctx context.Context, q asked, dir string) error {
	at := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == q.template })
	if at < 0 {
		return cli.Usage("--template %q: want one of %s", q.template, strings.Join(names(), ", "))
	}
	by, err := owner(q.owner)
	if err != nil {
		return err
	}
	k := kinds()[at]
	files, policy := map[string][]byte{}, cli.Policy{Path: dir, Folder: true}
	for _, f := range k.files {
		if files[f], err = fill(f, filled{by, k.name == "layered"}); err != nil {
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
	if err := write(dir, files, k.files); err != nil {
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

// fill reads a template and puts the values in.
func fill(file string, with filled) ([]byte, error) {
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
