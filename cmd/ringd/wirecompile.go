package main

import (
	"context"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// childCompiler is the daemon's Compiler.
type childCompiler struct {
	cfg        worker.CompileConfig
	pythonWasm bool // this host has the WebAssembly engine of Python
}

// Compile compiles a push: its modules folder holds modules, all else policies.
func (c childCompiler) Compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	// The guardrails are asked by Check, which knows what is in force. Ended exceptions
	// refuse a policy, but the daemon's, which takes what they grant out of it.
	r, err := c.request(ctx, p.Sources, worker.CompileRequest{Unguarded: true, Now: time.Now(), Ended: true})
	return r.Set, r.Diagnostics, err
}

// Check asks the guardrails of a set that is about to come in force.
func (c childCompiler) Check(ctx context.Context, set, previous *profiles.Set) (schema.Diagnostics, error) {
	return worker.CheckGuardrails(ctx, c.cfg, worker.CheckRequest{Set: set, Previous: previous, Now: time.Now()})
}

func (c childCompiler) run(ctx context.Context, all []schema.Source) (*profiles.Set, schema.Diagnostics, error) {
	r, err := c.request(ctx, all, worker.CompileRequest{Now: time.Now()})
	return r.Set, r.Diagnostics, err
}

func (c childCompiler) request(
	ctx context.Context,
	all []schema.Source,
	req worker.CompileRequest,
) (worker.CompileResult, error) {
	req.Sources, req.Files = cli.Split(all)
	req.PythonWasm = c.pythonWasm
	return worker.Compile(ctx, c.cfg, req)
}
