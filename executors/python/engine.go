package python

import (
	"context"
	"fmt"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// isWasm reports whether an agent's programs run in WebAssembly.
func isWasm(a *profiles.Agent) bool {
	return a != nil && a.Python != nil && a.Python.Engine == profiles.PythonWasm
}

// runWasm runs a program in the second engine, if there is one.
func (e *Executor) runWasm(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	r, err := e.inForce.Load().now(r)
	if err != nil {
		return executors.Outcome{}, err
	}
	if !isWasm(r.Agent) { // a push changed the engine meanwhile
		return executors.Outcome{}, fmt.Errorf("start run %s: the policy has another engine of Python now", r.ID)
	}
	if e.cfg.Wasm != nil {
		return e.cfg.Wasm.Run(ctx, r, h)
	}
	rule := r.Agent.Python.EngineRule
	return executors.Outcome{}, &profiles.Denial{Capability: capability, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeExecutorUnavailable, Revision: r.Revision, Rule: &rule,
		Reason:  "the policy requires the WebAssembly engine of Python, which this host does not have",
		Instead: []string{"make python-wasm", "leave tier: wasm out of the policy"},
	}}
}
