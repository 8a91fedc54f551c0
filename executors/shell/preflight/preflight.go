// Package preflight owns what the text of a script says of the commands it could
// run: each simple command at any nesting and in any branch is decided on its
// words as far as they are known before anything runs. The guest calls it before
// a run, and the one who explains a script.
//
// It runs nothing, opens nothing and asks nobody but the Decider.
package preflight

import (
	"context"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/command"
)

// Config is what a check needs. A nil Decider refuses everything.
type Config struct {
	Decider *profiles.Decider
	Cwd     string // absolute; "": not known
}

// Report is what the text of a script says. The zero Report refuses.
type Report struct {
	// Decision is the first refusal in the order of the text, or an approval that
	// is needed (Ask), or Allow. With Open, Allow is no permission: the run decides.
	Decision profiles.Decision
	Refused  []profiles.Decision // all refusals, in the order of the text, bounded
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
	Text         string // as it is known: unknown parts are …
	Line, Column int    // in the outermost script
	Chain        []string
	Verdict      command.Verdict
	Decision     profiles.Decision
	Children     []*Node
}

// Check decides what the text of a script says. It ends by itself; ctx may end it
// earlier, and then it refuses. s nil is refused.
func Check(_ context.Context, s *script.Script, _ Config) Report {
	reason := "the commands of the script are not decided yet"
	if s == nil {
		reason = "there is no script"
	}
	d := profiles.Decision{Code: profiles.CodeShellUnsettled, Reason: reason}
	return Report{Decision: d, Refused: []profiles.Decision{d}}
}
