package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/js/engine"
)

// end is what became of a program: the name of its exception, "done", or the
// limit that ended it.
func end(s engine.State, err error) string {
	switch {
	case errors.Is(err, engine.ErrFuel):
		return "fuel"
	case errors.Is(err, engine.ErrMemory):
		return "memory"
	case err != nil:
		return "error: " + err.Error()
	case s.Status == engine.StatusFailed:
		return s.Exception.Name + ": " + s.Exception.Message
	case s.Status == engine.StatusDeadlock:
		return "deadlock"
	case s.Status == engine.StatusDone:
		return "done " + string(s.Value)
	}
	return fmt.Sprintf("status %d", s.Status)
}

// try runs a program to its end, whatever that is.
func try(t testing.TB, vm *engine.VM, source string) (engine.State, error) {
	t.Helper()
	if err := vm.Eval(t.Context(), engine.Program{File: "hostile.js", Source: source}); err != nil {
		return engine.State{}, err
	}
	if _, err := vm.RunJobs(t.Context()); err != nil {
		return engine.State{}, err
	}
	return vm.State(t.Context())
}

const (
	stackOverflow = "RangeError: Maximum call stack size exceeded"
	outOfMemory   = "InternalError: out of memory"
)

// hostile are programs that other engines do not stop, or do not survive.
func hostile() []struct{ name, source, want string } {
	return []struct{ name, source, want string }{
		// What never ends, in JavaScript and in the engine's own code.
		{"for", `for (;;) {}`, "fuel"},
		{"catch loop", `for (;;) { try { throw 1 } catch {} }`, "fuel"},
		{"finally loop", `for (;;) { try { continue } finally { continue } }`, "fuel"},
		{"finally returns", `(function f() { try { return f() } finally { return f() } })()`, "fuel"},
		{"recursion in catch", `(function f() { try { f() } catch { f() } })()`, "fuel"},
		{"regular expression", `/^(a+)+$/.test('a'.repeat(40) + 'b')`, "fuel"},
		{"regular expression 2", `/(x+x+)+y/.exec('x'.repeat(60))`, "fuel"},
		{"bigint text", `(7n ** 300000n).toString().length`, "fuel"},
		{"bigint product", `let a = 3n; for (;;) a *= a`, "fuel"},
		{"join", `new Array(1e9).join('x')`, "fuel"},
		{"array to text", `new Array(1e9) + ''`, "fuel"},
		{"indexOf", `new Array(4e9).indexOf(1)`, "fuel"},
		{"lastIndexOf", `Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)`, "fuel"},
		{"typed fill", `const a = new Uint8Array(4 << 20); for (;;) a.fill(1)`, "fuel"},
		{"copyWithin", `const a = new Uint8Array(4 << 20); for (;;) a.copyWithin(0, 1)`, "fuel"},
		{"comparator", `[3, 1, 2].sort(() => { for (;;); })`, "fuel"},
		{"deep stringify", `let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; JSON.stringify(o)`, "fuel"},
		{"iterator", `const i = { next() { return { done: false } }, [Symbol.iterator]() { return i } }; [...i]`, "fuel"},
		{"weak references", `for (let i = 0; i < 1e6; i++) new WeakRef({})`, "fuel"},
		// The job queue.
		{"microtasks", `(function f() { Promise.resolve().then(f) })()`, "fuel"},
		{"microtask storm", `(function f() { Promise.resolve().then(f); Promise.resolve().then(f) })()`, "fuel"},
		{"await loop", `for (;;) await 0`, "fuel"},
		{"thenable", `const t = { then(r) { r(t) } }; await t`, "fuel"},
		{"async generator", `async function* g() { for (;;) yield 1 } for await (const x of g());`, "fuel"},
		{"clean-up callback", `const r = new FinalizationRegistry(() => { for (;;); }); r.register({}, 1); await 0`, "fuel"},
		{"deadlock", `await new Promise(() => {})`, "deadlock"},
		// Recursion of every kind.
		{"recursion", `(function f() { f() })()`, stackOverflow},
		{"recursion caught", `try { (function f() { f() })() } catch (e) { e instanceof RangeError }`, "done true"},
		{"deep JSON", `JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))`, stackOverflow},
		{"parentheses", `eval('('.repeat(5e4) + ')'.repeat(5e4))`, stackOverflow},
		{"array literals", `eval('['.repeat(5e4) + ']'.repeat(5e4))`, stackOverflow},
		{"groups", `new RegExp('('.repeat(1e5) + ')'.repeat(1e5))`, "SyntaxError: too many captures"},
		{"groups without capture", `new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))`, "SyntaxError: stack overflow"},
		{"toString", `const o = { toString() { return '' + o } }; '' + o`, stackOverflow},
		{"getter", `({ get x() { return this.x } }).x`, stackOverflow},
		{"proxies", `let p = {}; for (let i = 0; i < 2e4; i++) p = new Proxy(p, {}); p.x`, stackOverflow},
		{"array of itself", `const a = []; a[0] = a; a.flat(Infinity)`, stackOverflow},
		{"generator", `function* g() { yield* g() } [...g()]`, stackOverflow},
		// Memory, under a heap limit of 8 MB.
		{"objects", `const a = []; for (;;) a.push({})`, outOfMemory},
		{"buffers", `const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))`, outOfMemory},
		{"strings", `const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)`, outOfMemory},
		{"one buffer", `new ArrayBuffer(1 << 30)`, outOfMemory},
		{"one string", `'ab'.repeat(1 << 29)`, "RangeError: invalid string length"},
		{"doubling string", `let s = 'x'; for (;;) s += s`, "InternalError: string too long"},
		{"one bigint", `2n ** (2n ** 28n)`, "RangeError: BigInt is too large"},
		{"JSON bomb", `JSON.parse('[' + '[],'.repeat(1e7) + '0]')`, outOfMemory},
		{"closures", `const a = []; for (;;) a.push(() => a)`, outOfMemory},
		{"memory caught", `try { const a = []; for (;;) a.push({}) } catch (e) { e instanceof InternalError }`, "done true"},
		{"memory in a loop", `for (;;) { try { const a = []; for (;;) a.push([]) } catch {} }`, "fuel"},
		// Values that do something when they are looked at.
		{"getter in the result", `({ get x() { for (;;); } })`, "fuel"},
		{"ownKeys in the result", `new Proxy({}, { ownKeys() { for (;;); } })`, "fuel"},
		{"getPrototypeOf in the result", `new Proxy({}, { getPrototypeOf() { for (;;); } })`, "fuel"},
		{"endless depth in the result", `const f = () => ({ get n() { return f() } }); f()`, "ArgumentError: $" + strings.Repeat(".n", 100) + ": nested deeper than 100"},
		{"endless length in the result", `new Proxy([], { get: (_, k) => k === 'length' ? 2 ** 53 : 1 })`, "fuel"},
		{"message that loops", `throw Object.defineProperty(new Error, 'message', { get() { for (;;); } })`, "fuel"},
	}
}

