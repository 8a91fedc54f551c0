// Package dry owns the dry run of a script: builtins run, each program is decided
// on its final words and counts as exit 0 with no output, files are decided and
// not opened. It settles what the text of a script cannot.
//
// It reaches nothing of the host: no file, no program, no clock. It is bounded in
// steps, memory and depth.
package dry

import (
	"context"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
)

// Config is what a dry run needs. A nil Decider refuses everything.
type Config struct {
	Decider *profiles.Decider
	Cwd     string // absolute; "" is /workspace
	Home    string // "" is /home/agent
}

// Report is what a dry run found. The zero Report settles nothing.
type Report struct {
	Refused []profiles.Decision // in the order of the text
	Endless string              // the bound it ran into; "": it came to an end
	Asks    []profiles.Decision // starts that people have to approve
	Settled bool                // it came to an end
}

// Run runs s dry. It ends by itself; ctx may end it earlier, and then nothing is
// settled.
func Run(context.Context, Config, *script.Script) Report { return Report{} }
