// The command suggest: it reads from the audit log what programs did, and prints a smaller policy that would
// have allowed it. It changes nothing.

package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
)

// SuggestConfig configures the command.
type SuggestConfig struct {
	*cli.Program
	Now func() time.Time
	// Compile reads and compiles a policy. It has printed what it refuses.
	Compile func(ctx context.Context, path string) (*profiles.Set, cli.Policy, error)
}

// suggestFlags holds the flags and arguments.
type suggestFlags struct {
	policy, agent, state, since string
	json                        bool
}

// NewSuggest returns the command.
func NewSuggest(cfg SuggestConfig) *cobra.Command {
	var q suggestFlags
	var policy cli.OnePolicy
	cmd := &cobra.Command{
		Use:   "suggest [PATH]",
		Short: "Suggest a narrower policy from the audit log",
		Long: `Suggest reads in the audit log what the programs of an agent did: the Python
modules that they imported, as reported by their guests, the bridges that they
called and how often in a run, the programs that they started and the hosts that
they reached. It prints the entries of the policy that nothing used and those
that could be narrower, each with its place. It never adds a grant, so the
result stays within the agent's grants and every ceiling above them. It changes
nothing. Files are not covered, because reading a file is not recorded. The
report of a guest is no proof, and a short log can miss a rare task: review the
list before you remove an entry.

Exit codes: 0 a suggestion is printed, 2 the policy or the log cannot be read,
or the log has nothing of the agent.`,
		Example: "  ringd suggest policy.yaml --agent analyst --since 30d",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.policy, err = policy.Path(args); err != nil {
				return err
			}
			return cfg.suggest(cmd.Context(), q)
		},
	}
	policy.Bind(cmd, ".")
	cmd.Flags().StringVar(&q.agent, "agent", "", `agent (default: the only one, else "default")`)
	cmd.Flags().StringVar(&q.state, "state", "", "state folder (default: ~/.local/state/ringd)")
	cmd.Flags().StringVar(&q.since, "since", "", "a time (RFC 3339) or an age such as 30d")
	cmd.Flags().BoolVar(&q.json, "json", false, "print JSON")
	return cmd
}

// suggestion is the JSON result.
type suggestion struct {
	Agent string `json:"agent"`
	Runs  int    `json:"runs"` // of the agent in the log
	lint.Suggestion
}

func (c SuggestConfig) suggest(ctx context.Context, q suggestFlags) error {
	set, files, err := c.Compile(ctx, q.policy)
	if err != nil {
		return err
	}
	name := AgentNamed(set, q.agent)
	a, ok := set.Agent(name)
	if !ok {
		return cli.NoAgent(set, name)
	}
	since, err := parseMoment("--since", q.since, c.Now())
	if err != nil {
		return err
	}
	state, err := c.State(q.state)
	if err != nil {
		return err
	}
	used, runs, err := usedBy(ctx, cli.Layout(state).Audit, name, since)
	if err != nil {
		return cli.Usage("read log: %w", err)
	}
	if runs == 0 {
		return cli.Usage("the log has no runs of agent %q, so there is nothing to suggest", name)
	}
	out := suggestion{name, runs, lint.SuggestFor(a, used)}
	if q.json {
		return cli.JSON(c.Out, out)
	}
	if _, err := fmt.Fprint(c.Out, suggestText(out, files)); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// usedBy returns what programs of an agent used, and the number of runs.
func usedBy(ctx context.Context, dir, agent string, since time.Time) (lint.Used, int, error) {
	t := usageTally{runs: map[string]bool{}, modules: map[string]bool{}, programs: map[string]bool{},
		targets: map[string]bool{}, calls: map[[2]string]map[string]bool{}}
	kinds := []audit.Kind{audit.RunStarted, audit.RunEnded, audit.CallOpened, audit.CallBegun, audit.ExecDecided,
		audit.EgressDecided}
	for e, err := range audit.Query(ctx, dir, audit.Filter{Agent: agent, Kinds: kinds, Since: since}) {
		if err != nil {
			return lint.Used{}, 0, err
		}
		t.take(e.Record)
	}
	used := lint.Used{Imports: slices.Sorted(maps.Keys(t.modules)), Python: t.python, Calls: map[string]int64{},
		Programs: slices.Sorted(maps.Keys(t.programs)), Targets: slices.Sorted(maps.Keys(t.targets))}
	for of, ids := range t.calls {
		used.Calls[of[1]] = max(used.Calls[of[1]], int64(len(ids)))
	}
	return used, len(t.runs), nil
}

// usageTally counts uses in records.
type usageTally struct {
	runs, modules, programs, targets map[string]bool
	calls                            map[[2]string]map[string]bool // call ids by run and bridge
	python                           int                           // runs whose imports are known
}

// take counts an allowed use. A call is counted when it is opened. If people are asked about the call, it is
// counted when it begins.
func (t *usageTally) take(r audit.Record) {
	t.runs[r.Run] = true
	kind, name, _ := strings.Cut(r.Capability, ":")
	let := r.Kind == audit.CallBegun || r.Decision != nil && r.Decision.Verdict == profiles.Allow
	switch {
	case r.Kind == audit.RunEnded && r.Detail["imports"] != "":
		t.python++
		for module := range strings.SplitSeq(r.Detail["imports"], ",") {
			t.modules[module] = true
		}
	case !let:
	case kind == "bridge":
		of := [2]string{r.Run, name}
		if t.calls[of] == nil {
			t.calls[of] = map[string]bool{}
		}
		t.calls[of][r.Call] = true
	case kind == "exec":
		t.programs[name] = true
	case kind == "egress":
		t.targets[name] = true
	}
}

// suggestText returns the suggestion, with the import list as part of a policy. It is pasted into policies, so no
// text that a program chose may end a comment.
func suggestText(f suggestion, files cli.Policy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# agent %s: what its programs did, runs: %d\n", cli.Visible(f.Agent), f.Runs)
	if f.Imports != nil {
		fmt.Fprintf(&b, "imports:\n  allow: [%s]\n", yamlList(f.Imports.Allow))
		if len(f.Imports.Deny) > 0 {
			fmt.Fprintf(&b, "  deny: [%s] # in addition to the present denials\n", yamlList(f.Imports.Deny))
		}
	}
	for _, c := range f.Changes {
		at := fmt.Sprintf("%s:%d", files.Shown(c.Rule.File), c.Rule.Line)
		if c.Rule.Layer != "" {
			at += ", of " + c.Rule.Layer
		}
		at = cli.Visible(at)
		if c.Do == lint.Remove {
			fmt.Fprintf(&b, "# not used: %s, at %s\n", cli.Visible(c.What), at)
			continue
		}
		fmt.Fprintf(&b, "# could be narrower: %s, at %s\n", cli.Visible(c.What), at)
		for _, to := range c.To {
			fmt.Fprintf(&b, "#     %s\n", cli.Visible(to))
		}
	}
	for _, what := range f.Refused {
		fmt.Fprintf(&b, "# used, and not allowed now: %s\n", cli.Visible(what))
	}
	if len(f.Changes) == 0 {
		b.WriteString("# every grant was used\n")
	}
	return b.String()
}

// yamlList formats names as a YAML list. A name with characters other than letters, digits and those of module
// names is quoted, because a program may have chosen it.
func yamlList(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.'
		})
		if out[i] = name; !plain {
			out[i] = strconv.Quote(name)
		}
	}
	return strings.Join(out, ", ")
}
