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

// notStarted turns a refusal before the program began into an exit. What this
// host cannot give is exit 125: nothing ran.
func (p runVerbs) notStarted(o runOptions, err error) error {
	var exit *cli.Exit
	if errors.As(err, &exit) {
		return err
	}
	if out := p.stuck(o, err, nil); out != nil {
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

// stuck is the exit of a run that waits for a bridge, with the flags that it takes:
// nothing of it ran. Of any other error it is other.
func (p runVerbs) stuck(o runOptions, err, other error) error {
	var stuck *waiting.StuckError
	if !errors.As(err, &stuck) || stuck.Lacks == nil {
		return other
	}
	lacks := stuck.Lacks
	if o.state == "" { // which has no pause to go on from
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
			cli.Clean(o.place()),
			cli.Clean(o.again()),
		),
	)
}

// outcome is a run as this host has seen it: why its bridges failed is not the program's
// to know, and so not part of the run. Nor are targets that could not be reached, of which
// the program has an error and nobody a denial.
type outcome struct {
	wire.Run
	Faults []fault `json:"faults,omitempty"`
}

// fault is why a call of a bridge failed, or a target was not reached.
type fault struct {
	Call   string `json:"call,omitempty"`
	Bridge string `json:"bridge,omitempty"`
	Target string `json:"target,omitempty"` // HOST:PORT
	Reason string `json:"reason"`
}

// String names what failed, and why.
func (f fault) String() string {
	if f.Target != "" {
		return cli.Visible(f.Target) + ": " + cli.Visible(f.Reason)
	}
	return "bridge " + cli.Visible(f.Bridge) + ": " + cli.Visible(f.Reason)
}

// maxFaults is how many of a run are told; the audit log has all.
const maxFaults = 32

// faults are those of one run. The nil faults are none. They are safe for concurrent use.
type faults struct {
	mu   sync.Mutex
	list []fault
}

func (f *faults) add(c contract.Call, reason string) {
	f.put(fault{Call: c.ID, Bridge: c.Bridge, Reason: reason})
}

// lost adds a target that has no address, once.
func (f *faults) lost(target, why string) { f.put(fault{Target: target, Reason: why}) }

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

// finish prints how a run ended and gives the exit.
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
		return cli.Failed(cli.Unavailable, nil) // the guest could not be had: nothing ran
	}
	switch executors.State(run.State) {
	case executors.StateDenied:
		if run.ExitCode == profiles.ExitRefused {
			return cli.Failed(profiles.ExitRefused, nil)
		}
	case executors.StatePaused:
		p.goOn(o, run)
		return cli.Failed(cli.Paused, nil)
	case wire.StateRunning:
		return nil
	case executors.StateDone:
		// Else the program went on without what was refused.
		if !slices.ContainsFunc(
			run.Denials,
			func(d profiles.Decision) bool { return cli.Counts(o.request.Executor, d.Code) },
		) {
			return nil
		}
	}
	return cli.Failed(cli.Refused, nil)
}

// again is what resume has to be given of what run was given: without its bridges a run
// fails at the call that was allowed.
func (o runOptions) again() string {
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

// place is the flags that say where the run is, as a command that is shown carries them.
func (o runOptions) place() string {
	if o.state != "" {
		return " --state " + cli.Word(o.state)
	}
	return o.daemon.Hint()
}

// goOn says how to go on with a run that waits, in a state folder or in a daemon.
func (p runVerbs) goOn(o runOptions, run wire.Run) {
	id, place := cli.ShortID(run.ID), cli.Clean(o.place())
	for _, c := range run.Pending {
		if c.For == "approver" {
			fmt.Fprintf(p.Err, "    allow it: ringd approve %s %s%s\n", id, cli.Clean(c.ID), place)
		} else {
			fmt.Fprintf(p.Err, "    answer:   ringd answer %s %s --value JSON%s\n", id, cli.Clean(c.ID), place)
		}
	}
	if o.state != "" {
		fmt.Fprintf(p.Err, "    resume:   ringd resume %s%s%s\n", id, place, cli.Clean(o.again()))
	} else {
		fmt.Fprintf(p.Err, "    resumes by itself once every call is answered; ringd runs %s%s\n", id, place)
	}
}
