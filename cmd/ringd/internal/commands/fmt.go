package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/format"
)

// fmtFlags holds the flags of fmt.
type fmtFlags struct{ write, check, diff bool }

func newFmt(c PolicyConfig) *cobra.Command {
	var q fmtFlags
	var policy cli.OnePolicy
	cmd := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format policies",
		Long: `Fmt puts the fields of policies into the order of the language, indents by two,
and quotes values that YAML readers disagree about (off, yes, 12:30, dates).
Comments stay, and of several blank lines one stays. The meaning does not
change: fmt compiles the policy before and after, and compares. CUE is formatted
as cue fmt does. JSON is only indented; its fields keep their order.

Without flags fmt prints the result of one file. Without PATH it reads YAML from
stdin. If PATH is a folder, fmt formats the files of the policy and their tests.
Several files need -w, --check or --diff. A file that cannot be read stays as it
is.

Exit codes: 0 done, 1 a file has findings, or --check or --diff found a file to
change, 2 a PATH cannot be read or written.`,
		Example: `  ringd fmt policy.yaml
  ringd fmt -w policies/
  ringd fmt --check policies/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := policy.Paths(args)
			if err != nil {
				return err
			}
			if q.write && (q.check || q.diff) {
				return cli.Usage("-w cannot be combined with --check or --diff")
			}
			return c.format(cmd.Context(), q, paths)
		},
	}
	policy.Bind(cmd, "")
	cmd.Flags().BoolVarP(&q.write, "write", "w", false, "write the files")
	cmd.Flags().BoolVar(&q.check, "check", false, "list the files that would change")
	cmd.Flags().BoolVar(&q.diff, "diff", false, "show the changes, write nothing")
	return cmd
}

// layoutFile is one file to format.
type layoutFile struct {
	path        string // as the user would type it
	name        string // relative to its policy
	before, now []byte
}

func (f *layoutFile) changed() bool { return !bytes.Equal(f.before, f.now) }

func (c PolicyConfig) format(ctx context.Context, q fmtFlags, paths []string) error {
	if len(paths) == 0 {
		if q.write {
			return cli.Usage("-w needs a PATH")
		}
		text, err := cli.Bounded(c.In, schema.MaxFileBytes)
		if err != nil {
			return cli.Usage("read stdin: %w", err)
		}
		f := &layoutFile{path: "stdin", name: "stdin.yaml", before: text}
		refused, err := c.layOut(ctx, cli.Policy{Path: "stdin.yaml"}, []*layoutFile{f})
		return c.reportFormatted(q, []*layoutFile{f}, refused, err)
	}
	var all []*layoutFile
	var refused bool
	for _, path := range paths {
		policy, files, err := readFormat(path)
		if err != nil {
			return cli.Failed(cli.Misused, err)
		}
		bad, err := c.layOut(ctx, policy, files)
		if err != nil {
			return err
		}
		refused = refused || bad
		all = append(all, files...)
	}
	if len(all) > 1 && !q.write && !q.check && !q.diff {
		return cli.Usage("these are %s: give -w, --check or --diff", cli.Count(len(all), "file"))
	}
	return c.reportFormatted(q, all, refused, nil)
}

// readFormat reads the files of a path: one file, or the policy files and tests of a folder.
func readFormat(path string) (cli.Policy, []*layoutFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return cli.Policy{}, nil, fmt.Errorf("read policy: %w", cli.Bare(err))
	}
	if !info.IsDir() {
		text, err := os.ReadFile(path)
		if err != nil {
			return cli.Policy{}, nil, fmt.Errorf("read policy: %w", cli.Bare(err))
		}
		f := &layoutFile{path: path, name: filepath.Base(path), before: text}
		// With layers only the folder compiles; otherwise a single file does too.
		policy, err := cli.ReadSources(filepath.Dir(path))
		if err != nil {
			policy = cli.Policy{Path: path, Sources: []schema.Source{{Name: f.name, Data: text}}}
		}
		return policy, []*layoutFile{f}, nil
	}
	policy, tests, err := cli.ReadTests(path)
	if err != nil {
		return policy, nil, err
	}
	var out []*layoutFile
	for _, src := range append(slices.Clone(policy.Sources), tests...) {
		if strings.HasPrefix(src.Name, "modules/") || strings.HasPrefix(src.Name, "guardrails/") ||
			strings.HasSuffix(src.Name, ".rego") {
			continue
		}
		out = append(out, &layoutFile{path: policy.Shown(src.Name), name: src.Name, before: src.Data})
	}
	return policy, out, nil
}

// layOut formats the files of a policy, and checks that the policy is unchanged. Files with findings stay as
// they are, and refused reports them.
func (c PolicyConfig) layOut(ctx context.Context, policy cli.Policy, files []*layoutFile) (refused bool, err error) {
	after := policy
	after.Sources = slices.Clone(policy.Sources)
	changed := false
	for _, f := range files {
		now, found, err := format.Source(schema.Source{Name: f.name, Data: f.before})
		if err != nil {
			return false, cli.Failed(cli.Refused, err)
		}
		f.now = now
		if found.Refused() {
			f.now, refused = f.before, true
			for i := range found {
				found[i].Pos.File = f.path
			}
			if err := c.Page(c.Err).Findings(found); err != nil {
				return false, err
			}
		}
		for i := range after.Sources {
			if after.Sources[i].Name == f.name && f.changed() {
				after.Sources[i].Data, changed = f.now, true
			}
		}
	}
	if !changed {
		return refused, nil
	}
	return refused, c.checkUnchanged(ctx, policy, after)
}

// checkUnchanged compiles a policy before and after, and compares the sets without places. A policy that does not
// compile has been compared as text.
func (c PolicyConfig) checkUnchanged(ctx context.Context, before, after cli.Policy) error {
	one, _, err := c.Compile(ctx, before)
	if err != nil || one == nil {
		return err
	}
	two, _, err := c.Compile(ctx, after)
	if err != nil {
		return err
	}
	if two == nil || !bytes.Equal(withoutPlaces(one), withoutPlaces(two)) {
		return cli.Failed(cli.Refused, fmt.Errorf("%s: %w: the result would compile to another policy", before.Path,
			format.ErrChanged))
	}
	return nil
}

// withoutPlaces returns a set as JSON without lines, columns and the revision, which is a digest of them.
func withoutPlaces(set *profiles.Set) []byte {
	text, err := json.Marshal(set)
	var v any
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return nil
	}
	if m, ok := v.(map[string]any); ok {
		delete(m, "revision")
	}
	text, _ = json.Marshal(dropPlaces(v)) // it was valid JSON
	return text
}

func dropPlaces(v any) any {
	switch v := v.(type) {
	case map[string]any:
		_, file := v["file"]
		_, line := v["line"]
		for name, inner := range v {
			if file && line && (name == "line" || name == "column") {
				delete(v, name)
				continue
			}
			v[name] = dropPlaces(inner)
		}
	case []any:
		for i := range v {
			v[i] = dropPlaces(v[i])
		}
	}
	return v
}

// reportFormatted writes, lists or shows the formatted files.
func (c PolicyConfig) reportFormatted(q fmtFlags, files []*layoutFile, refused bool, err error) error {
	if err != nil {
		return err
	}
	changed := false
	for _, f := range files {
		changed = changed || f.changed()
		switch {
		case q.diff && f.changed():
			name := cli.Visible(filepath.ToSlash(f.path))
			_, err = safetext.Bytes(c.Out).Write(diff.Diff(name, f.before, name, f.now))
		case q.check && f.changed():
			_, err = fmt.Fprintln(c.Out, cli.Visible(filepath.ToSlash(f.path)))
		case q.write && f.changed():
			if err = atomicfile.Rewrite(f.path, f.now); err == nil {
				_, err = fmt.Fprintln(c.Out, cli.Visible(filepath.ToSlash(f.path)))
			}
		case !q.diff && !q.check && !q.write && !refused:
			_, err = safetext.Bytes(c.Out).Write(f.now)
		}
		if err != nil {
			return cli.Usage("write: %w", cli.Bare(err))
		}
	}
	if refused || changed && (q.check || q.diff) {
		return cli.Failed(cli.Refused, nil)
	}
	return nil
}
