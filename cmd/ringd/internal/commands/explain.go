package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
)

// explainFlags holds the flags and arguments of explain.
type explainFlags struct {
	target
	script, command, cwd string
	json, powers         bool
}

func newExplain(v *decideVerbs) *cobra.Command {
	var q explainFlags
	cmd := &cobra.Command{
		Use:   "explain -p PATH [ACTION...]",
		Short: "Explain why an action is allowed or denied",
		Long: `Explain decides one action, as ringd decide does. It shows the line of the
policy that decided, and what would have to change. ACTION is JSON in the form
of ringd decide, or words: shell TEXT, import [python|js] MODULE, egress
HOST[:PORT], bridge NAME, file read|write PATH, exec PROGRAM [ARG...], variable
NAME=VALUE. Without ACTION it reads JSON from stdin.

--script FILE and --command TEXT explain a shell script: every command that its
text could run, at any nesting and in any branch, with its verdict. "at run
time" means that the final words decide. Nothing runs.

For a policy with layers it also shows the verdict of each layer, the outermost
first, the layer that decided, and the document that would have to change.

--powers explains the agent instead: which of the powers untrusted input,
sensitive data and external effect the agent has, which grants bring them, and
how the rule of two applies.

Exit codes: 0 allowed, or people are asked; 1 denied, 126 a script is denied, 2
the policy or the action cannot be read.`,
		Example: `  ringd explain -p policy.yaml --command 'git fetch && rm -fr build'
  ringd explain -p policy.yaml --script build.sh
  ringd explain -p policy.yaml --powers
  ringd explain -p policy.yaml import pandas
  ringd explain -p policy.yaml egress api.example.com:443
  ringd explain -p policy.yaml -- exec git log --oneline
  ringd explain -p policy.yaml '{"file":{"op":"write","path":"/etc/passwd"}}'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.path, err = q.policy.Path(nil); err != nil {
				return err
			}
			var action profiles.Action
			if !q.powers {
				action, err = q.action(args, v.In)
			} else if len(args) > 0 || q.script != "" || q.command != "" || q.cwd != "" {
				err = errors.New("--powers goes without an action")
			}
			if err != nil {
				return cli.Failed(cli.Misused, err)
			}
			d, err := v.decider(cmd.Context(), q.target)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, d.Close()) }()
			if q.powers {
				return v.powers(d, AgentNamed(d.set, q.agent), q.json)
			}
			return v.explain(cmd.Context(), d, q.target, action, q.json)
		},
	}
	q.bind(cmd)
	cmd.Flags().StringVar(&q.script, "script", "", "FILE, or - for stdin: explain this shell script")
	cmd.Flags().StringVarP(&q.command, "command", "c", "", "TEXT: explain this text of a shell script")
	cmd.Flags().StringVar(&q.cwd, "cwd", "", "working folder of the script")
	cmd.Flags().BoolVar(&q.powers, "powers", false, "show the powers of the agent and their grants")
	cmd.Flags().BoolVar(&q.json, "json", false, "print decision, tree and change as JSON")
	return cmd
}

// maxRead limits the bytes read of a script or an action. The decision refuses a text of that size anyway.
const maxRead = profiles.MaxActionBytes

// action returns the action of the arguments.
func (q *explainFlags) action(args []string, in io.Reader) (profiles.Action, error) {
	given := 0
	for _, is := range []bool{len(args) > 0, q.script != "", q.command != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return profiles.Action{}, errors.New("give one of ACTION, --script and --command")
	case q.command != "":
		return profiles.Action{Shell: &profiles.ShellAction{Script: q.command, Cwd: q.cwd}}, nil
	case q.script != "":
		text, err := readActions(q.script, in)
		return profiles.Action{Shell: &profiles.ShellAction{Script: string(text), Cwd: q.cwd}}, err
	case q.cwd != "":
		return profiles.Action{}, errors.New("--cwd goes with --script or --command")
	case len(args) > 0:
		return parseWords(args)
	default:
		text, err := readActions("-", in)
		if err != nil {
			return profiles.Action{}, err
		}
		return profiles.DecodeAction(bytes.TrimSpace(text))
	}
}

func readActions(path string, in io.Reader) ([]byte, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRead+1))
	if err == nil && len(text) > maxRead {
		err = fmt.Errorf("more than %d bytes", maxRead)
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return text, nil
}

// explanation is the JSON result.
type explanation struct {
	Decision profiles.Decision   `json:"decision"`
	Source   *source             `json:"source,omitempty"`
	Policy   string              `json:"policy"` // metadata.name
	Change   []string            `json:"change,omitempty"`
	Tree     []worker.ScriptNode `json:"tree,omitempty"`
	Limits   []limit             `json:"limits,omitempty"` // of an allowed host or gateway
	// the outermost first, the agent's own policy last; absent without layers
	Layers  []layers.LayerAnswer `json:"layers,omitempty"`
	Decided string               `json:"decided,omitempty"` // the layer that decided
}

// source is the line of the rule that decided.
type source struct {
	File string `json:"file"` // as the user typed it
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (v *decideVerbs) explain(ctx context.Context, d *decider, t target, a profiles.Action, asJSON bool) error {
	var out explanation
	if a.Shell != nil && d.Profile().Shell != nil {
		ans := d.reader.Read(ctx, d.Decider, *a.Shell, true)
		out.Decision = ans.Decision
		if d.Profile().Mode == profiles.ModeAudit {
			out.Decision.Would = d.Decide(a).Would
		}
		if ans.Tree != nil {
			if err := json.Unmarshal(ans.Tree, &out.Tree); err != nil {
				return fmt.Errorf("read the tree of the script: %w", err)
			}
		}
	} else {
		out.Decision = d.Decide(a)
	}
	if out.Decision.Revision == "" {
		out.Decision.Revision = d.set.Revision
	}
	out.Policy = d.Profile().Policy
	out.Source = d.source(out.Decision.Rule)
	out.Change = neededChanges(out.Decision, d, nil)
	if a.Egress != nil {
		out.Limits = d.limits(out.Decision)
	}
	all, err := v.askLayers(ctx, d, t, a, out.Decision)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		q, _ := layerQuestion(a, out.Decision)
		out.Change, out.Decided = neededChanges(
			out.Decision,
			d,
			layerChanges(all, q, d),
		), decidingLayer(
			all,
			out.Decision,
		)
		for i := range all {
			if r := all[i].Rule; r != nil {
				shown := *r
				shown.File = d.files.Shown(r.File)
				all[i].Rule = &shown
			}
		}
		out.Layers = all
	}
	if asJSON {
		err = cli.JSON(v.Out, out)
	} else {
		err = explainPrinter{v.Page(v.Out)}.explained(out)
	}
	switch {
	case err != nil:
		return err
	case out.Decision.Verdict != profiles.Deny:
		return nil
	case a.Shell != nil:
		return cli.Failed(profiles.ExitRefused, nil)
	default:
		return cli.Failed(cli.Refused, nil)
	}
}

// source returns the line of a rule in the policy's files.
func (d *decider) source(r *profiles.Rule) *source {
	if r == nil || r.Line < 1 {
		return nil
	}
	for _, s := range d.files.Sources {
		if s.Name != r.File {
			continue
		}
		lines := strings.Split(string(s.Data), "\n")
		if r.Line > len(lines) {
			return nil
		}
		return &source{File: d.files.Shown(r.File), Line: r.Line, Text: strings.TrimRight(lines[r.Line-1], " \r")}
	}
	return nil
}

// grantNoun returns what the codes with this first word are about.
func grantNoun(word string) string {
	switch word {
	case "egress":
		return "a host"
	case "file":
		return "a file"
	case "bridge":
		return "a bridge"
	case "import":
		return "a module"
	}
	return "it"
}

// neededChanges returns how the policy would have to change for another verdict. layered is the answer of its
// layers.
func neededChanges(dec profiles.Decision, d *decider, layered []string) []string {
	if dec.Verdict == profiles.Allow {
		return nil
	}
	// Name the place of the rule. If no rule is about such an action, the rule is missing or the document
	// itself decides.
	at := ""
	if dec.Rule != nil && dec.Rule.Path != "" && dec.Rule.Path != "metadata.name" {
		at = fmt.Sprintf("%s (%s:%d)", dec.Rule.Path, d.files.Shown(dec.Rule.File), dec.Rule.Line)
	}
	about, kind, _ := strings.Cut(string(dec.Code), ".")
	switch {
	case dec.Verdict == profiles.Ask:
		return []string{"it is allowed once it is approved; without the approval rule at " + at +
			" it is allowed at once"}
	case dec.Code == profiles.CodeExecutorUnavailable, dec.Code == profiles.CodeTierUnavailable,
		dec.Code == profiles.CodeRingUnavailable:
		return []string{"no change of the policy helps: this host or build cannot do it; see ringd doctor"}
	case dec.Code == profiles.CodeShellParse, dec.Code == profiles.CodeShellSize,
		dec.Code == profiles.CodeShellUnsupported,
		dec.Code == profiles.CodeShellOpaque, dec.Code == profiles.CodeShellUnsettled,
		dec.Code == profiles.CodeShellEndless, dec.Code == profiles.CodeActionMalformed:
		return []string{"no change of the policy helps: write the script differently"}
	case dec.Code == profiles.CodeUnknownAgent:
		return []string{"name an agent of the policy with --agent, or add a policy for this one"}
	case dec.Code == profiles.CodeImportDenied && dec.Rule == nil:
		return []string{"no change of the policy helps: no rule can allow this"}
	case len(layered) > 0:
		return layered
	case at == "":
		return []string{"grant it: no line of the policy grants " + grantNoun(about)}
	case kind == "denied" || kind == "denied_pattern" || kind == "subcommand":
		return []string{"narrow or remove " + at + "; a denial wins over every grant"}
	default:
		return []string{"grant it next to " + at}
	}
}
