package interpreter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
)

// tries is a program that asks for bridges which it has not.
func tries(n int, name func(int) string) program {
	return func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for i := range n {
			if _, err := h.Ask(ctx, question(fmt.Sprintf("c%d", i+1), name(i), `[]`)); err != nil {
				return executors.Outcome{}, err
			}
		}
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`1`)}, nil
	}
}

// Equal refusals stand once in an outcome, with how often, and the stream of events stays
// short; a program that is refused twice of two things sees each.
func TestEqualRefusalsAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name      string
		n         int
		of        func(int) string
		denials   int
		count     int64 // of the first
		more      int64
		decisions int // events
	}{
		{"one thing, ten thousand times", 10_000, func(int) string { return "nope" }, 1, 10_000, 0, 5},
		{"ten thousand things", 10_000, func(i int) string { return fmt.Sprintf("nope%d", i) }, interpreter.MaxDenials, 0, 10_000 - interpreter.MaxDenials, interpreter.MaxDenials},
		{"two things", 2, func(i int) string { return fmt.Sprintf("nope%d", i) }, 2, 0, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(agentOf(set("a"), func(a *profiles.Agent) { a.Limits.RefusedCalls = num(20_000) }))
			run := w.start(tries(tt.n, tt.of))
			v := w.end(run)
			if v.State != executors.StateDone || len(v.Denials) != tt.denials || v.Denials[0].Count != tt.count || v.DenialsMore != tt.more {
				t.Errorf("%s %+v: %d denials, the first %d times, %d more", v.State, v.Error, len(v.Denials), v.Denials[0].Count, v.DenialsMore)
			}
			list, err := run.Events(t.Context(), 0)
			must(t, err)
			decisions, last := 0, int64(0)
			for _, e := range list {
				if e.Kind == interpreter.EventDecision {
					decisions, last = decisions+1, e.Decision.Count
				}
			}
			if decisions != tt.decisions || last != tt.count {
				t.Errorf("%d events, the last with %d", decisions, last)
			}
		})
	}
}
