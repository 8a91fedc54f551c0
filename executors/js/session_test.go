package js_test

import (
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
)

// notebook runs the programs of one session, each with what those before left.
type notebook struct {
	t  *testing.T
	e  *js.Executor
	in *executors.Resume
}

// run runs source as file, with the modules of the tests; change may be nil.
func (n *notebook) run(file, source string, change func(*executors.Run)) executors.Outcome {
	n.t.Helper()
	r := program(source, "echo")
	r.Program.Name = file
	addModules(&r)
	if change != nil {
		change(&r)
	}
	r.Session, r.Resume = true, n.in
	out, err := n.e.Run(n.t.Context(), r, plain)
	if err != nil {
		n.t.Fatal(err)
	}
	if out.Snapshot != nil {
		n.in = &executors.Resume{Engine: out.Engine, Snapshot: out.Snapshot, Session: true}
	}
	return out
}
