package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/executors/js/engine"
)

func gated() engine.Options {
	o := options()
	o.Bridges = []string{"gate", "tools.search"}
	return o
}

func takeSnapshot(t testing.TB, vm *engine.VM) []byte {
	t.Helper()
	b, err := vm.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func restored(t testing.TB, e *engine.Engine, b []byte, o engine.Options) *engine.VM {
	t.Helper()
	vm, err := e.Restore(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vm.Close(t.Context()) })
	return vm
}

func answer(t testing.TB, vm *engine.VM, id int64, value string) engine.State {
	t.Helper()
	if err := vm.Settle(t.Context(), id, engine.Answer{Value: json.RawMessage(value)}); err != nil {
		t.Fatal(err)
	}
	return run(t, vm)
}

// paused runs source until it waits, takes its calls and writes it down.
func paused(t testing.TB, e *engine.Engine, o engine.Options, source string) (*engine.VM, []byte) {
	t.Helper()
	vm := start(t, e, o)
	if s := eval(t, vm, source); s.Status != engine.StatusWaiting {
		t.Fatalf("%+v %+v", s, s.Exception)
	}
	vm.TakeCalls()
	return vm, takeSnapshot(t, vm)
}

func TestSnapshotGoesOn(t *testing.T) {
	e := newEngine(t)
	vm, b := paused(t, e, gated(),
		`const m = new Map([["k", 1]]); const a = gate(1), c = tools.search(2); [await a, await c, m.get("k")]`)
	for range 2 { // of one snapshot, twice
		again := restored(t, e, b, gated())
		if n := again.OpenCalls(); n != 2 {
			t.Fatalf("%d open calls", n)
		}
		if err := again.Settle(t.Context(), 3, engine.Answer{}); !errors.Is(err, engine.ErrNoCall) {
			t.Errorf("a call that never was: %v", err)
		}
		if s := answer(t, again, 2, `"two"`); s.Status != engine.StatusWaiting {
			t.Fatalf("%+v", s)
		}
		if s := answer(t, again, 1, `"one"`); string(s.Value) != `["one","two",1]` {
			t.Errorf("got %s %v", s.Value, s.Exception)
		}
		if u := again.Usage(); u.Calls != 2 || u.OpenCalls != 0 {
			t.Errorf("usage %+v", u)
		}
	}
	if !strings.HasPrefix(string(takeSnapshot(t, vm)), string(b[:40])) {
		t.Error("the VM that was written down is not as it was")
	}
	answer(t, vm, 2, `0`)
	if s := answer(t, vm, 1, `0`); s.Status != engine.StatusDone {
		t.Errorf("the VM that was written down does not go on: %+v", s)
	}
}

func TestSnapshotOfABusyVM(t *testing.T) {
	e := newEngine(t)
	vm := start(t, e, gated())
	busy := func(why string) {
		t.Helper()
		if _, err := vm.Snapshot(t.Context()); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("%s: %v", why, err)
		}
	}
	busy("no program")
	if err := vm.Eval(t.Context(), engine.Program{Source: `await 0; await gate(1)`}); err != nil {
		t.Fatal(err)
	}
	busy("jobs are left")
	run(t, vm)
	busy("a call was not taken")
	vm.TakeCalls()
	takeSnapshot(t, vm)
	dead := start(t, e, gated())
	eval(t, dead, `await new Promise(() => { })`)
	if _, err := dead.Snapshot(t.Context()); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a deadlock: %v", err)
	}
	if err := dead.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := dead.Snapshot(t.Context()); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a closed VM: %v", err)
	}
}

// TestDamagedSnapshot: each truncation, 200 flips and more are refused, typed,
// and the engine goes on.
func TestDamagedSnapshot(t *testing.T) {
	e := newEngine(t)
	_, b := paused(t, e, gated(), `await gate(1)`)
	refused := func(what string, bad []byte) {
		t.Helper()
		vm, err := e.Restore(t.Context(), bad, gated())
		if !errors.Is(err, engine.ErrSnapshot) {
			t.Fatalf("%s: %v", what, err)
		}
		if vm != nil {
			t.Fatalf("%s: a VM was made", what)
		}
	}
	for n := range b {
		refused(fmt.Sprintf("cut at %d", n), b[:n])
	}
	for i := range 200 {
		bad := append([]byte(nil), b...)
		at := i * len(b) * 8 / 200
		bad[at/8] ^= 1 << (at % 8)
		refused(fmt.Sprintf("bit %d", at), bad)
	}
	refused("one byte more", append(append([]byte(nil), b...), 0))
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	refused("noise", noise)
	refused("nothing", nil)
	if s := answer(t, restored(t, e, b, gated()), 1, `7`); string(s.Value) != "7" {
		t.Errorf("the sound one: %+v", s)
	}
}

// TestSnapshotsAtOnce: VMs of one engine are written down and restored at the same
// time.
func TestSnapshotsAtOnce(t *testing.T) {
	e := newEngine(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for hop := range 10 {
				if err := hopOnce(t, e, 1000*i+hop); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// hopOnce pauses a program that holds n, restores it and lets it end.
func hopOnce(t *testing.T, e *engine.Engine, n int) error {
	vm, err := e.Start(t.Context(), gated())
	if err != nil {
		return err
	}
	defer func() { _ = vm.Close(t.Context()) }()
	if err := vm.Eval(t.Context(), engine.Program{Source: fmt.Sprintf("const n = new Array(2000).fill(%d); await "+
		"gate(1); n[1999]", n)}); err != nil {
		return err
	}
	if _, err := vm.Run(t.Context()); err != nil {
		return err
	}
	vm.TakeCalls()
	b, err := vm.Snapshot(t.Context())
	if err != nil {
		return err
	}
	again, err := e.Restore(t.Context(), b, gated())
	if err != nil {
		return err
	}
	defer func() { _ = again.Close(t.Context()) }()
	s, err := again.Turn(t.Context(), 1, engine.Answer{})
	if err == nil && string(s.Value) != fmt.Sprint(n) {
		err = fmt.Errorf("%s is not %d", s.Value, n)
	}
	return err
}
