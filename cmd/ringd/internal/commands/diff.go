// The command diff: what a change of a policy grants and takes away, and what it would have changed for the
// decisions in an audit log. Package compiler/diff compares. The command changes nothing.

package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/schema"
)

// DiffConfig configures the command.
type DiffConfig struct {
	*cli.Program
	Version string
	Now     func() time.Time
	// Compile reads and compiles a policy. It has printed what it refuses.
	Compile CompileFunc
	// Earlier is Compile for the old side. An ended exception grants nothing and is no finding there, because
	// that policy was valid once.
	Earlier CompileFunc
	Calls   worker.CallsConfig // evaluates guardrails and conditions about calls
}

// CompileFunc reads and compiles the policy at a path.
type CompileFunc func(ctx context.Context, path string) (Compiled, error)

// Compiled is one policy.
type Compiled struct {
	Set      *profiles.Set
	Files    cli.Policy
	Ceilings []schema.Policy // what bounds its agents, as it was read
}

// diffFlags holds the flags and arguments.
type diffFlags struct {
	format, html, failOn, agent, impact, workspace string
	json                                           bool
}

// NewDiff returns the command.
func NewDiff(cfg DiffConfig) *cobra.Command {
	var q diffFlags
	cmd := &cobra.Command{
		Use:   "diff [OLD] NEW",
		Short: "Compare two policies by what they allow",
		Long: `Diff compares two policies by what they allow, agent by agent, and classifies
every change. A change widens (more is allowed, or less is asked or recorded),
narrows, or is neutral. The order of a list and the way a grant is split up do
not matter. If a change cannot be decided, such as between two conditions that
differ, it counts as widening and is marked "undecided".

Diff also compares what OrgPolicies and TeamPolicies let agents ask for: a
raised ceiling or a lifted denial is "headroom", which --fail-on widens
includes.

OLD and NEW are each a policy file, a folder of policies, or a set that ringd
compile has printed (FILE.json). For a revision in git, check it out first:
  git worktree add /tmp/old main && ringd diff /tmp/old/policies policies

--html writes one self-contained page: what each agent gained and lost in
sentences, then every change with the lines of both sides.

--impact LOG repeats the decisions that an audit log has recorded: would_allow,
would_deny, would_ask, unchanged, and not_replayable with the reason. LOG is a
state folder, the folder of a log, whose chain is verified first, or a file of
ringd audit query --json. Each result is compared with the decision of OLD or,
without OLD, with the recorded one. Expiry is checked at the time of the record.

Exit codes: 0 done, 1 --fail-on matched, or a policy is refused, 2 something
cannot be read.`,
		Example: `  ringd diff old/policies policies
  ringd diff --fail-on widens main.json policies/
  ringd diff --html review.html old.yaml new.yaml
  ringd diff --impact /var/lib/ringd candidate/`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(len(args)); err != nil {
				return err
			}
			return cfg.diff(cmd.Context(), q, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.format, "format", "text", "text, json or sarif")
	f.BoolVar(&q.json, "json", false, "print JSON, as --format json does")
	f.StringVar(&q.html, "html", "", "FILE: also write a page for reviewers")
	f.StringVar(&q.failOn, "fail-on", "", "widens (and headroom) or any: exit with 1 for these")
	f.StringVar(&q.agent, "agent", "", "compare this agent only")
	f.StringVar(&q.impact, "impact", "", "repeat the decisions of this LOG")
	f.StringVar(&q.workspace, "workspace", "/workspace", "$WORKSPACE, for --impact")
	choices := func(list ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = cmd.RegisterFlagCompletionFunc("format", choices("text", "json", "sarif"))
	_ = cmd.RegisterFlagCompletionFunc("fail-on", choices("widens", "any"))
	return cmd
}

func (q *diffFlags) check(policies int) error {
	if policies == 1 && q.impact == "" {
		return cli.Usage("give OLD and NEW; OLD may be left out only with --impact\n    usage: ringd diff OLD NEW")
	}
	if q.json {
		q.format = "json"
	}
	switch q.format {
	case "text", "json", "sarif":
	default:
		return cli.Usage("--format %q: want text, json or sarif", q.format)
	}
	switch q.failOn {
	case "", "widens", "any":
	default:
		return cli.Usage("--fail-on %q: want widens or any", q.failOn)
	}
	return nil
}

func (c DiffConfig) diff(ctx context.Context, q diffFlags, args []string) (err error) {
	now, err := c.Compile.read(ctx, args[len(args)-1])
	if err != nil {
		return err
	}
	old, only := now, len(args) == 1 // a single policy is compared with the log
	if !only {
		if old, err = c.Earlier.read(ctx, args[0]); err != nil {
			return err
		}
	}
	rep := diff.Compare(old.set, now.set, diff.Config{Now: c.Now()})
	if q.agent != "" {
		if rep, err = onlyAgent(rep, q.agent); err != nil {
			return err
		}
	}
	ceilings := ceilingChanges(old, now, q.agent)
	doc := document(rep, ceilings, old, now)
	if q.impact != "" {
		calls := worker.NewCalls(c.Calls)
		defer func() { err = errors.Join(err, calls.Close()) }()
		again := replayConfig{Calls: calls, Log: q.impact, New: now.set, Workspace: q.workspace, Home: c.Env.Home,
			Agent: q.agent}
		if !only {
			again.Old = old.set
		}
		if doc.Impact, err = replay(ctx, again); err != nil {
			return cli.Usage("repeat decisions: %s", replayReason(err))
		}
	}
	return c.write(q, doc)
}

// write writes a document in the chosen format.
func (c DiffConfig) write(q diffFlags, doc pageDocument) (err error) {
	if q.html != "" {
		if err := c.writePage(q.html, doc); err != nil {
			return err
		}
	}
	switch q.format {
	case "json":
		err = cli.JSON(c.Out, doc)
	case "sarif":
		err = cli.JSON(c.Out, cli.SARIF(findings(doc), c.Version))
	default:
		err = diffPrinter{c.Page(c.Out)}.document(doc)
	}
	if err != nil {
		return err
	}
	if n := doc.Counts; q.failOn == "widens" && n["widens"]+n["headroom"] > 0 || q.failOn == "any" && all(n) > 0 {
		return cli.Failed(cli.Refused, nil)
	}
	return nil
}

// onlyAgent returns the part of a report about one agent.
func onlyAgent(rep diff.Report, agent string) (diff.Report, error) {
	out := diff.Report{Old: rep.Old, New: rep.New, Class: diff.Neutral, Counts: map[string]int{}}
	for _, a := range rep.Agents {
		if a.Name != agent {
			continue
		}
		out.Agents, out.Class = append(out.Agents, a), a.Class
		for _, ch := range a.Changes {
			out.Counts[ch.Class.String()]++
		}
	}
	if len(out.Agents) == 0 {
		return out, cli.Usage("neither of the policies has an agent %q", agent)
	}
	return out, nil
}

// side is one of the two policies.
type side struct {
	path  string
	set   *profiles.Set
	files cli.Policy // empty for a compiled set, which has no lines
	// ceilings of the policy; a compiled set has none to show
	ceilings []schema.Policy
	bare     bool // a compiled set

	decoded  bool
	policies []schema.Policy // the files in YAML or JSON, decoded once
}

// maxSet limits the size of a file that may be a compiled set.
const maxSet = profiles.MaxSetBytes + 1

// read reads a policy or a compiled set.
func (c CompileFunc) read(ctx context.Context, path string) (*side, error) {
	if set, is, err := readCompiled(path); is || err != nil {
		return &side{path: path, set: set, bare: true}, err
	}
	r, err := c(ctx, path)
	return &side{path: path, set: r.Set, files: r.Files, ceilings: r.Ceilings}, err
}

// readCompiled reads a compiled set. It returns false for any other file.
func readCompiled(path string) (*profiles.Set, bool, error) {
	if strings.ToLower(filepath.Ext(path)) != ".json" {
		return nil, false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, cli.Usage("read policy: %w", cli.Bare(err))
	}
	defer func() { _ = f.Close() }() // only read
	b, err := cli.Bounded(f, maxSet)
	if err != nil {
		return nil, false, cli.Usage("read policy %s: %w", path, cli.Bare(err))
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	if !bytes.Contains(b, []byte(`"format":"ringd.set/`)) {
		return nil, false, nil // a policy in JSON
	}
	set, err := profiles.DecodeSet(b)
	if err != nil {
		return nil, false, cli.Usage("read %s: %w", path, err)
	}
	return set, true, nil
}

// line returns the line of a rule in the sources.
func (s *side) line(r *profiles.Rule) *Line {
	if r == nil || r.Line < 1 {
		return nil
	}
	out := &Line{File: r.File, Line: r.Line, Path: r.Path, Layer: r.Layer}
	for _, f := range s.files.Sources {
		if f.Name != r.File {
			continue
		}
		out.File = s.files.Shown(r.File)
		if lines := strings.Split(string(f.Data), "\n"); r.Line <= len(lines) {
			out.Text = strings.TrimSpace(lines[r.Line-1])
		}
	}
	return out
}

func (c DiffConfig) writePage(name string, doc pageDocument) error {
	var b bytes.Buffer
	if err := writePage(&b, doc); err != nil {
		return err
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		return cli.Failed(cli.Misused, fmt.Errorf("write the page: %w", cli.Bare(err)))
	}
	return nil
}

// document adds the lines of both sides to the changes.
func document(rep diff.Report, ceilings []diff.Agent, old, now *side) pageDocument {
	doc := pageDocument{Old: Side{Path: old.path, Revision: rep.Old}, New: Side{Path: now.path, Revision: rep.New},
		Class:  diff.Neutral,
		Counts: map[string]int{"widens": 0, "headroom": 0, "narrows": 0, "neutral": 0}}
	add := func(to *[]Agent, list []diff.Agent) {
		*to = make([]Agent, len(list))
		for i, a := range list {
			out := Agent{Name: a.Name, State: a.State, Class: a.Class, Changes: make([]Change, len(a.Changes))}
			for j, ch := range a.Changes {
				ch.OldRule, ch.NewRule = old.limit(a.Name, ch.Field, ch.OldRule),
					now.limit(a.Name, ch.Field, ch.NewRule)
				if r := ch.NewRule; ch.Layer == "" && r != nil {
					ch.Layer = r.Layer
				}
				out.Changes[j] = Change{Change: ch, OldLine: old.line(ch.OldRule), NewLine: now.line(ch.NewRule)}
				doc.Counts[ch.Class.String()]++
			}
			doc.Class, (*to)[i] = diff.Worst(doc.Class, a.Class), out
		}
	}
	add(&doc.Ceilings, ceilings)
	add(&doc.Agents, withoutCeilingChanges(rep.Agents, ceilings))
	return doc
}
