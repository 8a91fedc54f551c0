package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/profiles"
)

func TestCalls(t *testing.T) {
	o := options()
	o.Bridges = []string{"tools.search", "spawn"}
	vm := start(t, newEngine(t), o)
	s := eval(t, vm, `const r = await Promise.all([tools.search({ q: 1 }), spawn("a"), spawn("b")]); r.push(await tools.search()); r`)
	if s.Status != engine.StatusWaiting || vm.OpenCalls() != 3 {
		t.Fatalf("%v with %d open calls", s, vm.OpenCalls())
	}
	calls := vm.TakeCalls()
	want := []engine.Call{{ID: 1, Bridge: "tools.search", Args: []byte(`[{"q":1}]`)},
		{ID: 2, Bridge: "spawn", Args: []byte(`["a"]`)}, {ID: 3, Bridge: "spawn", Args: []byte(`["b"]`)}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
	if again := vm.TakeCalls(); len(again) != 0 {
		t.Errorf("taken twice: %v", again)
	}
	for _, id := range []int64{3, 1, 2} { // in any order
		if err := vm.Settle(t.Context(), id, engine.Answer{Value: []byte{'0' + byte(id)}}); err != nil {
			t.Fatal(err)
		}
	}
	if s = run(t, vm); s.Status != engine.StatusWaiting || vm.OpenCalls() != 1 {
		t.Fatalf("%v with %d open calls", s, vm.OpenCalls())
	}
	if err := vm.Settle(t.Context(), 4, engine.Answer{}); err != nil {
		t.Fatal(err)
	}
	if s = run(t, vm); string(s.Value) != `[1,2,3,{"$ringd":"undefined"}]` || len(s.Unawaited) != 0 {
		t.Errorf("got %s, unawaited %v", s.Value, s.Unawaited)
	}
	if u := vm.Usage(); u.Calls != 4 || u.OpenCalls != 0 {
		t.Errorf("usage %+v", u)
	}
}

func TestRefusedCalls(t *testing.T) {
	e := newEngine(t)
	names := []string{"ImportDenied", "CapabilityDenied", "CapabilityRevoked", "ApprovalDenied", "BudgetExceeded",
		"ArgumentError", "ResultTooLarge", "BridgeError"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Bridges = []string{"call"}
			vm := start(t, e, o)
			eval(t, vm, `let r; try { await call() } catch (e) { r = [e instanceof `+name+
				`, e instanceof Error, e.name, e.message] } r`)
			if err := vm.Settle(t.Context(), 1, engine.Answer{
				Error: &engine.GuestError{Name: name, Message: "why"}}); err != nil {
				t.Fatal(err)
			}
			if s := run(t, vm); string(s.Value) != `[true,true,"`+name+`","why"]` {
				t.Errorf("got %s %v", s.Value, s.Exception)
			}
		})
	}
	for _, name := range []string{"", "value", "TypeErrorX", "constructor", "__proto__"} {
		t.Run("unknown "+name, func(t *testing.T) {
			o := options()
			o.Bridges = []string{"call"}
			vm := start(t, e, o)
			eval(t, vm, `await call().catch(e => e instanceof BridgeError && e.message)`)
			if err := vm.Settle(t.Context(), 1, engine.Answer{
				Error: &engine.GuestError{Name: name, Message: "why"}}); err != nil {
				t.Fatal(err)
			}
			if s := run(t, vm); string(s.Value) != `"why"` {
				t.Errorf("got %s %v", s.Value, s.Exception)
			}
		})
	}
}

func TestUncaughtRefusalShowsTheCall(t *testing.T) {
	o := options()
	o.Bridges = []string{"call"}
	vm := start(t, newEngine(t), o)
	eval(t, vm, "async function plan() {\n  return await call(1)\n}\nawait plan()")
	if err := vm.Settle(t.Context(), 1, engine.Answer{Error: &engine.GuestError{
		Name: "CapabilityDenied", Message: "no"}}); err != nil {
		t.Fatal(err)
	}
	want := &engine.Exception{Name: "CapabilityDenied", Message: "no", Frames: []engine.Frame{
		{Function: "plan", File: "p.js", Line: 2, Column: 16}, {File: "p.js", Line: 4, Column: 7}}}
	if diff := cmp.Diff(want, run(t, vm).Exception); diff != "" {
		t.Error(diff)
	}
}

