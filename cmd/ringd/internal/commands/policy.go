// Package commands holds the verbs of the command ringd, a file a verb: policies (vet,
// lint, fmt, compile, schema, test, diff, suggest, init, import, exceptions), decisions
// (decide, explain), runs (runs, approve, deny, answer, cancel, revoke, lockdown), the
// audit log, keys and signed pushes, and doctor. run, serve and resume, which start
// guests, are in package main.
//
// It refuses usage that it does not know, and enforces nothing. Package main gives each
// verb what it needs.
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

// LookFunc finds what a policy that was compiled meets on this host.
type LookFunc func(context.Context, *profiles.Set) (schema.Diagnostics, error)

// PolicyConfig is what the verbs are made of.
type PolicyConfig struct {
	*cli.Program
	Version string // of this program, for reports
	Now     func() time.Time
	// Compile turns what was read into a set, in a process of its own. Positions in
	// the findings are what the user typed.
	Compile func(context.Context, cli.Policy) (*profiles.Set, schema.Diagnostics, error)
	// Lint is Compile with what is unwise. Positions are those of the sources.
	Lint func(context.Context, cli.Policy, lint.Options) (*profiles.Set, schema.Diagnostics, error)
	// Probe looks at the packages of Python on this host, with an interpreter ("": the
	// one it finds).
	Probe func(interpreter string) LookFunc
	// Host tries out what this host can enforce; state is the folder of the daemon, ""
	// the usual one.
	Host func(ctx context.Context, state string) cli.Health
	// Unmet prepares a set for this host, which has every layer: what keeps programs of
	// its agents from starting all the same.
	Unmet func(context.Context, *profiles.Set) ([]UnmetPath, error)
}

// UnmetPath is what a policy names and a host does not have: nothing of the executor starts.
type UnmetPath struct {
	Agent, Executor string
	Path            string        // that the rule names; "": it names none
	Rule            profiles.Rule // zero: no rule is to blame
	Reason, Fix     string
}

// NewPolicy returns the verbs.
func NewPolicy(cfg PolicyConfig) []*cobra.Command {
	return []*cobra.Command{newVet(cfg), newLint(cfg), newFmt(cfg), newCompile(cfg), newEnforcement(cfg),
		newSchema(cfg)}
}

// ReadPolicy reads what -p names.
func ReadPolicy(path string) (cli.Policy, error) {
	policy, err := cli.ReadSources(path)
	if err != nil {
		return policy, cli.Failed(cli.Misused, err)
	}
	return policy, nil
}

// Compiled is the set of the policy at path. Findings that refuse the policy are
// printed, and are the error; of the warnings it says how many there are.
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

// RefusePolicy prints the findings that refuse the policy at path, and that there are
// warnings, which vet shows; nil when none refuses. With path "" no file holds the
// policy, and the warnings are printed too.
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
