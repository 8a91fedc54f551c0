package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// notStarted turns a refusal before the program began into an exit. What this
// host cannot give is exit 125: nothing ran.
func (p *program) notStarted(o runOptions, err error) error {
	code := cli.Refused
	var denial *profiles.Denial
	var invalid *daemon.InvalidError
	switch {
	case errors.As(err, &denial):
		if cli.Unenforceable(denial.Decision.Code) {
			code = cli.Unavailable
		}
		if o.asJSON {
			if err := render.JSON(p.Out, render.RefusedRun(o.agent, o.executor, denial)); err != nil {
				return err
			}
		}
		if code == cli.Unavailable {
			return cli.Failed(code, errors.New(render.Unavailable(denial)))
		}
		return cli.Failed(code, errors.New(render.Denial(denial)))
	case errors.As(err, &invalid):
		code = cli.Misused
	case errors.Is(err, daemon.ErrUnavailable):
		code = cli.Unavailable
	}
	return cli.Failed(code, err)
}

// finish prints how a run ended and gives the exit.
func (p *program) finish(o runOptions, run wire.Run, set *profiles.Set) error {
	if o.asJSON {
		if err := render.JSON(p.Out, run); err != nil {
			return err
		}
	} else {
		if err := p.Page(p.Out).Value(run); err != nil {
			return err
		}
		p.Page(p.Err).Run(run)
	}
	if o.report {
		p.Page(p.Err).Report(run, set)
	} else if o.state != "" && !o.asJSON {
		fmt.Fprintf(p.Err, "run %s: %s\n", run.ID, run.State)
	}
	if state := executors.State(run.State); state == executors.StateDenied && len(run.Denials) == 1 && cli.Unenforceable(run.Denials[0].Code) {
		return cli.Failed(cli.Unavailable, nil) // the guest could not be had: nothing ran
	}
	switch executors.State(run.State) {
	case executors.StateDenied:
		if run.ExitCode == cli.RefusedText {
			return cli.Failed(cli.RefusedText, nil)
		}
	case executors.StatePaused:
		if o.state == "" {
			return nil // the daemon keeps it
		}
		p.goOn(o, run)
	case wire.StateRunning:
		return nil
	case executors.StateDone:
		// Else the program went on without what was refused.
		if !slices.ContainsFunc(run.Denials, func(d profiles.Decision) bool { return cli.Counts(o.executor, d.Code) }) {
			return nil
		}
	}
	return cli.Failed(cli.Refused, nil)
}

// goOn says how to go on with a run that is kept.
func (p *program) goOn(o runOptions, run wire.Run) {
	for _, c := range run.Pending {
		if c.For == "approver" {
			fmt.Fprintf(p.Err, "    allow it: ringd approve %s %s --state %s\n", run.ID, c.ID, o.state)
		}
	}
	fmt.Fprintf(p.Err, "    go on:    ringd resume %s --state %s -p POLICY\n", run.ID, o.state)
}
