package main

import (
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// notStarted turns a refusal before the program began into an exit. What this
// host cannot give is exit 125: nothing ran.
func (p *program) notStarted(o runOptions, err error) error {
	code := exitRefused
	var denial *profiles.Denial
	var invalid *daemon.InvalidError
	switch {
	case errors.As(err, &denial):
		if unenforceable(denial.Decision.Code) {
			code = exitUnavailable
		}
		if o.asJSON {
			if err := render.JSON(p.out, render.RefusedRun(o.agent, o.executor, denial)); err != nil {
				return err
			}
		}
		return &exit{code, errors.New(render.Denial(denial))}
	case errors.As(err, &invalid):
		code = exitUsage
	case errors.Is(err, daemon.ErrUnavailable):
		code = exitUnavailable
	}
	return &exit{code, err}
}

// unenforceable reports whether a code says that this host or build lacks what
// is asked for, as opposed to a policy that refuses.
func unenforceable(c profiles.Code) bool {
	return c == profiles.CodeExecutorUnavailable || c == profiles.CodeTierUnavailable || c == profiles.CodeRingUnavailable
}

// finish prints how a run ended and gives the exit.
func (p *program) finish(o runOptions, run wire.Run, set *profiles.Set) error {
	if o.asJSON {
		if err := render.JSON(p.out, run); err != nil {
			return err
		}
	} else {
		if err := p.page(p.out).Value(run); err != nil {
			return err
		}
		p.page(p.err).Run(run)
	}
	if o.report {
		p.page(p.err).Report(run, set)
	} else if o.state != "" && !o.asJSON {
		fmt.Fprintf(p.err, "run %s: %s\n", run.ID, run.State)
	}
	if state := executors.State(run.State); state == executors.StateDenied && len(run.Denials) == 1 && unenforceable(run.Denials[0].Code) {
		return &exit{exitUnavailable, nil} // the guest could not be had: nothing ran
	}
	switch executors.State(run.State) {
	case executors.StatePaused, wire.StateRunning:
		return nil
	case executors.StateDone:
		if len(run.Denials) == 0 { // else the program went on without what was refused
			return nil
		}
	}
	return &exit{exitRefused, nil}
}
