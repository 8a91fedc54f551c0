package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// policies returns the configuration of the policy commands.
func (p policyVerbs) policies() commands.PolicyConfig {
	return commands.PolicyConfig{
		Program: p.Program,
		Version: buildVersion().Version,
		Now:     time.Now,
		Compile: p.compile,
		Lint:    p.lint,
		Probe:   p.pythonLook,
		Host:    p.examine,
		Unmet:   p.unmet,
	}
}

// compile compiles a policy in the compile child. Positions in the findings are as the user typed them; those
// in the set are not.
func (p policyVerbs) compile(ctx context.Context, files cli.Policy) (*profiles.Set, schema.Diagnostics, error) {
	set, found, err := p.compiler().compileChild(ctx, files.Sources)
	return set, files.Place(found), err
}

// compileEnded is compile, but ended exceptions are no error.
func (p policyVerbs) compileEnded(ctx context.Context, files cli.Policy) (*profiles.Set, schema.Diagnostics, error) {
	r, err := p.compiler().request(ctx, files.Sources, worker.CompileRequest{Now: time.Now(), Ended: true})
	return r.Set, files.Place(r.Diagnostics), err
}

// layers asks the layers of a policy about an action, in the compile child.
func (p policyVerbs) layers(
	ctx context.Context,
	files cli.Policy,
	policy string,
	a layers.AskedAction,
) ([]layers.LayerAnswer, error) {
	policies, _ := cli.Split(files.Sources)
	all, found, err := worker.AskLayers(
		ctx,
		p.compiler().cfg,
		worker.LayersRequest{Sources: policies, Policy: policy, Asked: a},
	)
	if err == nil && found.Refused() { // its warnings were printed at the compilation
		err = commands.RefusePolicy(p.Program, files.Path, files.Place(found))
	}
	return all, err
}

// lint is compile with findings about unwise grants. Positions are those of the sources.
func (p policyVerbs) lint(
	ctx context.Context,
	files cli.Policy,
	o lint.Options,
) (*profiles.Set, schema.Diagnostics, error) {
	c := p.compiler()
	policies, modules := cli.Split(files.Sources)
	r, err := worker.Compile(
		ctx,
		c.cfg,
		worker.CompileRequest{Sources: policies, Files: modules, PythonWasm: c.pythonWasm, Lint: &o, Now: o.Now},
	)
	return r.Set, r.Diagnostics, err
}

// tests returns the configuration of the command test.
func (p policyVerbs) tests() commands.TestConfig {
	return commands.TestConfig{
		Program: p.Program,
		Now:     time.Now,
		Compile: p.compileAt,
		Rego:    p.rego,
		Scripts: p.scripts(),
		Calls:   p.calls(),
	}
}

// compileAt is compile as of a time. If ended is set, exceptions that have ended are warnings.
func (p policyVerbs) compileAt(
	ctx context.Context,
	files cli.Policy,
	now time.Time,
	ended bool,
) (*profiles.Set, schema.Diagnostics, error) {
	r, err := p.compiler().request(ctx, files.Sources, worker.CompileRequest{Now: now, Ended: ended})
	return r.Set, files.Place(r.Diagnostics), err
}

// rego runs tests of the guardrails of a policy.
func (p policyVerbs) rego(ctx context.Context, files cli.Policy, tests []schema.Source) (worker.TestResult, error) {
	policies, named := cli.Split(append(slices.Clone(files.Sources), tests...))
	return worker.TestRego(
		ctx,
		p.compiler().cfg,
		worker.TestRequest{Sources: policies, Files: named, Part: !files.Folder},
	)
}

// diffs returns the configuration of the command diff.
func (p policyVerbs) diffs() commands.DiffConfig {
	return commands.DiffConfig{Program: p.Program, Version: buildVersion().Version, Now: time.Now,
		Compile: p.sideCompiler(false), Earlier: p.sideCompiler(true), Calls: p.calls()}
}

