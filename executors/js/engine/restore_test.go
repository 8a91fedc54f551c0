package engine_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/profiles"
)

// resealed gives bytes of a snapshot that was tampered with the sum that they
// should have.
func resealed(b []byte) []byte {
	const header, size = 72, 16
	h := sha256.New()
	h.Write(b[:header-size])
	h.Write(b[header:])
	copy(b[header-size:], h.Sum(nil)[:size])
	return b
}

func TestRestoreOfAnotherEngine(t *testing.T) {
	e := newEngine(t)
	_, b := paused(t, e, gated(), `await gate(1)`)
	bad := append([]byte(nil), b...)
	copy(bad[8:], strings.Repeat("\x12", 32))
	_, err := e.Restore(t.Context(), resealed(bad), gated())
	if !errors.Is(err, engine.ErrEngine) || !errors.Is(err, engine.ErrSnapshot) ||
		!strings.Contains(err.Error(), "sha256:"+strings.Repeat("12", 32)) {
		t.Errorf("got %v", err)
	}
	if err != nil && errors.Is(err, engine.ErrMemory) {
		t.Errorf("%v is about memory too", err)
	}
}

// TestDigestIsStable: two engines of one build can restore each other's
// snapshots, so the image is the same to the byte.
func TestDigestIsStable(t *testing.T) {
	a, err := engine.New(t.Context(), engine.Config{CopyRestore: true})
	if errors.Is(err, engine.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	b := newEngine(t)
	if a.Digest() != b.Digest() {
		t.Fatalf("%s and %s", a.Digest(), b.Digest())
	}
	_, text := paused(t, a, gated(), `const o = { n: await gate(1) }; o.n`)
	if s := answer(t, restored(t, b, text, gated()), 1, `5`); string(s.Value) != "5" {
		t.Errorf("%+v", s)
	}
}

func TestRandomNumbersDifferAfterARestore(t *testing.T) {
	e := newEngine(t)
	vm, b := paused(t, e, gated(), `Math.random(); await gate(1); [Math.random(), Math.random()]`)
	seen := map[string]bool{string(answer(t, vm, 1, `0`).Value): true}
	for i := range 4 {
		o := gated()
		o.Seed[3] = byte(i + 1)
		s := answer(t, restored(t, e, b, o), 1, `0`)
		if s.Status != engine.StatusDone || seen[string(s.Value)] {
			t.Errorf("restore %d: %s was seen before", i, s.Value)
		}
		seen[string(s.Value)] = true
		if again := answer(t, restored(t, e, b, o), 1, `0`); string(again.Value) != string(s.Value) {
			t.Errorf("one seed gives %s and %s", again.Value, s.Value)
		}
	}
}

func TestClockGoesOn(t *testing.T) {
	e := newEngine(t)
	_, b := paused(t, e, gated(),
		`const at = Date.now(); await gate(1); [Date.now() - at, new Date().getUTCFullYear(), typeof performance]`)
	o := gated()
	o.Clock = func() int64 { return options().Clock() + int64(72*time.Hour) }
	if s := answer(t, restored(t, e, b, o), 1, `0`); string(s.Value) != `[259200000,2023,"undefined"]` {
		t.Errorf("got %s", s.Value)
	}
}

// TestBridgesAfterARestore: the program keeps the functions it had. What the
// policy took back still asks, and the caller refuses; what is new is not there.
func TestBridgesAfterARestore(t *testing.T) {
	e := newEngine(t)
	_, b := paused(t, e, gated(), `await gate(1);
		let refused; try { await tools.search('q') } catch (e) { refused = e.name }
		[typeof gate, typeof tools.search, typeof fresh, typeof tools.more, refused]`)
	o := gated()
	o.Bridges = []string{"fresh", "tools.more"}
	vm := restored(t, e, b, o)
	answer(t, vm, 1, `0`) // still to be settled, though not in o
	calls := vm.TakeCalls()
	if len(calls) != 1 || calls[0].Bridge != "tools.search" || calls[0].ID != 2 || string(calls[0].Args) != `["q"]` {
		t.Fatalf("%+v", calls)
	}
	err := vm.Settle(t.Context(), 2, engine.Answer{Error: &engine.GuestError{
		Name: profiles.ErrorCapabilityRevoked, Message: "gone"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := run(t, vm); string(s.Value) != `["function","function","undefined","undefined","CapabilityRevoked"]` {
		t.Errorf("got %s %+v", s.Value, s.Exception)
	}
}

func TestDenyGlobalsAfterARestore(t *testing.T) {
	e := newEngine(t)
	const source = `await gate(1); const kinds = [typeof eval, typeof Function, typeof WeakRef];
		let made; try { made = (() => { }).constructor('return 1')() } catch (e) { made = e.name } [...kinds, made]`
	_, b := paused(t, e, gated(), source)
	o := gated()
	o.DenyGlobals = []string{"eval", "Function", "WeakRef"}
	if s := answer(t, restored(t, e, b, o), 1, `0`); string(
		s.Value) != `["undefined","undefined","undefined","TypeError"]` {
		t.Errorf("denied: %s %+v", s.Value, s.Exception)
	}
	if s := answer(t, restored(t, e, b, gated()), 1, `0`); string(s.Value) != `["function","function","function",1]` {
		t.Errorf("not denied: %s %+v", s.Value, s.Exception)
	}
	_, stuck := paused(t, e, gated(),
		`Object.defineProperty(globalThis, 'WeakRef', { value: WeakRef, configurable: false }); await gate(1)`)
	if _, err := e.Restore(t.Context(), stuck, o); !errors.Is(err, engine.ErrPermanent) ||
		errors.Is(err, engine.ErrSnapshot) || !strings.Contains(err.Error(), "WeakRef") {
		t.Errorf("a name that cannot be denied: %v", err)
	}
}

// TestRestoreRunsNothing: what stands in a global that is denied may be the
// program's own. That is not run, and stays; the built-in one loses its constructor.
func TestRestoreRunsNothing(t *testing.T) {
	e := newEngine(t)
	const trap = `{ get(t, k) { seen('get ' + String(k)); return Reflect.get(t, k) }, deleteProperty(t, k) { seen('delete ' + String(k)); return true },
		getOwnPropertyDescriptor(t, k) { seen('descriptor ' + String(k)); return Reflect.getOwnPropertyDescriptor(t, k) } }`
	_, b := paused(t, e, gated(), `const log = [], seen = (s) => { log.push(s); console.log(s); gate(2) }, ref = new WeakRef({})
		globalThis.WeakRef = new Proxy(function () { }, `+trap+`); function Map() { }; Map.prototype = new Proxy({}, `+trap+`)
		var Date = 'mine'; globalThis.escape = 'mine'; const before = ref.constructor === WeakRef
		await gate(1); const n = log.length; [n, typeof WeakRef, typeof Map, ref.constructor === Object, Date, escape, typeof Set]`)
	o := gated()
	o.DenyGlobals = []string{"WeakRef", "Map", "Date", "escape", "Set"}
	vm := restored(t, e, b, o)
	if s := answer(t, vm, 1, `0`); string(s.Value) != `[0,"function","function",true,"mine","mine","undefined"]` ||
		vm.Usage().Calls != 1 {
		t.Errorf("%s %+v, %+v", s.Value, s.Exception, vm.Usage())
	}
}

// TestLimitsAfterARestore: the options of the restore bound what comes, with
// what was used before.
func TestLimitsAfterARestore(t *testing.T) {
	e := newEngine(t)
	const grow = `const o = []; for (let i = 0; i < 50000; i++) o.push({ i, s: ['s' + i] }); await gate(1);
		let n = 'none'; try { const more = []; for (let i = 0; i < 50000; i++) more.push({ i, s: ['t' + i] }) } catch (e) { n = e.name + ': ' + e.message } n`
	_, big := paused(t, e, gated(), grow)

	o := gated()
	o.HeapBytes = 4 << 20 // below what lives
	o.MemoryBytes = 64 << 20
	if _, err := e.Restore(t.Context(), big, o); !errors.Is(err, engine.ErrMemory) ||
		errors.Is(err, engine.ErrSnapshot) {
		t.Errorf("a heap limit below what lives: %v", err)
	}

	o = gated()
	o.HeapBytes = 12 << 20 // above what lives, below what is wanted
	if s := answer(t, restored(t, e, big, o), 1, `0`); string(s.Value) != `"InternalError: out of memory"` {
		t.Errorf("a tighter heap limit: %s %+v", s.Value, s.Exception)
	}
	if s := answer(t, restored(t, e, big, gated()), 1, `0`); string(s.Value) != `"none"` {
		t.Errorf("the same heap limit: %s %+v", s.Value, s.Exception)
	}

	o = gated()
	o.HeapBytes, o.MemoryBytes = 1<<20, 2<<20
	if _, err := e.Restore(t.Context(), big, o); !errors.Is(err, engine.ErrMemory) ||
		!errors.Is(err, engine.ErrSnapshot) {
		t.Errorf("more memory than allowed: %v", err)
	}

	_, b := paused(t, e, gated(), `for (let i = 0; i < 1e5; i++); await gate(1);
		let depth = 0, why; try { (function f() { depth++; f() })() } catch (e) { why = e.name } [depth < 400, why]`)
	o = gated()
	o.StackBytes = 16 << 10
	if s := answer(t, restored(t, e, b, o), 1, `0`); string(s.Value) != `[true,"RangeError"]` {
		t.Errorf("a tighter stack: %s", s.Value)
	}
	if s := answer(t, restored(t, e, b, gated()), 1, `0`); string(s.Value) != `[false,"RangeError"]` {
		t.Errorf("the same stack: %s", s.Value)
	}

	o = gated()
	o.Fuel = 100_000 // less than the part before took
	vm, err := e.Restore(t.Context(), b, o)
	if !errors.Is(err, engine.ErrFuel) || vm != nil {
		t.Errorf("fuel that was used up before: %v", err)
	}
}

func TestProcessorTimeTravels(t *testing.T) {
	e := newEngine(t)
	var now time.Duration
	o := gated()
	o.CPU = 10 * time.Second
	o.CPUClock = func() time.Duration { now += time.Second; return now }
	_, b := paused(t, e, o, `await gate(1)`)
	used := restored(t, e, b, gated()).Usage().CPU
	if used < 2*time.Second || used > 9*time.Second {
		t.Fatalf("%v travelled", used)
	}
	o.CPU = used
	if _, err := e.Restore(t.Context(), b, o); !errors.Is(err, engine.ErrCPU) {
		t.Errorf("processor time that was used up before: %v", err)
	}
}

func TestConsoleBudgetTravels(t *testing.T) {
	e := newEngine(t)
	var lines []string
	o := gated()
	o.Console = func(_, text string) { lines = append(lines, text) }
	o.ConsoleBytes = 12
	_, b := paused(t, e, o, `console.log('12345'); await gate(1); console.log('abcde'); console.log('over'); 0`)
	vm := restored(t, e, b, o)
	answer(t, vm, 1, `0`)
	if got := fmt.Sprint(lines); got != "[12345 abcde]" {
		t.Errorf("lines %s", got)
	}
	if u := vm.Usage(); u.ConsoleBytes != 12 || u.DroppedBytes != 5 || u.DroppedLines != 1 {
		t.Errorf("%+v", u)
	}
}

func TestValueBytesAfterARestore(t *testing.T) {
	e := newEngine(t)
	_, b := paused(t, e, gated(), `await gate(1); 'x'.repeat(5000)`)
	o := gated()
	o.ValueBytes = 1000
	s := answer(t, restored(t, e, b, o), 1, `0`)
	if s.Exception == nil || s.Exception.Name != profiles.ErrorResultTooLarge {
		t.Errorf("got %.50s %+v", s.Value, s.Exception)
	}
}

// TestManyHops: a program that is written down and restored 300 times stays as
// large as it is, in memory and as a snapshot.
func TestManyHops(t *testing.T) {
	e := newEngine(t)
	hops := 300
	if testing.Short() {
		hops = 60
	}
	vm := start(t, e, gated())
	eval(t, vm, `let sum = 0; const seen = new Map(); for (;;) { const v = await gate({ sum }); if (v === 'stop') break; sum += v; seen.set(v % 5, { v }) } [sum, seen.size]`)
	vm.TakeCalls()
	first, memory := 0, vm.Usage().PeakBytes
	for i := 1; i <= hops; i++ {
		b := takeSnapshot(t, vm)
		switch {
		case i == 10:
			first = len(b)
		case first > 0 && len(b) > first+first/20+256:
			t.Fatalf("hop %d: %d bytes, %d at the tenth", i, len(b), first)
		}
		if err := vm.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		vm = restored(t, e, b, gated())
		if s := answer(t, vm, int64(i), fmt.Sprint(i)); s.Status != engine.StatusWaiting {
			t.Fatalf("hop %d: %+v", i, s)
		}
		vm.TakeCalls()
	}
	if now := vm.Usage().PeakBytes; now != memory {
		t.Errorf("%d bytes of memory, %d at first", now, memory)
	}
	if s := answer(t, vm, int64(hops+1), `"stop"`); string(s.Value) != fmt.Sprintf("[%d,5]", hops*(hops+1)/2) {
		t.Errorf("got %s", s.Value)
	}
}

// TestSmallSnapshots: what the design promises of sizes.
func TestSmallSnapshots(t *testing.T) {
	e := newEngine(t)
	for _, h := range heaps() {
		most := map[string]int{"small": 10 << 10, "2MB": 1 << 20, "23MB": 8 << 20}[h.name]
		if testing.Short() && h.name == "23MB" {
			continue
		}
		_, b := paused(t, e, large(), h.source)
		if len(b) > most {
			t.Errorf("%s: %d bytes, at most %d", h.name, len(b), most)
		}
		if s := answer(t, restored(t, e, b, large()), 1, `1`); s.Status != engine.StatusDone {
			t.Errorf("%s: %+v", h.name, s)
		}
	}
}

// heaps are programs that wait, by what they hold.
func heaps() []struct{ name, source string } {
	return []struct{ name, source string }{
		{"small", `const user = { name: "a", tags: ["x", "y"] }; const seen = new Map(); class A { #n = 1; get() { return this.#n } } const a = new A();
			const found = await gate({ q: "what" }); seen.set(a, found); [user.name, a.get(), seen.size]`},
		{"2MB", `const o = []; for (let i = 0; i < 10000; i++) o.push({ id: i, name: "n" + i, tags: ["a", "b"] }); await gate(1); o.length`},
		{"23MB", `const o = []; for (let i = 0; i < 100000; i++) o.push({ id: i, name: "n" + i, tags: ["a", "b"] }); await gate(1); o.length`},
	}
}

func large() engine.Options {
	o := gated()
	o.HeapBytes = 128 << 20
	return o
}
