// Package view owns the conversion of runs to the types of the API, from what the ring and the store know.
// The daemon and the command line call it.
package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
	"github.com/ringd/ringd/schema/wire"
)

// Run converts a run of the ring.
func Run(v contract.View, created time.Time) wire.Run {
	out := wire.Run{ID: v.ID, State: string(v.State), Agent: v.Agent, Executor: v.Executor, Created: &created,
		Value: v.Value, Repr: v.Repr, Dropped: v.Dropped, ExitCode: v.ExitCode,
		Acted:   wire.Acted{Imports: v.Imports, Ran: v.Ran, RanMore: v.RanMore},
		Session: v.Session, SessionError: v.SessionError, Denials: v.Denials, DenialsMore: v.DenialsMore,
		Attestation: wire.Attestation{Generation: v.Generation, Revision: v.Revision,
			Tier: string(v.Attestation.Tier), Layers: v.Attestation.Layers,
			LandlockABI: v.Attestation.LandlockABI, Profile: v.Attestation.Profile},
		Usage: wire.Usage{CPUMillis: millis(v.Usage.CPU), WallMillis: millis(v.Usage.Wall),
			HostWaitMillis: millis(v.Usage.HostWait), PeakBytes: v.Usage.PeakBytes, Calls: v.Usage.Calls}}
	out.Console, out.Stdout, out.Stderr = streams(v.Console)
	out.RuleOfTwo = ruleOfTwo(v.Touched)
	if Ended(out.State) { // a live run has later ones
		out.LastEvent = v.LastEvent
	}
	for _, a := range v.Asked {
		out.Asked = append(
			out.Asked,
			wire.Asked{Call: a.Call, Capability: a.Name, Argv: append([]string{}, a.Argv...), When: a.When},
		)
	}
	out.Queued = v.Queued
	for _, p := range v.Pending {
		w := wire.Pending{
			ID:      p.ID,
			Bridge:  p.Bridge,
			Args:    p.Args,
			For:     p.For,
			Digest:  p.Digest,
			Held:    p.Held,
			From:    p.From,
			Count:   p.Count,
			Rule:    p.Rule,
			Because: p.Because,
		}
		if !p.Expires.IsZero() {
			at := p.Expires
			w.Expires = &at
		}
		out.Pending = append(out.Pending, w)
	}
	if v.Error != nil {
		out.Error = &wire.RunError{Name: v.Error.Name, Message: v.Error.Message}
		for _, f := range v.Error.Frames {
			out.Error.Frames = append(out.Error.Frames, wire.Frame(f))
		}
	}
	if out.Denials == nil {
		out.Denials = []profiles.Decision{}
	}
	if out.Usage.Calls == nil {
		out.Usage.Calls = map[string]int64{}
	}
	if out.Attestation.Layers == nil {
		out.Attestation.Layers = map[string]string{}
	}
	return out
}

// ruleOfTwo converts the powers that a run has used, or returns nil if no rule binds it.
func ruleOfTwo(t *ruleoftwo.Touched) *wire.RuleOfTwo {
	if t == nil {
		return nil
	}
	out := &wire.RuleOfTwo{Touched: []string{}, By: map[string][]string{}}
	for _, p := range powers.List(t.Powers) {
		out.Touched = append(out.Touched, string(p))
		out.By[string(p)] = append([]string{}, t.By[p]...)
	}
	return out
}