func TestExceptions(t *testing.T) {
	e := newEngine(t)
	tests := []struct {
		name, source string
		want         engine.Exception
	}{
		{"frames", "function f() {\n  throw new TypeError('boom')\n}\nf()", engine.Exception{Name: "TypeError", Message: "boom",
			Frames: []engine.Frame{{Function: "f", File: "p.js", Line: 2, Column: 13},
				{File: "p.js", Line: 4, Column: 1}}}},
		{"syntax", "let a = 1\nlet b = ;", engine.Exception{Name: "SyntaxError", Message: "unexpected token in expression: ';'",
			Frames: []engine.Frame{{File: "p.js", Line: 2, Column: 9}}}},
		{"after an await", "await 0\nnull.x", engine.Exception{Name: "TypeError", Message: "cannot read property 'x' of null",
			Frames: []engine.Frame{{File: "p.js", Line: 2, Column: 1}}}},
		{"no error", "throw { a: [1] }", engine.Exception{Name: "Error", Message: "thrown: { a: [1] }"}},
		{"text", "throw 'x'", engine.Exception{Name: "Error", Message: `thrown: "x"`}},
		{"getters that throw", "throw Object.defineProperties(new Error(), { name: { get() { throw 1 } }, message: { get() { throw 2 } }, stack: { get() { throw 3 } } })",
			engine.Exception{Name: "Error"}},
		{"revoked proxy", "const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy", engine.Exception{Name: "Error", Message: "thrown: an object"}},
		{"forged frames", "const e = new Error('m'); Object.defineProperty(e, 'stack', { value: 'at x (y:1:2)\\nat :::\\nnonsense\\n    at z:-1:99999999999999999999' }); throw e",
			engine.Exception{Name: "Error", Message: "m", Frames: []engine.Frame{
				{Function: "x", File: "y", Line: 1, Column: 2}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := eval(t, start(t, e, options()), tt.source)
			if s.Status != engine.StatusFailed {
				t.Fatalf("got %v %s", s.Status, s.Value)
			}
			if diff := cmp.Diff(tt.want, *s.Exception); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsLeftBehind(t *testing.T) {
	e := newEngine(t)
	tests := []struct {
		name, source string
		unawaited    string // bridges
		unhandled    string // messages
	}{
		{"all awaited", `await call(1)`, "", ""},
		{"value of the program", `call(1)`, "", ""},
		{"never awaited", `call(1); other(2); await call(3)`, "call other", ""},
		{"awaited later", `const p = call(1); await 0; await p`, "", ""},
		{"only one of a race", `await Promise.race([call(1), call(2)])`, "", ""},
		{"then", `call(1).then(() => {}); await call(2)`, "", ""},
		{"kept but not awaited", `globalThis.p = call(1); 1`, "call", ""},
		{"after a failure", `call(1); throw new Error('x')`, "call", ""},
		{"in a loop without await", `[1, 2].forEach(async (x) => { call(x) }); 1`, "call call", ""},
		{"rejection that nothing handles", `Promise.reject(new Error('lost')); 1`, "", "lost"},
		{"rejection handled later", `const p = Promise.reject(new Error('lost')); await 0; p.catch(() => {}); 1`, "", ""},
		{"async function that fails", `(async () => { throw new Error('a') })(); (async () => { throw new Error('b') })(); 1`, "", "a b"},
		{"refused argument that nothing handles", `call(() => 1); 1`, "", "$[0]: a function cannot cross"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.Bridges = []string{"call", "other"}
			vm := start(t, e, o)
			s := eval(t, vm, tt.source)
			for s.Status == engine.StatusWaiting {
				for _, c := range vm.TakeCalls() {
					if err := vm.Settle(t.Context(), c.ID, engine.Answer{}); err != nil {
						t.Fatal(err)
					}
				}
				s = run(t, vm)
			}
			var bridges, messages []string
			for _, c := range s.Unawaited {
				bridges = append(bridges, c.Bridge)
			}
			for _, x := range s.Unhandled {
				messages = append(messages, x.Message)
			}
			if got := strings.Join(bridges, " "); got != tt.unawaited {
				t.Errorf("unawaited %q, want %q", got, tt.unawaited)
			}
			if got := strings.Join(messages, " "); got != tt.unhandled {
				t.Errorf("unhandled %q, want %q", got, tt.unhandled)
			}
		})
	}
}

func TestOpenCallAtTheEnd(t *testing.T) {
	o := options()
	o.Bridges = []string{"call"}
	vm := start(t, newEngine(t), o)
	s := eval(t, vm, `await Promise.race([call(1), 2])`)
	if string(s.Value) != "2" || len(s.Unawaited) != 1 || s.Unawaited[0].ID != 1 {
		t.Errorf("%s, unawaited %v", s.Value, s.Unawaited)
	}
}

func TestDeadlock(t *testing.T) {
	e := newEngine(t)
	for name, source := range map[string]string{
		"promise":          `await new Promise(() => {})`,
		"all":              `await Promise.all([1, new Promise(() => {})])`,
		"after a call":     `await call(); await new Promise(() => {})`,
		"generator":        `async function* g() { await new Promise(() => {}); yield 1 } for await (const x of g());`,
		"value is pending": `new Promise(() => {})`,
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Bridges = []string{"call"}
			vm := start(t, e, o)
			s := eval(t, vm, source)
			if s.Status == engine.StatusWaiting {
				if err := vm.Settle(t.Context(), 1, engine.Answer{}); err != nil {
					t.Fatal(err)
				}
				s = run(t, vm)
			}
			if s.Status != engine.StatusDeadlock {
				t.Errorf("got %v", s)
			}
		})
	}
}

func TestConsole(t *testing.T) {
	e := newEngine(t)
	tests := []struct{ name, source, want string }{
		{"levels", `console.log('a'); console.info('b'); console.warn('c'); console.error('d'); console.debug('e')`, "log a|info b|warn c|error d|debug e"},
		{"values", `console.log(1, 'two', [3, 'x'], { a: { b: null } }, undefined, 4n, Symbol('s'), -0)`, `log 1 two [3, "x"] { a: { b: null } } undefined 4n Symbol(s) -0`},
		{"collections", `console.log(new Map([[1, { a: 2 }]]), new Set(['x']), new Uint8Array([1, 2]), new Date(0), /a/g)`,
			`log Map(1) {1 => { a: 2 }} Set(1) {"x"} Uint8Array(2) [1, 2] 1970-01-01T00:00:00.000Z /a/g`},
		{"class", `class P { x = 1 } console.log(new P(), P, () => 1)`, `log P { x: 1 } [function P] [function]`},
		{"cycle", `const o = {}; o.o = o; console.log(o)`, `log { o: [circular] }`},
		{"getters are not called", `console.log({ get a() { throw 1 } })`, `log { a: [getter] }`},
		{"directives", `console.log('%s is %d%% of %o', 'a', 5, [1], 'rest')`, `log a is 5% of [1] rest`},
		{"error", `console.log(new TypeError('bad'))`, "log TypeError: bad\n    at <eval> (p.js:1:17)"},
		{"revoked proxy", `const r = Proxy.revocable({}, {}); r.revoke(); try { console.log(r.proxy) } catch (e) { console.log(e.name) }`, `log [a value that cannot be shown]`},
		{"lone surrogate", `console.log('\ud800')`, "log \uFFFD"},
		{"everything patched", `Array.prototype.join = String.prototype.slice = JSON.stringify = Object.keys = () => 'stolen'; console.log({ a: [1, 'b'] })`, `log { a: [1, "b"] }`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			o := options()
			o.ConsoleBytes, o.Console = 1<<20, func(level, text string) { got = append(got, level+" "+text) }
			if s := eval(t, start(t, e, o), tt.source); s.Status != engine.StatusDone {
				t.Error(s.Exception)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "|")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConsoleIsBounded(t *testing.T) {
	e := newEngine(t)
	var got int
	o := options()
	o.ConsoleBytes, o.Console = 100, func(_, text string) { got += len(text) + 1 }
	vm := start(t, e, o)
	eval(t, vm, `for (let i = 0; i < 20; i++) console.log('123456789')`)
	if u := vm.Usage(); got != 100 || u.ConsoleBytes != 100 || u.DroppedBytes != 100 || u.DroppedLines != 10 {
		t.Errorf("got %d bytes, usage %+v", got, u)
	}
	for name, source := range map[string]string{
		"one line": `console.log('x'.repeat(1e7))`, "items": `console.log(Array(1e6).fill(1))`, "names": `const o = {}; for (let i = 0; i < 5e4; i++) o['k' + i] = i; console.log(o)`,
		"long length": `console.log(new Proxy([], { get: () => 2 ** 50 }))`, "wide and deep": `const f = (n) => n ? Array(100).fill(0).map(() => f(n - 1)) : 'x'; console.log(f(2), f(2))`,
	} {
		got = 0
		o.ConsoleBytes = 1 << 20
		if s := eval(t, start(t, e, o), source); s.Status != engine.StatusDone || got == 0 || got > 40_000 {
			t.Errorf("%s: %d bytes, %v", name, got, s.Exception)
		}
	}
}

func TestInputs(t *testing.T) {
	o := options()
	o.Inputs = raw(`{"list":[1,{"a":{"$ringd":"map","value":[["k",{"$ringd":"undefined"}]]}}],"__proto__":{"admin":true}}`)
	s := eval(t, start(t, newEngine(t), o), `'use strict';
		const tried = [];
		for (const f of [() => { inputs.x = 1 }, () => { inputs.x.list = 1 }, () => { inputs.x.list.push(1) }, () => { inputs.x.list[1].a = 1 }, () => { inputs = 1 }, () => { delete inputs.x }])
			try { f(); tried.push('wrote') } catch (e) { tried.push(e.name) }
		[tried.join(), inputs.x.list[1].a.get('k') === undefined, inputs.x.admin === undefined, Object.keys(inputs)]`)
	want := `["TypeError,TypeError,TypeError,TypeError,TypeError,TypeError",true,true,["x"]]`
	if string(s.Value) != want {
		t.Errorf("got %s %v, want %s", s.Value, s.Exception, want)
	}
}

func TestLiveVM(t *testing.T) {
	vm := start(t, newEngine(t), options())
	eval(t, vm, `globalThis.n = 1; function inc() { return ++n }`)
	eval(t, vm, `throw 1`)
	if s := eval(t, vm, `inc(); inc()`); string(s.Value) != "3" {
		t.Errorf("got %s %v", s.Value, s.Exception)
	}
	if s := eval(t, vm, `await new Promise(() => {})`); s.Status != engine.StatusDeadlock {
		t.Fatal(s)
	}
	if err := vm.Eval(t.Context(), engine.Program{Source: `1`}); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a second program beside a pending one: %v", err)
	}
	if err := vm.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := vm.Eval(t.Context(), engine.Program{Source: `1`}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := vm.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLeaks: what a call takes on either side is given back.
func TestLeaks(t *testing.T) {
	o := options()
	o.Bridges = []string{"call"}
	vm := start(t, newEngine(t), o)
	eval(t, vm, `for (;;) { try { await call('x'.repeat(1000)) } catch {} }`)
	var before int64
	for i := range 4000 {
		calls := vm.TakeCalls()
		if len(calls) != 1 {
			t.Fatalf("%d calls", len(calls))
		}
		a := engine.Answer{Value: []byte(`"` + strings.Repeat("y", 10_000) + `"`)}
		if i%2 == 1 {
			a = engine.Answer{Error: &engine.GuestError{Name: "BridgeError", Message: "z"}}
		}
		if err := vm.Settle(t.Context(), calls[0].ID, a); err != nil {
			t.Fatal(err)
		}
		if _, err := vm.RunJobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 1000 {
			before = vm.Usage().PeakBytes
		}
	}
	if after := vm.Usage().PeakBytes; after != before {
		t.Errorf("3000 calls grew memory from %d to %d", before, after)
	}
}

func TestManyVMs(t *testing.T) {
	e := newEngine(t)
	o := options()
	o.Bridges = []string{"call"}
	vms := make([]*engine.VM, 50)
	for i := range vms {
		vms[i] = start(t, e, o)
		eval(t, vms[i], `let n = 0; for (;;) n += await call(n)`)
	}
	for range 3 {
		for i, vm := range vms {
			calls := vm.TakeCalls()
			if len(calls) != 1 {
				t.Fatalf("VM %d: %v", i, calls)
			}
			if err := vm.Settle(t.Context(), calls[0].ID, engine.Answer{Value: []byte{'1' + byte(i%9)}}); err != nil {
				t.Fatal(err)
			}
			run(t, vm)
		}
	}
	for i, vm := range vms {
		if got, want := string(vm.TakeCalls()[0].Args), "["+string(rune('0'+(1+i%9)*3/10))+
			string(rune('0'+(1+i%9)*3%10))+"]"; got != strings.Replace(want, "[0", "[", 1) {
			t.Errorf("VM %d holds %s, want %s", i, got, want)
		}
	}
}

// TestConcurrentVMs: an Engine is for all, a VM for one.
func TestConcurrentVMs(t *testing.T) {
	e := newEngine(t)
	const n = 8
	got := make(chan string, n)
	for i := range n {
		go func() {
			o := options()
			o.Bridges, o.Seed = []string{"call"}, [32]byte{byte(i)}
			vm, err := e.Start(t.Context(), o)
			if err != nil {
				got <- err.Error()
				return
			}
			defer vm.Close(t.Context())
			err = vm.Eval(t.Context(),
				engine.Program{Source: `let s = 0; for (let i = 0; i < 1e5; i++) s += i; await call(s); s`})
			if err == nil && len(vm.TakeCalls()) == 1 {
				err = vm.Settle(t.Context(), 1, engine.Answer{})
			}
			if err == nil {
				_, err = vm.RunJobs(t.Context())
			}
			s, err2 := vm.State(t.Context())
			got <- fmt.Sprint(string(s.Value), errors.Join(err, err2))
		}()
	}
	for range n {
		if s := <-got; s != "4999950000<nil>" {
			t.Errorf("got %s", s)
		}
	}
}

// TestDeepestStack: the largest stack that can be asked for still ends in a
// RangeError, not in a fault.
func TestDeepestStack(t *testing.T) {
	e := newEngine(t)
	for _, tt := range hostile() {
		if tt.want != stackOverflow {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.StackBytes, o.HeapBytes = profiles.MaxJSStackBytes, 64<<20
			if s, err := try(t, start(t, e, o), tt.source); end(s, err) != tt.want {
				t.Errorf("ended with %q", end(s, err))
			}
		})
	}
}
