package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/profiles"
)

// tick is a clock that moves by step whenever it is read.
func tick(step time.Duration) func() time.Duration {
	var now time.Duration
	return func() time.Duration { now += step; return now }
}

func TestFinalEnds(t *testing.T) {
	e := newEngine(t)
	var cancel func()
	epoch := time.Unix(1000, 0)
	tests := []struct {
		name   string
		source string
		change func(o *engine.Options)
		want   error
	}{
		{"processor time", `for (;;) {}`, func(o *engine.Options) {
			o.CPU, o.CPUClock = time.Second, tick(50*time.Millisecond)
		}, engine.ErrCPU},
		{"processor time in builtins", `/^(a+)+$/.test('a'.repeat(40) + 'b')`, func(o *engine.Options) {
			o.CPU, o.CPUClock = time.Second, tick(50*time.Millisecond)
		}, engine.ErrCPU},
		{"processor time caught", `for (;;) try { for (;;) {} } catch {} finally { continue }`, func(o *engine.Options) {
			o.CPU, o.CPUClock = time.Second, tick(50*time.Millisecond)
		}, engine.ErrCPU},
		{"wall clock", `for (;;) {}`, func(o *engine.Options) {
			now := tick(time.Second)
			o.Deadline, o.Now = epoch.Add(10*time.Second), func() time.Time { return epoch.Add(now()) }
		}, engine.ErrWall},
		{"instructions", `for (;;) {}`, func(o *engine.Options) { o.Fuel = 5_000_000 }, engine.ErrFuel},
		{"cancelled", `for (;;) console.log('')`, func(o *engine.Options) {
			o.ConsoleBytes, o.Console = 10, func(string, string) { cancel() }
		}, engine.ErrCancelled},
		{"page cap", `const a = []; for (;;) try { for (;;) a.push({}) } catch {}`, func(o *engine.Options) {
			o.HeapBytes, o.MemoryBytes = 8<<20, 8<<20
		}, engine.ErrMemory},
		{"page cap by the source", `"` + string(make([]byte, 9<<20)) + `"`, func(o *engine.Options) {
			o.HeapBytes, o.MemoryBytes = 8<<20, 8<<20
		}, engine.ErrMemory},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			o := options()
			o.Bridges = []string{"call"}
			tt.change(&o)
			vm := start(t, e, o)
			err := vm.Eval(ctx, engine.Program{Source: "call(); " + tt.source})
			if err == nil {
				_, err = vm.RunJobs(ctx)
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("ended with %v, want %v", err, tt.want)
			}
			// Nothing brings it back.
			if err := vm.Eval(t.Context(), engine.Program{Source: "1"}); !errors.Is(err, tt.want) {
				t.Errorf("Eval: %v", err)
			}
			if _, err := vm.RunJobs(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("RunJobs: %v", err)
			}
			if err := vm.Settle(t.Context(), 1, engine.Answer{}); !errors.Is(err, tt.want) {
				t.Errorf("Settle: %v", err)
			}
			if _, err := vm.State(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("State: %v", err)
			}
		})
	}
}

// TestBudgetIsOfTheLife shows that small entries add up: a program cannot start
// its budget again by waiting for an answer.
func TestBudgetIsOfTheLife(t *testing.T) {
	o := options()
	o.Bridges, o.CPU, o.CPUClock = []string{"call"}, time.Second, tick(10*time.Millisecond)
	vm := start(t, newEngine(t), o)
	err := vm.Eval(t.Context(), engine.Program{Source: `for (;;) await call()`})
	for n := 0; err == nil; n++ {
		calls := vm.TakeCalls()
		if len(calls) != 1 || n > 1000 {
			t.Fatalf("%d calls in round %d", len(calls), n)
		}
		if err = vm.Settle(t.Context(), calls[0].ID, engine.Answer{}); err == nil {
			_, err = vm.RunJobs(t.Context())
		}
	}
	if !errors.Is(err, engine.ErrCPU) {
		t.Errorf("ended with %v", err)
	}
	if u := vm.Usage(); u.CPU < time.Second || u.CPU > 1100*time.Millisecond {
		t.Errorf("used %v", u.CPU)
	}
}

