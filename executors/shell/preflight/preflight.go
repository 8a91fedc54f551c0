// Package preflight decides the commands in the text of a script: each simple command, at any nesting and in
// any branch, on the words that are known before anything runs. The guest calls it before a run, and so does
// the command that explains a script.
//
// It runs nothing, opens nothing and asks only the Decider.
package preflight

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/command"
)

// Config is what a check needs. A nil Decider denies everything.
type Config struct {
	Decider *profiles.Decider
	Cwd     string // absolute; if empty, it is not known
	Home    string // value of ~ and $HOME; if empty, it is not known
	// Functions are names that an earlier script of the same shell has defined. The commands of their bodies
	// were checked then, and are decided when they run.
	Functions []string
}

// Report is the result of a check. The zero Report denies.
type Report struct {
	// Decision is the first denial in the order of the text, or an approval that is needed (Ask), or Allow. If
	// Open is set, Allow is no permission: the run decides.
	Decision profiles.Decision
	Refused  []profiles.Decision // distinct denials in the order of the text, limited in number
	More     int64               // number of further denials
	Open     bool                // something that only the run can settle
	Asks     []Ask               // commands with known words that people have to approve
	Tree     []*Node             // for explain
}

// Ask is a command that needs an approval and is known before the run.
type Ask struct {
	Action       profiles.ExecAction
	Decision     profiles.Decision
	Line, Column int
}

// Node is one command of a script, or a redirect or variable of one.
type Node struct {
	Kind         string // command, builtin, function, redirect, variable, script
	Text         string // the words, with … for parts that are not known
	Line, Column int    // in the outermost script
	Chain        []string
	Verdict      command.Verdict
	Decision     profiles.Decision
	Children     []*Node
}

// Limits of one check.
const (
	maxRefused = 64
	maxScripts = 64        // nested texts
	maxDepth   = 16        // depth of their nesting
	maxNested  = 256 << 10 // bytes of all of them
	maxWords   = 64 << 10  // of all commands
)

// Check decides the text of a script. It ends by itself. If ctx ends it earlier, it denies. A nil s is denied.
func Check(ctx context.Context, s *script.Script, cfg Config) Report {
	var out Report
	shell := cfg.Decider.Profile().Shell
	switch {
	case s == nil || s.File == nil:
		out.Decision = profiles.Decision{Code: profiles.CodeShellParse, Reason: "there is no script"}
	case shell == nil:
		out.Decision = cfg.Decider.Variable(profiles.VariableAction{})
		out.Decision.Verdict = profiles.Deny
	default:
		w := &walker{ended: ctx.Err, d: cfg.Decider, shell: shell, out: &out, cwd: cfg.Cwd, home: cfg.Home}
		w.script(s, cfg)
		w.guess()
		w.conclude()
		return out
	}
	out.Refused = []profiles.Decision{out.Decision}
	return out
}

// conclude sorts the denials by their position in the text, and sets the decision.
func (w *walker) conclude() {
	w.out.Refused, w.out.More = w.refused.List, w.refused.More
	slices.SortStableFunc(w.out.Refused, func(a, b profiles.Decision) int {
		return cmp.Or(cmp.Compare(a.Evidence.Line, b.Evidence.Line), cmp.Compare(a.Evidence.Column, b.Evidence.Column))
	})
	if w.ended() != nil {
		w.out.Refused = append(w.out.Refused, profiles.Decision{
			Code: profiles.CodeShellUnsettled, Reason: "the check was ended before it was done",
			Revision: w.d.Revision(),
		})
	}
	switch {
	case len(w.out.Refused) > 0:
		w.out.Decision = w.out.Refused[0]
	case len(w.out.Asks) > 0:
		w.out.Decision = w.out.Asks[0].Decision
	default:
		w.out.Decision = profiles.Decision{
			Verdict: profiles.Allow, Code: profiles.CodeAllowed, Reason: "every command in the text is allowed",
			Revision: w.d.Revision(),
		}
	}
}