// streams separates the standard streams of a program from its console.
func streams(console []executors.ConsoleEntry) (lines []wire.ConsoleEntry, stdout, stderr string) {
	lines = make([]wire.ConsoleEntry, 0, len(console))
	var out, errs strings.Builder
	for _, e := range console {
		switch e.Level {
		case executors.LevelStdout:
			out.WriteString(e.Text)
		case executors.LevelStderr:
			errs.WriteString(e.Text)
		default:
			lines = append(lines, wire.ConsoleEntry(e))
		}
	}
	return lines, out.String(), errs.String()
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Row converts a run that only the store knows.
func Row(row store.Run) (wire.Run, error) {
	out := wire.Run{Console: []wire.ConsoleEntry{}, Denials: []profiles.Decision{},
		Usage: wire.Usage{Calls: map[string]int64{}}, Attestation: wire.Attestation{Layers: map[string]string{}}}
	if row.Outcome != nil {
		if err := json.Unmarshal(row.Outcome, &out); err != nil {
			return wire.Run{}, fmt.Errorf("read the outcome of run %s: %w", row.ID, err)
		}
	}
	if row.State != store.Paused && row.State != store.Answered {
		out.Pending, out.Queued = nil, 0 // it has only the fields of Known
	}
	out.ID, out.State, out.Agent, out.Executor = row.ID, State(row.State), row.Agent, row.Executor
	if out.Created == nil {
		out.Created = &row.Created
	}
	if out.Attestation.Generation == 0 {
		out.Attestation.Generation, out.Attestation.Revision = row.Generation, row.Revision
	}
	return out, nil
}

// State returns the API state of a row.
func State(s store.State) string {
	switch s {
	case store.Done, store.Denied, store.Failed, store.Limit, store.Cancelled, store.Unknown, store.Paused:
		return string(s)
	case store.Asked, store.Started, store.CallOpen, store.Answered, store.Claimed, store.Executing:
		return wire.StateRunning
	default:
		return string(store.Unknown)
	}
}

// Ended reports whether a state is final.
func Ended(state string) bool {
	switch executors.State(state) {
	case executors.StateDone, executors.StateFailed, executors.StateDenied, executors.StateLimit,
		executors.StateCancelled, executors.StateUnknown:
		return true
	case executors.StatePaused, contract.StateRunning:
		return false
	default:
		return false
	}
}

// Waits returns the open calls of a waiting run. known are those of its outcome, for the fields that the
// store does not have.
func Waits(calls []store.Call, given []store.Approval, known []wire.Pending) []wire.Pending {
	var out []wire.Pending
	for _, c := range calls {
		if c.State == store.CallPending && c.Reply == nil && (c.For != store.ByApprover || c.Verdict == "") {
			out = append(out, Pending(c, given, known))
		}
	}
	slices.SortFunc(out, func(a, b wire.Pending) int { // c2 before c10
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Known returns the fields of open calls that only the outcome of a waiting run keeps, not the store.
func Known(pending []wire.Pending) []wire.Pending {
	var out []wire.Pending
	for _, p := range pending {
		if p.Rule != nil || p.Because != "" {
			out = append(out, wire.Pending{ID: p.ID, Rule: p.Rule, Because: p.Because})
		}
	}
	return out
}

// Pending converts an open call of the store. given are the approvals of all calls of its run, and known is
// the result of Known.
func Pending(c store.Call, given []store.Approval, known []wire.Pending) wire.Pending {
	out := wire.Pending{ID: c.ID, Bridge: c.Bridge, Args: c.Args, For: string(c.For), Digest: c.ArgsDigest}
	if c.For != store.ByApprover {
		return out
	}
	out.From, out.Count = c.From, max(c.Needs, 1)
	for _, k := range known {
		if k.ID == c.ID {
			out.Rule, out.Because = k.Rule, k.Because
		}
	}
	if !c.Expires.IsZero() {
		at := c.Expires
		out.Expires = &at
	}
	for _, a := range given {
		if a.Call == c.ID && a.Verdict == store.Allow {
			out.Approvals = append(out.Approvals, wire.Approved{By: a.By, As: a.As, At: a.At})
		}
	}
	return out
}

// Interim returns the stored outcome of a waiting run. A console that is too large for it counts as dropped
// until the resume: the record of the run has all of it.
func Interim(out wire.Run) ([]byte, error) {
	raw, err := json.Marshal(out)
	if err == nil && len(raw) > store.MaxOutcome {
		out.Dropped += int64(len(out.Console) + len(out.Stdout) + len(out.Stderr))
		out.Console, out.Stdout, out.Stderr = []wire.ConsoleEntry{}, "", ""
		raw, err = json.Marshal(out)
	}
	return raw, err
}

// Outcome returns the stored outcome of a run. One that is too large is replaced by a failure that says so.
func Outcome(out *wire.Run) ([]byte, error) {
	raw, err := json.Marshal(out)
	if err == nil && len(raw) <= store.MaxOutcome {
		return raw, nil
	}
	*out = wire.Run{ID: out.ID, State: string(executors.StateFailed), Agent: out.Agent, Executor: out.Executor,
		Created: out.Created, Console: []wire.ConsoleEntry{}, Denials: []profiles.Decision{}, Usage: out.Usage,
		Attestation: out.Attestation,
		Error:       &wire.RunError{Name: profiles.ErrorResultTooLarge, Message: "the outcome is too large to keep"}}
	return json.Marshal(out)
}
