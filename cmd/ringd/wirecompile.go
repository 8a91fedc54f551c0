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

// childCompiler compiles in a child process; see policy.Compiler.
type childCompiler struct {
	cfg        worker.CompileConfig
	pythonWasm bool // this host has the WebAssembly engine of Python
}

// Compile compiles a push. Its folder modules holds modules, and all other files are policies.
func (c childCompiler) Compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	// Check evaluates the guardrails later, because it knows the policy in force. An ended exception is an
	// error in other compilations. Here it is a warning, because the daemon takes its grants out of the set.
	r, err := c.request(ctx, p.Sources, worker.CompileRequest{Unguarded: true, Now: time.Now(), Ended: true})
	return r.Set, r.Diagnostics, err
}

// Check checks a set against its guardrails before it comes into force.
func (c childCompiler) Check(ctx context.Context, set, previous *profiles.Set) (schema.Diagnostics, error) {
	return worker.CheckGuardrails(ctx, c.cfg, worker.CheckRequest{Set: set, Previous: previous, Now: time.Now()})
}

func (c childCompiler) compileChild(
	ctx context.Context,
	all []schema.Source,
) (*profiles.Set, schema.Diagnostics, error) {
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
