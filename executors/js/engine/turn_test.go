package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/js/engine"
)

func TestTurn(t *testing.T) {
	e := newEngine(t)
	tests := []struct {
		name, source string
		answer       engine.Answer
		want         engine.Status
		value        string
		err          error
	}{
		{"value", "(await f()).n + 1", engine.Answer{Value: json.RawMessage(`{"n":1}`)}, engine.StatusDone, "2", nil},
		{"no value", "String(await f())", engine.Answer{}, engine.StatusDone, `"undefined"`, nil},
		{"undefined", "await f() === undefined", engine.Answer{Value: json.RawMessage(`{"$ringd":"undefined"}`)}, engine.StatusDone, "true", nil},
		{"tagged", "(await f()).get('a')", engine.Answer{Value: json.RawMessage(`{"$ringd":"map","value":[["a",3]]}`)}, engine.StatusDone, "3", nil},
		{"null", "await f() === null", engine.Answer{Value: json.RawMessage(`null`)}, engine.StatusDone, "true", nil},
		{"the mark as a string", "await f()", engine.Answer{Value: json.RawMessage(`"$ringd"`)}, engine.StatusDone, `"$ringd"`, nil},
		{"error", "try { await f() } catch (e) { e.name + e.message }",
			engine.Answer{Error: &engine.GuestError{Name: "CapabilityDenied", Message: `no "$ringd"`}},
			engine.StatusDone, `"CapabilityDeniedno \"$ringd\""`, nil},
		{"error named like a kind", "try { await f() } catch (e) { e.name }",
			engine.Answer{Error: &engine.GuestError{Name: "true"}}, engine.StatusDone, `"BridgeError"`, nil},
		{"the next call", "await f(); await f()", engine.Answer{Value: json.RawMessage(`1`)}, engine.StatusWaiting, "", nil},
		{"thrown", "await f(); throw 1", engine.Answer{Value: json.RawMessage(`1`)}, engine.StatusFailed, "", nil},
		{"no value of the encoding", "await f()", engine.Answer{Value: json.RawMessage(`{"$ringd":"x"}`)}, engine.StatusNone, "", engine.ErrValue},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reads := 0
			o := options()
			o.Bridges = []string{"f"}
			o.CPUClock = func() time.Duration { reads++; return time.Duration(reads) }
			vm := start(t, e, o)
			if err := vm.Eval(t.Context(), engine.Program{File: "p.js", Source: tt.source}); err != nil {
				t.Fatal(err)
			}
			if s, err := vm.Run(t.Context()); err != nil || s.Status != engine.StatusWaiting {
				t.Fatalf("%+v %v", s, err)
			}
			calls := vm.TakeCalls()
			reads = 0
			s, err := vm.Turn(t.Context(), calls[0].ID, tt.answer)
			if !errors.Is(err, tt.err) || s.Status != tt.want || string(s.Value) != tt.value {
				t.Errorf("%+v %s %v", s, s.Value, err)
			}
			if reads != 2 {
				t.Errorf("%d reads of the processor clock, want 2", reads)
			}
			if tt.err != nil {
				if n := vm.OpenCalls(); n != 1 {
					t.Errorf("%d calls are open after a value that was refused", n)
				}
				return
			}
			if _, err := vm.Turn(t.Context(), calls[0].ID, tt.answer); !errors.Is(err, engine.ErrNoCall) {
				t.Errorf("answered twice: %v", err)
			}
		})
	}
}

// TestTurnHoldsTheBudget proves that what follows an answer is bounded like any
// other guest code.
func TestTurnHoldsTheBudget(t *testing.T) {
	o := options()
	o.Bridges, o.CPU = []string{"f"}, time.Second
	var now time.Duration
	o.CPUClock = func() time.Duration { now += 100 * time.Millisecond; return now }
	vm := start(t, newEngine(t), o)
	if err := vm.Eval(t.Context(), engine.Program{File: "p.js", Source: "await f(); for (;;);"}); err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Turn(t.Context(), vm.TakeCalls()[0].ID, engine.Answer{}); !errors.Is(err, engine.ErrCPU) {
		t.Errorf("%v, want %v", err, engine.ErrCPU)
	}
}
