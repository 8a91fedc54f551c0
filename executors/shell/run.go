package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// runIn runs a script in g, which cannot be used afterwards.
func (e *Executor) runIn(
	ctx context.Context, g *guest, r executors.Run, w executors.Work, h executors.Host,
) (executors.Outcome, error) {
	process := g.Process
	std, ok := process.(executors.Streamer)
	if !ok { // launch makes no guest without streams
		return executors.Outcome{}, errors.Join(errors.New("the shell guest has no streams"), g.Link.Close())
	}
	g.Serve(r.ID)
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := executors.NewOutput(
		executors.OutputConfig{Host: h, Max: *r.Limits.OutputBytes, Over: func() { cancel(errOutput) }},
	)
	var reading, feeding sync.WaitGroup
	reading.Add(2)
	for level, from := range map[string]io.Reader{
		executors.LevelStdout: std.Stdout(), executors.LevelStderr: std.Stderr(),
	} {
		e.cfg.Go(func() {
			defer reading.Done()
			from := out.Reader(level, from)
			from.ReadAll()
			from.End()
		})
	}
	feeding.Add(1)
	e.cfg.Go(func() {
		defer feeding.Done()
		// A script need not read all of it, and may be gone: that is no failure.
		_, _ = std.Stdin().Write(r.Program.Stdin)
		_ = std.Stdin().Close()
	})
	witness := &witness{Host: h}
	o, again, err := g.Link.Run(within, w, witness)
	if again { // a guest serves no second run
		err = errors.Join(err, g.Link.Close())
	}
	_ = std.Stdin().Close()
	feeding.Wait()
	// All its processes are dead, so the streams end after the printed output.
	reading.Wait()
	exit := executors.EndedOf(ctx, std)
	err = errors.Join(err, executors.CloseGuest(process))
	if err == nil {
		o = witness.correct(o, r, func(text []byte) { out.Print(executors.LevelStderr, text) })
	}
	if errors.Is(err, executors.ErrGone) && !errors.Is(err, executors.ErrSnapshot) && out.Begun() {
		err = fmt.Errorf("%w: it exited", executors.ErrGuest) // a script that has printed has begun
	}
	o.Attestation = process.Attestation()
	o.Console, o.Dropped = out.Entries()
	o.Usage.CPU, o.Usage.PeakBytes = max(o.Usage.CPU, exit.CPU), max(o.Usage.PeakBytes, exit.Peak)
	return finalOutcome(ctx, o, out.Cut(), exit, err)
}

// errOutput ends a run that prints more than it may.
var errOutput = errors.New("the output of the script is above its limit")

// finalOutcome builds the outcome from the report of the guest and from the cause that ended it.
func finalOutcome(
	ctx context.Context, o executors.Outcome, cut bool, exit executors.Exit, err error,
) (executors.Outcome, error) {
	limit := func(name, text string) (executors.Outcome, error) {
		o.State, o.ExitCode = executors.StateLimit, exitKilled
		o.Error = &executors.ProgramError{Name: name, Message: text}
		o.Value, o.Snapshot = nil, nil
		return o, nil
	}
	told := err == nil && o.State != executors.StateCancelled
	switch {
	case ctx.Err() != nil: // the caller ended it first
	case cut, !told && exit.Limit == "output":
		return limit("OutputTooLarge", "the script has printed more than its limit of output")
	case !told && exit.Limit == "cpu":
		return limit(profiles.ErrorTimeout, "processor time limit reached")
	case !told && exit.Limit == "wall":
		return limit(profiles.ErrorTimeout, "wall time limit reached")
	case !told && exit.Limit == "memory":
		return limit(
			profiles.ErrorOutOfMemory,
			"memory limit reached: all processes of the script together "+cmp.Or(exit.Held, "have taken more"),
		)
	}
	if errors.Is(err, executors.ErrGuest) && !errors.Is(err, executors.ErrSnapshot) &&
		!errors.Is(err, executors.ErrGone) {
		o.State, o.ExitCode = executors.StateFailed, exitKilled
		if o.Error == nil {
			o.Error = &executors.ProgramError{Name: "GuestError"}
		}
		o.Error.Message = err.Error()
		if errors.Is(err, executors.ErrRevoked) { // a push revoked something it had been started with
			o.State, o.ExitCode, o.Error.Name = executors.StateDenied, profiles.ExitRefused,
				profiles.ErrorCapabilityRevoked
			return o, nil
		}
		if exit.Signal != 0 {
			o.Error.Message = fmt.Sprintf("%s (signal %d)", o.Error.Message, exit.Signal)
		}
		o.Error.Message += ": the shell crashed on this script, and everything that it ran was ended"
		err = nil
	}
	return o, err
}

// exitKilled is the exit code that shells report for a killed script.
const exitKilled = 137