// TestHostilePrograms runs each program under an 8 MB heap and a limit of
// instructions, and a neighbour after each.
func TestHostilePrograms(t *testing.T) {
	e := newEngine(t)
	neighbour := start(t, e, unlimited())
	for _, tt := range hostile() {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.HeapBytes, o.Fuel = 8<<20, 300_000_000
			if tt.want != "fuel" {
				o.Fuel *= 10
			}
			vm := start(t, e, o)
			s, err := try(t, vm, tt.source)
			if got := end(s, err); got != tt.want {
				t.Errorf("ended with %q, want %q", got, tt.want)
			}
			// One instruction can be a copy of all memory, a quarter of it in fuel.
			u := vm.Usage()
			if over := u.Fuel - o.Fuel; over > u.PeakBytes/4+64 {
				t.Errorf("used %d over its limit", over)
			}
			if u.PeakBytes > 24<<20 {
				t.Errorf("used %d bytes", u.PeakBytes)
			}
			if s := eval(t, neighbour, `[1, 2, 3].map(x => x * 2).join()`); string(s.Value) != `"2,4,6"` {
				t.Errorf("a neighbour got %s %v", s.Value, s.Exception)
			}
		})
	}
}

// TestSurvives shows that what a program can catch leaves its VM usable.
func TestSurvives(t *testing.T) {
	e := newEngine(t)
	for _, tt := range hostile() {
		if tt.want == "fuel" || tt.want == "deadlock" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.HeapBytes = 8 << 20
			vm := start(t, e, o)
			if s, err := try(t, vm, "{"+tt.source+"}"); err != nil {
				t.Fatal(end(s, err))
			}
			if s := eval(t, vm, `JSON.stringify([new Map([[1, 2]]).get(1), /a(b)/.exec('ab')[1]])`); string(
				s.Value) != `"[2,\"b\"]"` {
				t.Errorf("afterwards: %s %v", s.Value, s.Exception)
			}
		})
	}
}

