package python

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

// runIn runs a program in g. Unless again is true, g cannot be used afterwards.
func (e *Executor) runIn(
	ctx context.Context, g *process, b bound, h executors.Host,
) (out executors.Outcome, again bool, err error) {
	r, w := b.run, b.work
	w.Updated = e.updated(g, &r)
	g.Serve(r.ID)
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	printed := executors.NewOutput(
		executors.OutputConfig{Host: h, Max: *r.Limits.OutputBytes, Over: func() { cancel(errOutput) }},
	)
	feeding := e.feed(g, r)
	reading := e.read(g, printed)
	out, again, err = g.Link.Run(within, w, h)
	if again && !r.Session { // a guest serves no second run
		again = false
		err = errors.Join(err, g.Link.Close())
	}
	if again && (err != nil || !reading.pause()) {
		again = false
	}
	exit := executors.Exit{}
	if !again {
		err = errors.Join(err, g.Link.Close())
		_ = g.std.Stdin().Close()
	}
	feeding.Wait()
	reading.finish()
	if !again {
		// All its processes are dead, so the streams end after the printed output.
		exit = executors.EndedOf(ctx, g.std)
		err = errors.Join(err, executors.CloseGuest(g.Process))
	}
	out.Denials = e.addRules(out.Denials, r)
	out.Attestation = g.Process.Attestation()
	out.Console, out.Dropped = printed.Entries()
	peak := min(out.Usage.PeakBytes, *r.Limits.MemoryBytes) // as reported by the guest, which has no more
	out.Usage.PeakBytes = max(peak, exit.Peak)
	out, err = finalOutcome(ctx, out, ending{exit, printed.Cut(), *r.Limits.MemoryBytes}, err)
	return out, again, err
}

// feed writes a program's standard input. That of a session stays open, and the guest reports its end to its
// programs.
func (e *Executor) feed(g *process, r executors.Run) *sync.WaitGroup {
	var feeding sync.WaitGroup
	if r.Session {
		return &feeding
	}
	feeding.Add(1)
	e.cfg.Go(func() {
		defer feeding.Done()
		// A program need not read all of it, or may be gone: that is no failure.
		_, _ = g.std.Stdin().Write(r.Program.Stdin)
		_ = g.std.Stdin().Close()
	})
	return &feeding
}

// reading reads the two streams of a guest during one run.
type reading struct {
	readers []*executors.OutputReader
	wait    sync.WaitGroup
}

func (e *Executor) read(g *process, to *executors.Output) *reading {
	r := &reading{}
	for _, s := range []struct {
		level string
		from  io.Reader
	}{{executors.LevelStdout, g.std.Stdout()}, {executors.LevelStderr, g.std.Stderr()}} {
		one := to.Reader(s.level, s.from)
		r.readers = append(r.readers, one)
		r.wait.Add(1)
		e.cfg.Go(func() {
			defer r.wait.Done()
			one.ReadAll()
		})
	}
	return r
}

// pause stops reading when a run ends whose guest stays alive. Output that the guest wrote before it reported
// the end is read. Later output is not of this run. pause returns false if the two cannot be separated.
func (r *reading) pause() bool {
	for _, one := range r.readers {
		if one.Stop() != nil {
			return false
		}
	}
	r.wait.Wait()
	for _, one := range r.readers {
		if one.Rest() != nil || one.Resume() != nil {
			return false
		}
	}
	return true
}

// finish waits until both streams are read, and forwards the rest.
func (r *reading) finish() {
	r.wait.Wait()
	for _, one := range r.readers {
		one.End()
	}
}

// errOutput ends a run that prints more than it may.
var errOutput = errors.New("the output of the program is above its limit")

// exitKilled is the exit code that shells report for a killed program.
const exitKilled = 137

// ending holds the causes of an end that the guest did not report.
type ending struct {
	executors.Exit
	cut    bool  // it printed more than it may
	memory int64 // limit of the program
}

// full reports whether an interpreter had used up the memory of its program: it can do and report little then.
func (e ending) full() bool { return e.Peak >= e.memory }

// finalOutcome builds the outcome from the report of the guest and from the cause that ended it.
func finalOutcome(ctx context.Context, o executors.Outcome, exit ending, err error) (executors.Outcome, error) {
	limit := func(name, text string) (executors.Outcome, error) {
		o.State, o.ExitCode = executors.StateLimit, exitKilled
		o.Error = &executors.ProgramError{Name: name, Message: text}
		o.Value = nil
		return o, nil
	}
	told := err == nil && o.State != executors.StateCancelled
	switch {
	case ctx.Err() != nil: // the caller ended it first
	case exit.cut, !told && exit.Limit == "output":
		return limit("OutputTooLarge", "the program has printed more than its limit of output")
	case !told && exit.Limit == "cpu":
		return limit(profiles.ErrorTimeout, "processor time limit reached")
	case !told && exit.Limit == "wall":
		return limit(profiles.ErrorTimeout, "wall time limit reached")
	case !told && exit.Limit == "memory":
		return limit(
			profiles.ErrorOutOfMemory,
			"memory limit reached: all processes of the program together "+cmp.Or(exit.Held, "have taken more"),
		)
	}
	if err == nil && (o.State == executors.StateCancelled || o.State == executors.StateLimit && o.Error != nil &&
		o.Error.Name == profiles.ErrorTimeout) {
		o.ExitCode = exitKilled // by the host
	}
	if errors.Is(err, executors.ErrRevoked) ||
		errors.Is(err, executors.ErrGuest) && !errors.Is(err, executors.ErrGone) {
		return broken(o, exit, err), nil
	}
	return o, err
}

// broken is the outcome of a program whose interpreter ended, or violated the protocol, before it reported how
// the program ended.
func broken(o executors.Outcome, exit ending, err error) executors.Outcome {
	o.State, o.ExitCode = executors.StateFailed, exit.Code
	o.Error = &executors.ProgramError{Name: "GuestError", Message: err.Error()}
	switch {
	case errors.Is(err, executors.ErrRevoked): // a push revoked something it had been started with
		o.State, o.ExitCode, o.Error.Name = executors.StateDenied, 1, profiles.ErrorCapabilityRevoked
	case errors.Is(err, executors.ErrProtocol):
		o.ExitCode = exitKilled
		o.Error.Message += ": the interpreter broke the protocol and was ended"
	case exit.full() && (exit.Signal != 0 || exit.Code != 0):
		o.State, o.ExitCode, o.Error.Name = executors.StateLimit, exitKilled, profiles.ErrorOutOfMemory
		o.Error.Message = fmt.Sprintf(
			"the program needed more than its limit of %d bytes of memory, and its interpreter ended",
			exit.memory,
		)
	case exit.Signal == signalKill:
		o.ExitCode, o.Error.Name = exitKilled, "Killed"
		o.Error.Message = "the interpreter was ended by signal 9: it exceeded the memory limit of all of its " +
			"processes, killed itself, or closed its connection"
	case exit.Signal != 0:
		o.ExitCode, o.Error.Name = exitSignal+exit.Signal, "Crashed"
		o.Error.Message = fmt.Sprintf(
			"the interpreter was ended by signal %d: a library crashed it, or it received the signal", exit.Signal,
		)
	default:
		o.Error.Name = "Exited"
		o.Error.Message = fmt.Sprintf(
			"the program ended its interpreter with exit code %d and without a result, as os._exit does", exit.Code,
		)
	}
	return o
}

// exitSignal plus the number of a signal is the exit code that shells report for a program ended by it.
const (
	exitSignal = 128
	signalKill = 9
)
