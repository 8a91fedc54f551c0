// Package preflight owns what the text of a script says of the commands it could
// run: each simple command at any nesting and in any branch is decided on its
// words as far as they are known before anything runs. The guest calls it before
// a run, and the one who explains a script.
//
// It runs nothing, opens nothing and asks nobody but the Decider.
package preflight

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/command"
)

// Config is what a check needs. A nil Decider refuses everything.
type Config struct {
	Decider *profiles.Decider
	Cwd     string // absolute; "": not known
	Home    string // what ~ and $HOME stand for; "": not known
	// Functions are names that an earlier script of the same shell has defined. What
	// their bodies run was checked then, and is decided when it runs.
	Functions []string
}

// Report is what the text of a script says. The zero Report refuses.
type Report struct {
	// Decision is the first refusal in the order of the text, or an approval that
	// is needed (Ask), or Allow. With Open, Allow is no permission: the run decides.
	Decision profiles.Decision
	Refused  []profiles.Decision // the refusals that differ, in the order of the text, bounded
	More     int64               // those beyond the bound
	Open     bool                // something only the run can settle
	Asks     []Ask               // all words known, and people have to approve it
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
	Text         string // the words as they are known: … is what is not
	Line, Column int    // in the outermost script
	Chain        []string
	Verdict      command.Verdict
	Decision     profiles.Decision
	Children     []*Node
}

// Bounds of one check.
const (
	maxRefused = 64
	maxScripts = 64        // texts inside of texts
	maxDepth   = 16        // of them inside of each other
	maxNested  = 256 << 10 // bytes of all of them
	maxWords   = 64 << 10  // of all commands
)

// Check decides what the text of a script says. It ends by itself; ctx may end it
// earlier, and then it refuses. s nil is refused.
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

// conclude puts the refusals in the order of the text, and decides.
func (w *walker) conclude() {
	w.out.Refused, w.out.More = w.refused.List, w.refused.More
	slices.SortStableFunc(w.out.Refused, func(a, b profiles.Decision) int {
		return cmp.Or(cmp.Compare(a.Evidence.Line, b.Evidence.Line), cmp.Compare(a.Evidence.Column, b.Evidence.Column))
	})
	if w.ended() != nil {
		w.out.Refused = append(w.out.Refused, profiles.Decision{
			Code: profiles.CodeShellUnsettled, Reason: "the check was ended before it was done", Revision: w.d.Revision(),
		})
	}
	switch {
	case len(w.out.Refused) > 0:
		w.out.Decision = w.out.Refused[0]
	case len(w.out.Asks) > 0:
		w.out.Decision = w.out.Asks[0].Decision
	default:
		w.out.Decision = profiles.Decision{
			Verdict: profiles.Allow, Code: profiles.CodeAllowed, Reason: "every command in the text is allowed", Revision: w.d.Revision(),
		}
	}
}
