package executors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/profiles"
)

// result checks the Result of a guest.
func (r *linkRun) result(m Result) error {
	bad := ""
	switch m.State {
	case StateDone:
		switch {
		case r.isOpen():
			bad = "done with open calls"
		case int64(len(m.Value)) > r.work.ResultBytes:
			bad = "the value is over its limit"
		case !json.Valid(m.Value):
			bad = "the value is not JSON"
		case m.Error != nil:
			bad = "done with an error"
		}
	case StateFailed, StateDenied, StateLimit:
		if m.Error == nil || len(m.Value) > 0 {
			bad = "no error, or a value, with state " + string(m.State)
		}
	case StatePaused:
		switch {
		case !r.isPausing():
			bad = "paused, and nobody asked for it"
		case r.packed == 0:
			bad = "paused without a snapshot"
		case m.Error != nil, len(m.Value) > 0:
			bad = "an error, or a value, with state paused"
		}
	case StateCancelled, StateUnknown:
		bad = "state " + string(m.State)
	default:
		bad = fmt.Sprintf("state %q", m.State)
	}
	for _, d := range m.Denials {
		if d.Verdict != profiles.Deny {
			bad = "a denial whose decision does not deny"
		}
	}
	if bad != "" {
		return fmt.Errorf("%w: result: %s", ErrProtocol, bad)
	}
	if r.packed > 0 && m.State != StatePaused && !r.keeps(m.State) {
		return fmt.Errorf("%w: result: a snapshot with state %s", ErrProtocol, m.State)
	}
	if m.ExitCode < 0 || m.ExitCode > maxExit {
		return fmt.Errorf("%w: result: exit code %d", ErrProtocol, m.ExitCode)
	}
	switch {
	case m.PeakBytes < 0, m.Dropped < 0, m.Refused < 0:
		return fmt.Errorf("%w: result: a negative figure", ErrProtocol)
	case m.Dropped > 0 && r.work.OutputBytes == 0:
		return fmt.Errorf("%w: result: output dropped of a guest that says no lines", ErrProtocol)
	case m.Repr && (m.State != StateDone || m.Value[0] != '"'):
		return fmt.Errorf("%w: result: what shows a value is not text", ErrProtocol)
	}
	r.said = m
	return nil
}

// outcome combines the report of the guest with the measurements of the host.
func (r *linkRun) outcome(c cause) Outcome {
	if d := r.said.Dropped; d > 0 && c == causeNone {
		r.lines++
		e := ConsoleEntry{Seq: r.lines, Level: "warn",
			Text: fmt.Sprintf("ringd: %d bytes of console output dropped, the limit is %d", d, r.work.OutputBytes)}
		r.console = append(r.console, e)
		r.h.Console(e)
	}
	out := Outcome{Console: r.console, Engine: r.l.ready.Digest, Usage: Usage{
		Wall: r.l.cfg.Now().Sub(r.began), HostWait: r.wait.total, Calls: r.calls, PeakBytes: r.said.PeakBytes,
	}}
	out.Usage.CPU = r.cpu()
	out.Denials = validDenials(r.denied) // the program did not come to its end
	switch c {
	case causeNone:
		out.State, out.Error, out.Value = r.said.State, r.said.Error, r.said.Value
		end := withSaid(r.said.End, r.denied)
		out.Dropped, out.Denials, out.ExitCode = end.Dropped, validDenials(end.Denials), end.ExitCode
		out.Imports, out.Repr, out.Refused = end.Imports, end.Repr, unlistedDenials(end)
		if out.State != StateDone {
			out.Value = nil
		}
		out.Snapshot, out.Unkept = r.snapshot(), r.said.Unkept
	case causeWall:
		out.State = StateLimit
		out.Error = &ProgramError{
			Name: profiles.ErrorTimeout, Message: fmt.Sprintf("wall time limit of %v reached", r.work.Wall),
		}
	case causeCPU:
		out.State = StateLimit
		out.Error = &ProgramError{
			Name: profiles.ErrorTimeout, Message: fmt.Sprintf("processor time limit of %v reached", r.work.CPU),
		}
	case causeCtx:
		out.State = StateCancelled
		out.Error = &ProgramError{Name: profiles.ErrorCancelled, Message: "the run was cancelled"}
	case causeHost, causeBroken, causeSlow:
		out.State = StateFailed
		out.Error = r.brokenError(c)
	default:
		out.State = StateUnknown
	}
	return out
}

// cpu returns the processor time that the program used in this part of the run. The time to restore the program
// and to take its snapshot is not included; Budget.Move limits that time.
func (r *linkRun) cpu() time.Duration {
	now := r.stopped
	if !r.isPausing() && !r.isKeeping() {
		var err error
		if now, err = r.l.guest.CPU(); err != nil || r.restoring {
			return 0
		}
	}
	return max(now-r.cpu0, 0)
}

// goneBeforeBegin reports whether the guest ended before it sent anything, for no known reason.
func (r *linkRun) goneBeforeBegin(err error) bool {
	for _, why := range []error{ErrProtocol, ErrRevoked, ErrViolation} {
		if errors.Is(err, why) {
			return false
		}
	}
	return r.l.s.BytesRead() == r.base
}

// fault is the error of a run whose end is not explained by a limit.
func (r *linkRun) fault(c cause, hostErr, err error) error {
	switch c {
	case causeHost:
		return hostErr
	case causeBroken, causeSlow:
		if r.restoring {
			return r.unrestored(c, err)
		}
		if c == causeSlow {
			return nil
		}
		if r.goneBeforeBegin(err) {
			return ErrGone
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("it exited")
		}
		return fmt.Errorf("%w: %w", ErrGuest, err)
	case causeNone, causeCtx, causeWall, causeCPU:
		return nil
	default:
		return fmt.Errorf("%w: unknown end", ErrGuest)
	}
}