// sideCompiler returns a reader of one side of a comparison. If ended is set, exceptions that have ended are no
// error.
func (p policyVerbs) sideCompiler(ended bool) commands.CompileFunc {
	return func(ctx context.Context, path string) (commands.Compiled, error) {
		files, err := commands.ReadPolicy(path)
		if err != nil {
			return commands.Compiled{}, err
		}
		r, err := p.compiler().
			request(ctx, files.Sources, worker.CompileRequest{Now: time.Now(), Ended: ended, Ceilings: true})
		if err != nil {
			return commands.Compiled{}, err
		}
		return commands.Compiled{
				Set:      r.Set,
				Files:    files,
				Ceilings: r.Ceilings,
			}, commands.RefusePolicy(
				p.Program,
				path,
				files.Place(r.Diagnostics),
			)
	}
}

// pythonLook returns a check of an agent's packages and folders on this host.
func (p policyVerbs) pythonLook(interpreter string) commands.LookFunc {
	return func(ctx context.Context, set *profiles.Set) (found schema.Diagnostics, err error) {
		err = p.withHost(ctx, interpreter, func(s *stack) error {
			for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
				a := set.Agents[name]
				found = append(found, p.stateDisk(&a)...)
				if a.Python != nil && a.Python.Engine == profiles.PythonNative {
					found = append(found, commands.LookAtPackages(ctx, s.environments, s.probe, &a)...)
				}
			}
			return nil
		})
		return found, err
	}
}

// unmet returns the paths and Python environments that a set names and this host lacks.
func (p policyVerbs) unmet(ctx context.Context, set *profiles.Set) (out []commands.UnmetPath, err error) {
	err = p.withHost(ctx, "", func(s *stack) error {
		all, err := s.kernel.Unmet(ctx, set)
		if err != nil {
			return err
		}
		for _, u := range all {
			out = append(
				out,
				commands.UnmetPath{
					Agent:    u.Agent,
					Executor: u.Executor,
					Path:     u.Path,
					Rule:     u.Rule,
					Reason:   u.Reason,
					Fix:      u.Remedy,
				},
			)
		}
		for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
			a := set.Agents[name]
			if a.Python == nil || a.Python.Engine != profiles.PythonNative {
				continue
			}
			if reason, fix := commands.KeepsPackages(ctx, s.environments, &a); reason != "" {
				out = append(
					out,
					commands.UnmetPath{
						Agent:    name,
						Executor: profiles.ExecutorPython,
						Rule:     a.Python.Rule,
						Reason:   reason,
						Fix:      fix,
					},
				)
			}
		}
		return nil
	})
	return out, err
}

// withHost runs do with the parts of a daemon that runs nothing, to examine this host.
func (p policyVerbs) withHost(ctx context.Context, interpreter string, do func(*stack) error) (err error) {
	state, remove, err := p.runs().privateState("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	s, err := p.stacks().newStack(ctx, stackConfig{
		group: &daemon.Group{}, private: []string{state}, still: true, logger: slog.New(slog.DiscardHandler),
		state:  stateConfig{folder: state, ownKey: true},
		policy: policyConfig{compiler: p.compiler()},
		limits: limitsConfig{quota: daemon.Quota{PerActor: 1, Total: 1}},
		guests: guestsConfig{pool: poolConfig{once: true}, interpreter: interpreter},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s)
}

// stateDisk warns of writable folders on the disk of the state folder. If that disk is full, new runs are
// refused.
func (p policyVerbs) stateDisk(a *profiles.Agent) (found schema.Diagnostics) {
	if p.Env.State == "" {
		return nil
	}
	for _, w := range a.Files.Write {
		if strings.Contains(w.Path, "$") || !cli.Shares(p.Env.State, p.Env.Home, w.Path) {
			continue
		}
		found = append(found, schema.Diagnostic{Severity: schema.Warning, Code: "state_disk",
			Pos: schema.Pos{File: w.Rule.File, Line: w.Rule.Line, Column: w.Rule.Column},
			Msg: fmt.Sprintf(
				"%s is on the disk of the state folder %s: a program that fills the disk stops new runs",
				w.Path,
				p.Env.State,
			),
			Hint: "put the folder, or the state folder, on a separate file system"})
	}
	return found
}
