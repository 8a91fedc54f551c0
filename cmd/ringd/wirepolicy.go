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

// policies is what the verbs of policies are made of.
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

// compile turns a policy into its set in the compile child. Positions in the
// findings are what the user typed; those in the set are not.
func (p policyVerbs) compile(ctx context.Context, files cli.Policy) (*profiles.Set, schema.Diagnostics, error) {
	set, found, err := p.compiler().run(ctx, files.Sources)
	return set, files.Place(found), err
}

// compileEnded is compile, where ended exceptions are no error.
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
	if err == nil && found.Refused() { // its warnings were told as it was compiled
		err = commands.RefusePolicy(p.Program, files.Path, files.Place(found))
	}
	return all, err
}

// lint is compile with what is unwise; positions are those of the sources.
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

// tests is what the verb that runs tests is made of.
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

// compileAt is compile as of a time. With ended, exceptions that have ended are warnings.
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

// diffs is what the verb that compares is made of.
func (p policyVerbs) diffs() commands.DiffConfig {
	return commands.DiffConfig{Program: p.Program, Version: buildVersion().Version, Now: time.Now,
		Compile: p.compared(false), Earlier: p.compared(true), Calls: p.calls()}
}

// compared reads one side of a comparison. With ended, exceptions that have ended are no
// error.
func (p policyVerbs) compared(ended bool) commands.CompileFunc {
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

// pythonLook looks at an agent's packages and folders on this host.
func (p policyVerbs) pythonLook(interpreter string) commands.LookFunc {
	return func(ctx context.Context, set *profiles.Set) (found schema.Diagnostics, err error) {
		err = p.looking(ctx, interpreter, func(s *stack) error {
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

// unmet is what a set names and this host does not have: paths, and environments of Python.
func (p policyVerbs) unmet(ctx context.Context, set *profiles.Set) (out []commands.UnmetPath, err error) {
	err = p.looking(ctx, "", func(s *stack) error {
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

// looking has do look at this host with the parts of a daemon that runs nothing.
func (p policyVerbs) looking(ctx context.Context, interpreter string, do func(*stack) error) (err error) {
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

// stateDisk warns of folders that an agent may fill the disk of the state folder by:
// below its floor no new runs are taken.
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
