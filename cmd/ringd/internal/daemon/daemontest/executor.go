package daemontest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Engine is the digest of the engine of Executor.
const Engine = "sha256:e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5"

// Executor runs programs of one line in the place of JavaScript:
//
//	1+1             done, 2
//	throw           failed
//	panic           panics
//	spin            runs until it is cancelled
//	console A B …   writes a line for each word
//	call BRIDGE     calls a bridge once: done with its result, or failed
//	each BRIDGE     calls it until it is refused: done with the number of calls
//	wave A B …      calls all at once, idle until they are answered
//	steps A,B C …   a wave for each word, one after the other: done with all results;
//	                A*oo asks for two subagents, one for each letter
//	held A B …      calls one after the other, in a process that cannot be snapshotted:
//	                done with the last result, or the name of its error
//	session         done with the number of runs that this session has had
//	mixture         done with the policy's name if all it was given is of one policy
//
// Waves and steps pause; held does not.
type Executor struct {
	mu     sync.Mutex
	reject error
	engine string
	broken error
	gone   []string // sessions that were forgotten, in order
}

// Forget records that a session is forgotten.
func (e *Executor) Forget(snapshot []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = append(e.gone, string(snapshot))
}

// Living returns two sessions of a mebibyte each.
func (e *Executor) Living() (sessions int, bytes int64) { return 2, 2 << 20 }

// Forgotten returns the states of sessions that were forgotten, in order.
func (e *Executor) Forgotten() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.gone)
}

// Break makes resumes fail before a guest has them. Nil ends that.
func (e *Executor) Break(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = err
}

// Reject makes the executor refuse sets in Prepare from now on.
func (e *Executor) Reject(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reject = err
}

// SetEngine changes the engine of the executor.
func (e *Executor) SetEngine(digest string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.engine = digest
}

// HasEngine reports whether snapshots of an engine can be resumed.
func (e *Executor) HasEngine(digest string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return digest == e.ownLocked()
}

func (e *Executor) hasEngine(_, digest string) (string, bool) { return e.Digest(), e.HasEngine(digest) }

// Digest returns the executor's own engine.
func (e *Executor) Digest() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ownLocked()
}

func (e *Executor) ownLocked() string {
	if e.engine == "" {
		return Engine
	}
	return e.engine
}

// Prepare returns the error of Reject.
func (e *Executor) Prepare(context.Context, *profiles.Set) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reject
}

// scripts is the same executor as that of the shell. Of its words, run:git:push starts a program, and
// ^run:git:push asks for its approval ahead.
type scripts struct{ *Executor }

func (scripts) Name() string { return "shell" }

func (e *Executor) Name() string { return "js" }

// Close does nothing: runs end with their contexts.
func (e *Executor) Close() error { return nil }

// Run runs one program.
func (e *Executor) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	e.mu.Lock()
	engine, broken := e.engine, e.broken
	e.mu.Unlock()
	if broken != nil && r.Resume != nil {
		return executors.Outcome{}, broken
	}
	if engine == "" {
		engine = Engine
	}
	verb, rest, _ := strings.Cut(r.Program.Source, " ")
	out := executors.Outcome{State: executors.StateDone, Value: json.RawMessage("2"), Engine: engine,
		Attestation: executors.Attestation{Tier: profiles.TierWasm, Layers: map[string]string{"rlimits": "enforced"}}}
	if r.Resume != nil && r.Resume.Engine != engine {
		return out, fmt.Errorf("%w: %s", executors.ErrEngine, r.Resume.Engine)
	}
	switch verb {
	case "1+1":
	case "throw":
		out.State, out.Value = executors.StateFailed, nil
		out.Error = &executors.ProgramError{Name: "TypeError", Message: "boom",
			Frames: []executors.Frame{{Function: "f", File: "main.js", Line: 1, Column: 2}}}
	case "panic":
		out.Console = append(out.Console, out.Console[len(rest)]) // out of range
	case "spin":
		<-ctx.Done()
		out.State, out.Value = executors.StateCancelled, nil
	case "console":
		for i, word := range strings.Fields(rest) {
			h.Console(executors.ConsoleEntry{Seq: int64(i + 1), Level: "log", Text: word})
		}
	case "call", "each", "wave", "steps":
		return runMachine(ctx, r, h, out, verb, strings.Fields(rest))
	case "held":
		return runHeld(ctx, h, out, strings.Fields(rest))
	case "session":
		return runSession(r, out)
	case "mixture":
		return runMixture(r, out)
	default:
		return out, errors.New("no such program: " + verb)
	}
	return out, nil
}

// runHeld asks one bridge after the other, and stays alive while each call waits.
func runHeld(
	ctx context.Context,
	h executors.Host,
	out executors.Outcome,
	bridges []string,
) (executors.Outcome, error) {
	for i, bridge := range bridges {
		id := fmt.Sprintf("c%d", i+1)
		h.Idle([]string{id})
		a, err := h.Ask(
			ctx,
			executors.Question{Call: id, Bridge: bridge, Args: json.RawMessage(`[{"n":1}]`), Hold: func(bool) {}},
		)
		if err != nil {
			out.State, out.Value = executors.StateCancelled, nil
			return out, nil
		}
		if out.Value = a.Value; a.Error != nil {
			out.Value = json.RawMessage(fmt.Sprintf("%q", a.Error.Name))
		}
	}
	return out, nil
}

// runSession counts the runs of a session.
func runSession(r executors.Run, out executors.Outcome) (executors.Outcome, error) {
	n := 0
	if r.Resume != nil {
		if err := json.Unmarshal(r.Resume.Snapshot, &n); err != nil {
			return out, fmt.Errorf("%w: %w", executors.ErrSnapshot, err)
		}
	}
	out.Value = json.RawMessage(fmt.Sprint(n + 1))
	if r.Session {
		out.Snapshot = []byte(out.Value)
	}
	return out, nil
}

// runMixture fails if the modules and the profile of a run are not of one revision.
func runMixture(r executors.Run, out executors.Outcome) (executors.Outcome, error) {
	text, err := hex.DecodeString(strings.TrimPrefix(r.Modules["m"].Source, "export default "))
	if err != nil || string(text) != r.Agent.Policy {
		return out, fmt.Errorf("a mixture of %q and %q", text, r.Agent.Policy)
	}
	out.Value = json.RawMessage(fmt.Sprintf("%q", r.Agent.Policy+" "+r.Revision))
	return out, nil
}