// TestHostMemory shows that no hostile program makes the host's own memory
// grow, whatever it does in its own.
func TestHostMemory(t *testing.T) {
	e := newEngine(t)
	inUse := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before := inUse()
	for _, source := range []string{
		`const a = []; for (;;) a.push({})`,
		`for (;;) Promise.reject(1)`,
		`for (;;) call('x'.repeat(1000))`,
		`for (;;) call('x'.repeat(1e6)).catch(() => {})`,
		`for (;;) console.log('x'.repeat(1000))`,
		`(function f() { f() })()`,
	} {
		o := options()
		o.HeapBytes, o.Fuel, o.Bridges = 8<<20, 1_000_000_000, []string{"call"}
		vm := start(t, e, o)
		s, err := try(t, vm, source)
		if got := end(s, err); got != outOfMemory && got != "fuel" && got != stackOverflow {
			t.Errorf("%s: %s", source, got)
		}
		if grown := inUse() - before + vm.Usage().PeakBytes; grown > 64<<20 {
			t.Errorf("%s: grew by %d bytes", source, grown)
		}
		runtime.KeepAlive(vm)
	}
}

// TestOpenedCallsAreBounded: arguments leave the guest's heap, so what a program
// opens without waiting needs a bound of its own.
func TestOpenedCallsAreBounded(t *testing.T) {
	o := options()
	o.HeapBytes, o.Bridges = 8<<20, []string{"call"}
	vm := start(t, newEngine(t), o)
	s := eval(t, vm, `const all = []; for (let i = 0; i < 20; i++) all.push(call('x'.repeat(1e6)).catch(e => e.name)); await Promise.race(all)`)
	if string(s.Value) != `"BudgetExceeded"` {
		t.Errorf("got %s %v", s.Value, s.Exception)
	}
	if n := len(vm.TakeCalls()); n != 8 {
		t.Errorf("%d calls were opened", n)
	}
	if eval(t, vm, `globalThis.p = call('x'.repeat(1e6)); 1`); len(vm.TakeCalls()) != 1 {
		t.Error("no call can be opened after the others were taken")
	}
}

// A heap that has no room for the copy of an argument is the program's failure,
// which it can catch; the engine stays sound.
func TestNoRoomForTheCopy(t *testing.T) {
	e := newEngine(t)
	o := options()
	o.HeapBytes, o.MemoryBytes, o.Bridges, o.ValueBytes = 8<<20, 64<<20, []string{"echo"}, 16<<20
	o.Console, o.ConsoleBytes = func(string, string) {}, 100
	vm := start(t, e, o)
	s := eval(t, vm, `
		const out = [], s = 'é'.repeat(2100000);
		for (let i = 0; i < 3; i++) {
			try { await echo(s); } catch (e) { out.push(e instanceof InternalError, e.message); }
		}
		console.log('still here');
		out.push(1)
		out`)
	if got := string(s.Value); s.Status != engine.StatusDone ||
		got != `[true,"out of memory",true,"out of memory",true,"out of memory",1]` {
		t.Errorf("%v %s %+v", s.Status, got, s.Exception)
	}
	if n := len(vm.TakeCalls()); n != 0 {
		t.Errorf("%d calls were opened", n)
	}
}

// No stack that a program can read names the functions of the prelude.
func TestStacksOfThePrelude(t *testing.T) {
	e := newEngine(t)
	o := options()
	o.Bridges = []string{"echo"}
	s := eval(t, start(t, e, o), `
		const stacks = [];
		try { await echo(() => 1) } catch (e) { stacks.push(e.stack) }
		try { await echo({ a: [Symbol()] }) } catch (e) { stacks.push(e.stack) }
		try { await import('fs') } catch (e) { stacks.push(e.stack) }
		stacks`)
	if text := string(s.Value); s.Status != engine.StatusDone || strings.Contains(text, "null>") ||
		strings.Count(text, "p.js:") != 2 {
		t.Errorf("%v %s %+v", s.Status, text, s.Exception)
	}
}

// Showing a value cannot throw into the program.
func TestConsoleOfHostileValues(t *testing.T) {
	e := newEngine(t)
	o := options()
	var lines []string
	o.ConsoleBytes, o.Console = 1000, func(_, text string) { lines = append(lines, text) }
	s := eval(t, start(t, e, o), `
		console.log(new Proxy({}, { ownKeys() { throw 1 } }));
		console.log('a', new Proxy({}, { getPrototypeOf() { throw new Error('b') } }));
		const r = Proxy.revocable({}, {}); r.revoke(); console.log(r.proxy);
		'done'`)
	if s.Status != engine.StatusDone || len(lines) != 3 {
		t.Errorf("%v %q %+v", s.Status, lines, s.Exception)
	}
}
