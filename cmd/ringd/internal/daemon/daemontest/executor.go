package daemontest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

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
//	mixture         done with the policy's name if all it was given is of one policy
type Executor struct {
	mu     sync.Mutex
	reject error
}

// Reject makes the executor refuse the sets that are prepared from now on.
func (e *Executor) Reject(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reject = err
}

// Prepare refuses if Reject said so.
func (e *Executor) Prepare(context.Context, *profiles.Set) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reject
}

// Name is js.
func (e *Executor) Name() string { return "js" }

// Close does nothing: runs end with their contexts.
func (e *Executor) Close() error { return nil }

// Run runs one program.
func (e *Executor) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	verb, rest, _ := strings.Cut(r.Program.Source, " ")
	out := executors.Outcome{State: executors.StateDone, Value: json.RawMessage("2"),
		Attestation: executors.Attestation{Tier: profiles.TierWasm, Layers: map[string]string{"rlimits": "enforced"}}}
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
	case "call":
		a, err := h.Ask(ctx, question(rest, 1))
		if err != nil {
			return out, err
		}
		settle(&out, a)
	case "each":
		return e.each(ctx, rest, h, out)
	case "wave":
		return wave(ctx, strings.Fields(rest), h, out)
	case "mixture":
		text, err := hex.DecodeString(strings.TrimPrefix(r.Modules["m"].Source, "export default "))
		if err != nil || string(text) != r.Agent.Policy {
			return out, fmt.Errorf("a mixture of %q and %q", text, r.Agent.Policy)
		}
		out.Value = json.RawMessage(fmt.Sprintf("%q", r.Agent.Policy+" "+r.Revision))
	default:
		return out, errors.New("no such program: " + verb)
	}
	return out, nil
}

func question(bridge string, n int) executors.Question {
	return executors.Question{Call: fmt.Sprintf("c%d", n), Bridge: bridge, Args: json.RawMessage(`[{}]`)}
}

func settle(out *executors.Outcome, a executors.Answer) {
	if a.Error != nil {
		out.State, out.Value = executors.StateFailed, nil
		out.Error = &executors.ProgramError{Name: a.Error.Name, Message: a.Error.Message}
		return
	}
	out.Value = a.Value
}

func (e *Executor) each(ctx context.Context, bridge string, h executors.Host, out executors.Outcome) (executors.Outcome, error) {
	for n := 1; ; n++ {
		a, err := h.Ask(ctx, question(bridge, n))
		if err != nil {
			return out, err
		}
		if a.Error != nil {
			out.Value = json.RawMessage(fmt.Sprintf(`{"calls":%d,"error":%q}`, n-1, a.Error.Name))
			return out, nil
		}
	}
}

func wave(ctx context.Context, bridges []string, h executors.Host, out executors.Outcome) (executors.Outcome, error) {
	answers := make([]executors.Answer, len(bridges))
	errs := make([]error, len(bridges))
	var wg sync.WaitGroup
	var ids []string
	for i, b := range bridges {
		q := question(b, i+1)
		ids = append(ids, q.Call)
		wg.Go(func() { answers[i], errs[i] = h.Ask(ctx, q) })
	}
	h.Idle(ids)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	values := make([]string, len(answers))
	for i, a := range answers {
		if a.Error != nil {
			settle(&out, a)
			return out, nil
		}
		values[i] = string(a.Value)
	}
	out.Value = json.RawMessage("[" + strings.Join(values, ",") + "]")
	return out, nil
}
