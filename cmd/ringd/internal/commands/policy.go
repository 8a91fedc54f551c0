// Package commands owns the commands of ringd, one file for each: policies (vet, lint, fmt, compile, schema,
// test, diff, suggest, init, import, exceptions), decisions (decide, explain), runs (runs, approve, deny,
// answer, cancel, revoke, lockdown), the audit log, keys and signed pushes, and doctor. run, serve and resume
// start guests and are in package main.
//
// It refuses unknown usage, and enforces nothing. Package main calls it, and passes each command its
// dependencies.
package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// LookFunc returns findings about a compiled policy on this host.
type LookFunc func(context.Context, *profiles.Set) (schema.Diagnostics, error)

// PolicyConfig configures the commands.
type PolicyConfig struct {
	*cli.Program
	Version string // of this program, for reports
	Now     func() time.Time
	// Compile compiles the sources in a child process. Positions in the findings are as the user typed them.
	Compile func(context.Context, cli.Policy) (*profiles.Set, schema.Diagnostics, error)
	// Lint is Compile with findings about unwise grants. Positions are those of the sources.
	Lint func(context.Context, cli.Policy, lint.Options) (*profiles.Set, schema.Diagnostics, error)
	// Probe returns a check of the Python packages on this host. An empty interpreter means the one that it
	// finds.
	Probe func(interpreter string) LookFunc
	// Host examines what this host can enforce. state is the folder of the daemon; empty means the default
	// one.
	Host func(ctx context.Context, state string) cli.Health
	// Unmet prepares a set on this host, which has every layer, and returns what still keeps programs of its
	// agents from starting.
	Unmet func(context.Context, *profiles.Set) ([]UnmetPath, error)
}

// UnmetPath is a path that a policy names and a host lacks. No guest of the executor starts.
type UnmetPath struct {
	Agent, Executor string
	Path            string        // as in the rule; may be empty
	Rule            profiles.Rule // zero if no rule is to blame
	Reason, Fix     string
}

// NewPolicy returns the commands.
func NewPolicy(cfg PolicyConfig) []*cobra.Command {
	return []*cobra.Command{
		newVet(cfg),
		newLint(cfg),
		newFmt(cfg),
		newCompile(cfg),
		newEnforcement(cfg),
		newSchema(cfg),
	}
}

// ReadPolicy reads the policy that -p names.
func ReadPolicy(path string) (cli.Policy, error) {
	policy, err := cli.ReadSources(path)
	if err != nil {
		return policy, cli.Failed(cli.Misused, err)
	}
	return policy, nil
}

// Compiled returns the set of the policy at path. Findings that refuse the policy are printed and returned as
// the error. Of warnings it prints only the number.
func (c PolicyConfig) Compiled(ctx context.Context, path string) (*profiles.Set, cli.Policy, error) {
	files, err := ReadPolicy(path)
	if err != nil {
		return nil, files, err
	}
	set, found, err := c.Compile(ctx, files)
	if err != nil {
		return nil, files, err
	}
	return set, files, RefusePolicy(c.Program, path, found)
}

// RefusePolicy prints the findings that refuse the policy at path, and the number of warnings, which vet
// shows. It returns nil if no finding refuses. An empty path means that the policy is in no file, and
// warnings are printed too.
func RefusePolicy(p *cli.Program, path string, found schema.Diagnostics) error {
	var errs, warnings schema.Diagnostics
	for _, d := range found {
		if d.Severity == schema.Error || path == "" {
			errs = append(errs, d)
		} else {
			warnings = append(warnings, d)
		}
	}
	if err := p.Page(p.Err).Findings(errs); err != nil {
		return err
	}
	if len(warnings) > 0 {
		fmt.Fprintf(p.Err, "%s: ringd vet %s\n", cli.Count(len(warnings), "warning"), cli.Word(path))
	}
	if !found.Refused() {
		return nil
	}
	n := 0
	for _, d := range errs {
		if d.Severity == schema.Error {
			n++
		}
	}
	return cli.Failed(cli.Refused, fmt.Errorf("the policy is refused: %s", cli.Count(n, "finding")))
}
