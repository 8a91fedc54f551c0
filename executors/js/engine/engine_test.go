package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/js/engine"
)

// newEngine compiles once per test binary's cache folder.
func newEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{CacheDir: cacheDir(t)})
	if errors.Is(err, engine.ErrUnavailable) {
		t.Skip("the engine file is not in this build: run make engine")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// options has clocks that never limit.
func options() engine.Options {
	return engine.Options{
		CPU:      time.Hour,
		CPUClock: func() time.Duration { return 0 },
		Now:      func() time.Time { return time.Unix(0, 0) },
		Clock:    func() int64 { return 1_700_000_000_000_000_000 },
		Fuel:     20_000_000_000,
	}
}

func start(t testing.TB, e *engine.Engine, o engine.Options) *engine.VM {
	t.Helper()
	vm, err := e.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vm.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return vm
}

// eval runs source until it can go no further.
func eval(t testing.TB, vm *engine.VM, source string) engine.State {
	t.Helper()
	if err := vm.Eval(t.Context(), engine.Program{File: "p.js", Source: source}); err != nil {
		t.Fatal(err)
	}
	return run(t, vm)
}

func run(t testing.TB, vm *engine.VM) engine.State {
	t.Helper()
	if _, err := vm.RunJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := vm.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValueOfAProgram(t *testing.T) {
	e := newEngine(t)
	tests := []struct{ name, source, want string }{
		{"expression", "1 + 1", "2"},
		{"last expression", "const a = [1, 2]; a.push(3); a", "[1,2,3]"},
		{"await", "await 0; const x = await Promise.resolve(4); x * 2", "8"},
		{"promise", "(async () => ({ ok: true }))()", `{"ok":true}`},
		{"nothing", "", `{"$ringd":"undefined"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := eval(t, start(t, e, options()), tt.source)
			if s.Status != engine.StatusDone || string(s.Value) != tt.want {
				t.Errorf("got %v %s %v, want %s", s.Status, s.Value, s.Exception, tt.want)
			}
		})
	}
}