func TestDeadlineCountsTheWait(t *testing.T) {
	now := time.Unix(1000, 0)
	o := options()
	o.Bridges, o.Now, o.Deadline = []string{"call"}, func() time.Time { return now }, now.Add(time.Second)
	vm := start(t, newEngine(t), o)
	if s := eval(t, vm, `await call(); for (let i = 0; i < 1e5; i++); 1`); s.Status != engine.StatusWaiting {
		t.Fatal(s)
	}
	now = now.Add(time.Hour)
	if _, err := vm.Turn(t.Context(), 1, engine.Answer{}); !errors.Is(err, engine.ErrWall) {
		t.Errorf("after the deadline: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	e := newEngine(t)
	tests := []struct {
		name   string
		change func(o *engine.Options)
	}{
		{"nothing set", func(o *engine.Options) { *o = engine.Options{} }},
		{"no budget", func(o *engine.Options) { o.CPU = 0 }},
		{"no processor clock", func(o *engine.Options) { o.CPUClock = nil }},
		{"no wall clock", func(o *engine.Options) { o.Now = nil }},
		{"no guest clock", func(o *engine.Options) { o.Clock = nil }},
		{"negative limit", func(o *engine.Options) { o.Fuel = -1 }},
		{"tiny heap", func(o *engine.Options) { o.HeapBytes = 1000 }},
		{"deep stack", func(o *engine.Options) { o.StackBytes = profiles.MaxJSStackBytes + 1 }},
		{"memory below the heap", func(o *engine.Options) { o.HeapBytes, o.MemoryBytes = 64<<20, 32<<20 }},
		{"memory above all", func(o *engine.Options) { o.MemoryBytes = profiles.MaxJSMemoryBytes + 1 }},
		{"bridge with an odd name", func(o *engine.Options) { o.Bridges = []string{"a b"} }},
		{"bridge that breaks out", func(o *engine.Options) { o.Bridges = []string{`x"];evil()//`} }},
		{"bridge without a name", func(o *engine.Options) { o.Bridges = []string{"tools."} }},
		{"bridge with a reserved name", func(o *engine.Options) { o.Bridges = []string{"delete"} }},
		{"bridge as prototype", func(o *engine.Options) { o.Bridges = []string{"a.__proto__"} }},
		{"bridge twice", func(o *engine.Options) { o.Bridges = []string{"a", "a"} }},
		{"bridge and namespace", func(o *engine.Options) { o.Bridges = []string{"a", "a.b"} }},
		{"namespace and bridge", func(o *engine.Options) { o.Bridges = []string{"a.b", "a"} }},
		{"bridge over a global", func(o *engine.Options) { o.Bridges = []string{"eval"} }},
		{"bridge into a global", func(o *engine.Options) { o.Bridges = []string{"Math.steal"} }},
		{"bridge over console", func(o *engine.Options) { o.Bridges = []string{"console.log"} }},
		{"bridge in a prototype", func(o *engine.Options) { o.Bridges = []string{"toString"} }},
		{"bridge called inputs", func(o *engine.Options) { o.Bridges = []string{"inputs"} }},
		{"input that is not tagged", func(o *engine.Options) { o.Inputs = raw(`{"$ringd":"nothing"}`) }},
		{"input that is not JSON", func(o *engine.Options) { o.Inputs = raw(`}`) }},
		{"global that stays", func(o *engine.Options) { o.DenyGlobals = []string{"undefined"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			tt.change(&o)
			if vm, err := e.Start(t.Context(), o); err == nil {
				t.Error("started")
				vm.Close(t.Context())
			}
		})
	}
}

func raw(text string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"x": json.RawMessage(text)}
}

// TestDeterminism: fuel is the same in every VM, however it was restored.
func TestDeterminism(t *testing.T) {
	const source = `const m = new Map(); for (let i = 0; i < 2000; i++) m.set('k' + i, [i, Math.random()]);
		[...m.values()].sort((a, b) => a[1] - b[1]).slice(0, 3).concat(JSON.stringify([...m]).length)`
	engines := []*engine.Engine{newEngine(t)}
	copying, err := engine.New(t.Context(), engine.Config{CacheDir: cacheDir(t), CopyRestore: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { copying.Close(t.Context()) })
	engines = append(engines, copying, newEngine(t))
	if engines[0].Digest() != copying.Digest() {
		t.Error("digests differ")
	}
	var want string
	var fuel int64
	for round := range 2 {
		for i, e := range engines {
			o := options()
			o.Seed = [32]byte{7}
			vm := start(t, e, o)
			s := eval(t, vm, source)
			if want == "" {
				want, fuel = string(s.Value), vm.Usage().Fuel
			}
			if string(s.Value) != want || vm.Usage().Fuel != fuel {
				t.Errorf("round %d engine %d: %s with %d, first was %s with %d", round, i, s.Value, vm.Usage().Fuel,
					want, fuel)
			}
		}
	}
	o := options()
	o.Seed = [32]byte{8}
	if s := eval(t, start(t, engines[0], o), source); string(s.Value) == want {
		t.Error("another seed gave the same numbers")
	}
}
