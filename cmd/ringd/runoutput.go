package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// notStarted returns the exit of a run that was refused before the program began. It is 125 if this host
// lacks something: nothing ran.
func (p runVerbs) notStarted(o runOptions, err error) error {
	var exit *cli.Exit
	if errors.As(err, &exit) {
		return err
	}
	if out := p.stuckExit(o, err, nil); out != nil {
		return out
	}
	code := cli.Refused
	var denial *profiles.Denial
	var invalid *policy.InvalidError
	switch {
	case errors.As(err, &denial):
		if cli.Unenforceable(denial.Decision.Code) {
			code = cli.Unavailable
		}
		if o.asJSON {
			if err := cli.JSON(p.Out, cli.RefusedRun(o.request.Agent, o.request.Executor, denial)); err != nil {
				return err
			}
		}
		if code == cli.Unavailable {
			return cli.Failed(code, errors.New(cli.UnavailableText(denial)))
		}
		return cli.Failed(code, errors.New(cli.Denial(denial)))
	case errors.As(err, &invalid):
		code = cli.Misused
	case errors.Is(err, records.ErrUnavailable):
		code = cli.Unavailable
	}
	return cli.Failed(code, err)
}

// stuckExit returns the exit of a run that waits for a bridge, with the flags that it needs: nothing of it ran.
// For any other error it returns other.
func (p runVerbs) stuckExit(o runOptions, err, other error) error {
	var stuck *waiting.StuckError
	if !errors.As(err, &stuck) || stuck.Lacks == nil {
		return other
	}
	lacks := stuck.Lacks
	if o.state == "" { // without a state folder there is no pause to resume
		return cli.Failed(
			cli.Misused,
			fmt.Errorf("bridge %s: %w\n    hint: give a command that performs it: --bridge %s=COMMAND",
				cli.Visible(lacks.Bridges[0]), lacks.Err, cli.Word(lacks.Bridges[0])),
		)
	}
	given := slices.Clone(o.bridges)
	o.bridges = slices.DeleteFunc(given, func(g string) bool {
		name, _, _ := strings.Cut(g, "=")
		return slices.Contains(lacks.Bridges, name)
	})
	for _, b := range lacks.Bridges {
		o.bridges = append(o.bridges, b+"=COMMAND")
	}
	return cli.Failed(
		cli.Misused,
		fmt.Errorf(
			"run %s: call %s needs bridge %s: %w; nothing ran, and the run stays paused\n    hint: ringd resume %s%s%s",
			cli.ShortID(
				stuck.Run,
			),
			cli.Visible(lacks.Call),
			cli.Visible(lacks.Bridges[0]),
			lacks.Err,
			cli.ShortID(stuck.Run),
			cli.Clean(o.placeFlags()),
			cli.Clean(o.resumeFlags()),
		),
	)
}

// outcome is a run with what only this host has seen: why its bridges failed, which the program must not
// learn, and targets that could not be reached, which are errors of the program and no denials.
type outcome struct {
	wire.Run
	Faults []fault `json:"faults,omitempty"`
}

// fault is why a bridge call failed, or a target was not reached.
type fault struct {
	Call   string `json:"call,omitempty"`
	Bridge string `json:"bridge,omitempty"`
	Target string `json:"target,omitempty"` // HOST:PORT
	Reason string `json:"reason"`
}

// String returns what failed, and why.
func (f fault) String() string {
	if f.Target != "" {
		return cli.Visible(f.Target) + ": " + cli.Visible(f.Reason)
	}
	return "bridge " + cli.Visible(f.Bridge) + ": " + cli.Visible(f.Reason)
}

// maxFaults limits the faults of a run; the audit log has all.
const maxFaults = 32

// faults collects the faults of one run. It is safe for concurrent use, and a nil *faults collects none.
type faults struct {
	mu   sync.Mutex
	list []fault
}

func (f *faults) add(c contract.Call, reason string) {
	f.put(fault{Call: c.ID, Bridge: c.Bridge, Reason: reason})
}

// addLost adds a target without an address, once.
func (f *faults) addLost(target, why string) { f.put(fault{Target: target, Reason: why}) }

func (f *faults) put(one fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list) < maxFaults && !slices.Contains(f.list, one) {
		f.list = append(f.list, one)
	}
}

func (f *faults) all() []fault {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

// finish prints how a run ended and returns the exit.
func (p runVerbs) finish(o runOptions, run wire.Run, set *profiles.Set) error {
	if o.asJSON {
		if err := cli.JSON(p.Out, outcome{run, o.faults.all()}); err != nil {
			return err
		}
	} else {
		if err := p.Page(p.Out).Value(run); err != nil {
			return err
		}
		p.Page(p.Err).Run(run)
	}
	for _, f := range o.faults.all() {
		fmt.Fprintf(p.Err, "ringd: %s\n", f)
	}
	if o.report {
		p.Page(p.Err).Report(run, set)
	} else if o.state != "" && !o.asJSON {
		fmt.Fprintf(p.Err, "run %s: %s\n", cli.Clean(run.ID), cli.Clean(run.State))
	}
	if state := executors.State(run.State); state == executors.StateDenied && len(run.Denials) == 1 &&
		cli.Unenforceable(run.Denials[0].Code) {
		return cli.Failed(cli.Unavailable, nil) // no guest could be started: nothing ran
	}
	switch executors.State(run.State) {
	case executors.StateDenied:
		if run.ExitCode == profiles.ExitRefused {
			return cli.Failed(profiles.ExitRefused, nil)
		}
	case executors.StatePaused:
		p.printNext(o, run)
		return cli.Failed(cli.Paused, nil)
	case wire.StateRunning:
		return nil
	case executors.StateDone:
		// Otherwise the program continued without what was denied.
		if !slices.ContainsFunc(
			run.Denials,
			func(d profiles.Decision) bool { return cli.Counts(o.request.Executor, d.Code) },
		) {
			return nil
		}
	}
	return cli.Failed(cli.Refused, nil)
}

// resumeFlags returns the flags of run that resume needs too: without its bridges the run would fail at the
// approved call.
func (o runOptions) resumeFlags() string {
	var b strings.Builder
	give := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" {
				b.WriteString(" " + flag + " " + cli.Word(v))
			}
		}
	}
	give("-p", o.policy)
	give("--workspace", o.workspace)
	give("--bridge", o.bridges...)
	give("--bridge-env", o.bridgeEnv...)
	give("--gateway", o.gateways...)
	give("--credential", o.credentials...)
	return b.String()
}

// placeFlags returns the flags that select the daemon or folder of the run, for a command that is shown.
func (o runOptions) placeFlags() string {
	if o.state != "" {
		return " --state " + cli.Word(o.state)
	}
	return o.daemon.Hint()
}

// printNext prints how to continue a waiting run, in a state folder or a daemon.
func (p runVerbs) printNext(o runOptions, run wire.Run) {
	id, place := cli.ShortID(run.ID), cli.Clean(o.placeFlags())
	for _, c := range run.Pending {
		if c.For == "approver" {
			fmt.Fprintf(p.Err, "    allow it: ringd approve %s %s%s\n", id, cli.Clean(c.ID), place)
		} else {
			fmt.Fprintf(p.Err, "    answer:   ringd answer %s %s --value JSON%s\n", id, cli.Clean(c.ID), place)
		}
	}
	if o.state != "" {
		fmt.Fprintf(p.Err, "    resume:   ringd resume %s%s%s\n", id, place, cli.Clean(o.resumeFlags()))
	} else {
		fmt.Fprintf(p.Err, "    resumes by itself once every call is answered; ringd runs %s%s\n", id, place)
	}
}
