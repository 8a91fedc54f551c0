package engine // the build without an engine file, and the parser of stack traces, have no exported entry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestUnavailableWithoutTheFile(t *testing.T) {
	_, err := engineFile(Config{}, fstest.MapFS{"wasm/README.md": {}})
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "make engine") {
		t.Errorf("%v names no remedy", err)
	}
	if _, err := engineFile(Config{}, fstest.MapFS{"wasm/quickjs.wasm": {Data: []byte("\x00asm")}}); !errors.Is(
		err, ErrUnavailable) {
		t.Errorf("a file that is not the pinned one: %v", err)
	}
}

// TestCollection: the engine's collector, which checks every reference count,
// finds nothing wrong with what boot, programs and restores do by hand.
func TestCollection(t *testing.T) {
	e := bootedEngine(t)
	o := Options{CPU: time.Hour, CPUClock: func() time.Duration { return 0 },
		Now:   func() time.Time { return time.Unix(0, 0) },
		Clock: func() int64 { return 0 }, Bridges: []string{"gate"}}
	vm, err := e.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	collect := func(when string) {
		t.Helper()
		ctx, done := vm.enter(t.Context())
		defer done()
		if _, err := vm.bootCall(ctx, "qjs_run_gc"); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	collect("fresh")
	for i, source := range []string{
		`const x = { n: 1 }; x.self = x; Promise.reject(x); await 0; x`,
		`const x = 2; class A { #p = x; p() { return this.#p } } await gate(1); new A().p()`,
		`const x = (() => { throw new Error('no') })()`,
		`const x = 3; gate(2); typeof x`,
	} {
		if err := vm.Eval(t.Context(), Program{Source: source, Redeclare: true}); err != nil {
			t.Fatal(err)
		}
		st, err := vm.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		collect(fmt.Sprint("after program ", i))
		for _, c := range vm.TakeCalls() {
			if st.Status != StatusWaiting {
				break
			}
			vm = hop(t, e, vm, o)
			collect(fmt.Sprint("paused in program ", i))
			if _, err := vm.Turn(t.Context(), c.ID, Answer{}); err != nil {
				t.Fatal(err)
			}
		}
		vm = hop(t, e, vm, o)
		collect(fmt.Sprint("restored after program ", i))
	}
	if err := vm.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// hop writes a VM down and restores it.
func hop(t *testing.T, e *Engine, vm *VM, o Options) *VM {
	t.Helper()
	b, err := vm.Snapshot(t.Context())
	if err == nil {
		err = vm.Close(t.Context())
	}
	if err == nil {
		vm, err = e.Restore(t.Context(), b, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func bootedEngine(t testing.TB) *Engine {
	t.Helper()
	var c Config
	if base, err := os.UserCacheDir(); err == nil {
		c.CacheDir = filepath.Join(base, "ringd-engine-test")
	}
	e, err := New(t.Context(), c)
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
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

// FuzzForgedMemory: whatever stands in the memory of a snapshot, restoring it and
// going on ends in an error or an end, never in a panic or a stuck process.
func FuzzForgedMemory(f *testing.F) {
	e := bootedEngine(f)
	o := Options{CPU: time.Hour, CPUClock: func() time.Duration { return 0 },
		Now:   func() time.Time { return time.Unix(0, 0) },
		Clock: func() int64 { return 0 }, Bridges: []string{"gate"}, Fuel: 100_000_000}
	const source = `const m = new Map([[1, { a: 'x' }]]); class A { #n = 1; n() { return this.#n } } const v = await gate({ q: [1] }); [m.get(1).a, new A().n(), v]`
	for _, at := range []uint32{0, 8, 4096, e.image.scratch - e.image.from,
		e.image.prelude[preludeSettle] - e.image.from, e.image.runtime - e.image.from,
		e.image.size - e.image.from - 8} {
		f.Add(at, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, uint32(0))
		f.Add(at, []byte{0, 0, 0, 0}, uint32(3))
	}
	f.Fuzz(func(t *testing.T, at uint32, b []byte, every uint32) {
		vm, err := e.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = vm.Close(t.Context()) }()
		if err := vm.Eval(t.Context(), Program{Source: source}); err != nil {
			t.Fatal(err)
		}
		if _, err := vm.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		vm.TakeCalls()
		state, memory := vm.written(), make([]byte, vm.memory.Size())
		live, _ := vm.memory.Read(0, vm.memory.Size())
		copy(memory, live)
		room := memory[e.image.from:]
		for i := range 64 { // at one place, or at several
			copy(room[(uint64(at)+uint64(i)*uint64(every))%uint64(len(room)):], b)
		}
		forged, err := e.codec.Write(e.digest, e.image.difference(), state, memory, 0)
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.Restore(t.Context(), forged, o)
		if err != nil {
			return
		}
		if _, err := again.Turn(t.Context(), 1, Answer{}); err == nil {
			_, _ = again.Snapshot(t.Context()) // of what it made of it
		}
		if err := again.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
