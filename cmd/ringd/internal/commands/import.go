package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/convert"
	"github.com/ringd/ringd/schema/format"
)

// importFlags holds the flags and arguments of import.
type importFlags struct {
	from, out, name, owner string
	json, strict           bool
}

func newImport(cfg InitConfig) *cobra.Command {
	var q importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import settings of another system as a policy",
		Long: `Import reads the settings of another system and prints the nearest policy:
compact (the short form of ringd), claude-code (settings.json), codex
(config.toml) and srt (.srt-settings.json). The policy never allows more than
the settings do. A setting without an exact equivalent is left out, or becomes
stricter, and is listed on stderr: read that list before you use the policy.
Programs without a path are looked up in this PATH.

Exit codes: 0 the policy is printed, 1 with --strict: a setting has no exact
equivalent, 2 FILE cannot be read or has no such settings.`,
		Example: `  ringd import ~/.claude/settings.json > policy.yaml
  ringd import --from codex config.toml -o policy.yaml
  ringd import --from srt ~/.srt-settings.json --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return cfg.imports(cmd.Context(), q, args[0]) },
	}
	cmd.Flags().StringVar(&q.from, "from", "", "the format (default: by the name of FILE)")
	cmd.Flags().StringVarP(&q.out, "output", "o", "", "write the policy to this new file instead of stdout")
	cmd.Flags().StringVar(&q.name, "name", "", "metadata.name (default: by the format)")
	cmd.Flags().StringVar(&q.owner, "owner", "", "such as team:devex@acme.example (default: this user)")
	cmd.Flags().BoolVar(&q.json, "json", false, "print the policy and each setting's outcome as JSON")
	cmd.Flags().BoolVar(&q.strict, "strict", false, "exit with 1 if a setting has no exact equivalent")
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(
		convert.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// result is the JSON result of import.
type result struct {
	Format   string             `json:"format"`
	Policy   string             `json:"policy"` // YAML
	Settings []convert.Line     `json:"settings"`
	Findings schema.Diagnostics `json:"findings"`
}

func (c InitConfig) imports(ctx context.Context, q importFlags, path string) error {
	formatName := q.from
	if formatName == "" {
		if formatName = convert.Guess(path); formatName == "" {
			return cli.Usage("--from is missing, and the format is not known from the name %s", filepath.Base(path))
		}
	}
	if !slices.Contains(convert.Formats(), formatName) {
		return cli.Usage("--from %q: want %s", formatName, strings.Join(convert.Formats(), ", "))
	}
	text, err := readFile(path)
	if err != nil {
		return cli.Failed(cli.Misused, fmt.Errorf("read settings: %w", cli.Bare(err)))
	}
	by, err := policyOwner(q.owner)
	if err != nil {
		return err
	}
	called := q.name
	if called == "" {
		called = "from-" + formatName
	}
	p, lines, err := convert.Policy(
		convert.Config{Name: called, Owner: by, Find: findProgram, Root: c.root(path)},
		formatName,
		filepath.Base(path),
		text,
	)
	if err != nil {
		return cli.Usage("%s: %w", path, err)
	}
	written, err := format.YAML(p)
	if err != nil {
		return err
	}
	found, err := c.Check(ctx, cli.Policy{Path: "policy.yaml",
		Sources: []schema.Source{{Name: "policy.yaml", Data: written}}})
	if err != nil {
		return cli.Failed(cli.Unavailable, fmt.Errorf("compile the policy: %w", err))
	}
	if err := c.report(q, result{formatName, string(written), lines, found}); err != nil {
		return err
	}
	inexact := slices.ContainsFunc(lines, func(l convert.Line) bool {
		return l.Outcome == convert.Left || l.Outcome == convert.Stricter
	})
	if found.Refused() || q.strict && inexact {
		return cli.Failed(cli.Refused, nil)
	}
	return nil
}

// root returns the folder for paths with one leading slash in settings of Claude Code. For a user's own
// settings it is the folder of the file, otherwise "" for the working folder.
func (c InitConfig) root(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil || c.Env.Home == "" || filepath.Dir(abs) != filepath.Join(c.Env.Home, ".claude") {
		return ""
	}
	return "~/.claude"
}

// report prints the policy and, on the other stream, what became of each setting.
func (c InitConfig) report(q importFlags, r result) error {
	switch {
	case q.out != "":
		if err := createFile(q.out, []byte(r.Policy)); err != nil {
			return cli.Failed(cli.Misused, fmt.Errorf("write policy: %w", cli.Bare(err)))
		}
		if q.json {
			if err := cli.JSON(c.Out, r); err != nil {
				return err
			}
		}
	case q.json:
		if err := cli.JSON(c.Out, r); err != nil {
			return err
		}
	default:
		if _, err := fmt.Fprint(safetext.Bytes(c.Out), r.Policy); err != nil {
			return fmt.Errorf("write policy: %w", err)
		}
	}
	if q.json {
		return nil
	}
	counts := map[convert.Outcome]int{}
	for _, l := range r.Settings {
		counts[l.Outcome]++
		if l.Outcome == convert.Exact || l.Outcome == convert.NoPolicy {
			continue
		}
		fmt.Fprintf(c.Err, "%s: %s", l.Outcome, cli.Visible(l.Path))
		if l.Value != "" {
			fmt.Fprintf(c.Err, ": %s", cli.Visible(l.Value))
		}
		fmt.Fprintf(c.Err, "\n    %s\n", strings.Join(cli.Folded(cli.Block(l.Why), importWidth), "\n    "))
	}
	fmt.Fprintf(c.Err, "%d settings: %d exact, %d stricter, %d left out, %d not part of a policy\n",
		len(r.Settings), counts[convert.Exact], counts[convert.Stricter], counts[convert.Left],
		counts[convert.NoPolicy])
	if !r.Findings.Refused() {
		return nil
	}
	refusing := slices.DeleteFunc(slices.Clone(r.Findings), func(d schema.Diagnostic) bool {
		return d.Severity == schema.Warning
	})
	if err := c.Page(c.Err).Findings(refusing); err != nil {
		return err
	}
	fmt.Fprintln(c.Err, "the policy does not compile yet: correct these lines first")
	return nil
}

// importWidth is the width of an indented reason, in 80 columns.
const importWidth = 76

// readFile reads a settings file with a size limit.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := cli.Bounded(f, schema.MaxFileBytes)
	return text, errors.Join(err, f.Close())
}
