package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/js/engine"
)

// again evaluates a further program in vm.
func again(t testing.TB, vm *engine.VM, source string) engine.State {
	t.Helper()
	if err := vm.Eval(t.Context(), engine.Program{File: "p.js", Source: source, Redeclare: true}); err != nil {
		t.Fatal(err)
	}
	return run(t, vm)
}

// said is the value of a program, or its error.
func said(s engine.State) string {
	if s.Exception == nil {
		return string(s.Value)
	}
	text := s.Exception.Name + ": " + s.Exception.Message
	for _, f := range s.Exception.Frames {
		text += fmt.Sprintf(" @%d:%d", f.Line, f.Column)
	}
	return text
}

// TestProgramsOneAfterAnother: what a further program finds and may declare
// again, in one VM and with a restore between every two.
func TestProgramsOneAfterAnother(t *testing.T) {
	e := newEngine(t)
	tests := []struct {
		name     string
		programs []string
		want     []string
	}{
		{"const", []string{`const x = 1; x`, `const x = 2; x`, `x`, `x = 3`}, []string{`1`, `2`, `2`, `TypeError: 'x' is read-only @1:1`}},
		{"the error of a constant", []string{`const x = 1`, `let e; try { x = 2 } catch (caught) { e = caught } [e instanceof TypeError, e.stack]`},
			[]string{`{"$ringd":"undefined"}`, `[true,"    at <eval> (p.js:1:14)\n"]`}},
		{"let", []string{`let x = 1; globalThis.up = () => ++x; x`, `up(); x`, `let x; x`, `let x = 5; up()`},
			[]string{`1`, `2`, `{"$ringd":"undefined"}`, `6`}},
		{"class", []string{`class A { static n = 1; #p = 7; p() { return this.#p } } globalThis.old = new A(); A.n`, `class A { static n = 2 } [A.n, old.p(), old instanceof A]`},
			[]string{`1`, `[2,7,false]`}},
		{"var and function", []string{`var v = 1; function f() { return v }`, `var v; function f() { return v + 1 } f()`, `var v = 5; f()`},
			[]string{`{"$ringd":"undefined"}`, `2`, `6`}},
		{"one kind after another", []string{`const x = 1`, `let x = 2; x`, `class x { } typeof x`, `var x; typeof x`, `function x() { } typeof x`},
			[]string{`{"$ringd":"undefined"}`, `2`, `"function"`, `"function"`, `"function"`}},
		{"const after function", []string{`function f() { }`, `const f = 1`}, []string{`{"$ringd":"undefined"}`, `SyntaxError: redeclaration of 'f' @1:1`}},
		{"patterns and lists", []string{`const { a, b: [c = 3], ...rest } = { a: 1, b: [], d: 4 }, e = 5; let f = 6, g; [a, c, rest.d, e, f]`,
			`const { a, b: [c = 30], ...rest } = { a: 10, b: [], d: 40 }, e = 50; let f = 60, g; [a, c, rest.d, e, f, g === undefined]`},
			[]string{`[1,3,4,5,6]`, `[10,30,40,50,60,true]`}},
		{"twice in one program", []string{`const x = 1; const x = 2`}, []string{`SyntaxError: invalid redefinition of lexical identifier @1:22`}},
		{"never initialised", []string{`const x = (() => { throw new Error('no') })(); let y = 1`, `typeof x + typeof y`, `const x = 4, y = 5; x + y`},
			[]string{`Error: no @1:30 @1:41`, `"undefinedundefined"`, `9`}},
		{"what a closure sees", []string{`const limit = 1; globalThis.read = () => limit; read()`, `read()`, `const limit = 2; read()`}, []string{`1`, `1`, `2`}},
		{"after an error", []string{`const kept = 1; throw new Error('late')`, `kept + 1`, `syntax error`, `const kept = 5; kept`},
			[]string{`Error: late @1:27`, `2`, `SyntaxError: expecting ';' @1:8`, `5`}},
		{"enumeration", []string{`const x = 1; let y = 2`, `const n = 3; [Object.keys(globalThis), typeof globalThis.x, typeof globalThis.n]`},
			[]string{`{"$ringd":"undefined"}`, `[["gate","tools","inputs"],"number","undefined"]`}},
		{"a frozen global object", []string{`const x = 1; Object.preventExtensions(globalThis)`, `x`, `const x = 2`},
			[]string{``, `1`, `SyntaxError: redeclaration of 'x' @1:1`}},
		{"imports", []string{`const { one } = await import('one'); one.n++`, `const { one } = await import('one'); [one.n, (await import('one')).one === one]`},
			[]string{`1`, `[2,true]`}},
		{"lines", []string{`const a = 1`, "const a = 2;\n\nlet b = () => {\n  throw new Error('here');\n};\nb();"},
			[]string{`{"$ringd":"undefined"}`, `Error: here @4:13 @6:1`}},
		{"state in all forms", []string{`let n = 0; const m = new Map(); function* g() { yield 1; yield 2 } const it = g(); it.next(); class C { #x = 1; up() { return ++this.#x } } const c = new C(); c.up()`,
			`n++; m.set('k', n); [it.next().value, c.up()]`, `[n, m.get('k'), it.next().done, c.up(), c instanceof C]`},
			[]string{`2`, `[2,3]`, `[1,1,true,4,true]`}},
		{"polluted", []string{`const x = 1, y = 2; Object.prototype.get = 1; Object.prototype.value = 3; Reflect.defineProperty = Object.defineProperty = null; String.prototype.includes = () => false; 0`,
			`const x = 5; [x, y]`}, []string{`0`, `[5,2]`}},
	}
	for _, tt := range tests {
		for _, hops := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " restored ", hops), func(t *testing.T) {
				o := gated()
				o.Modules = modules{"one": `export const one = { n: 1 }`}
				vm := start(t, e, o)
				for i, source := range tt.programs {
					if hops && i > 0 {
						vm = restored(t, e, takeSnapshot(t, vm), o)
					}
					if got := said(again(t, vm, source)); got != tt.want[i] && tt.want[i] != "" {
						t.Errorf("%s\n got %s\nwant %s", source, got, tt.want[i])
					}
				}
			})
		}
	}
}

// TestRestoreOfAnEndedProgram: the next program has its own inputs, budgets and
// clean hands.
func TestRestoreOfAnEndedProgram(t *testing.T) {
	e := newEngine(t)
	o := gated()
	o.Inputs = map[string]json.RawMessage{"a": json.RawMessage(`1`)}
	o.ConsoleBytes = 100
	o.Console = func(string, string) {}
	vm := start(t, e, o)
	const first = `const kept = inputs.a; console.log('x'); Promise.reject(new Error('left behind'));
		globalThis.never = gate(1); await tools.search(2); globalThis.p = Promise.resolve(3); kept`
	if s := again(t, vm, first); s.Status != engine.StatusWaiting {
		t.Fatalf("%+v", s)
	}
	vm.TakeCalls()
	s := answer(t, vm, 2, `0`)
	if string(s.Value) != "1" || len(s.Unhandled) != 1 || len(s.Unawaited) != 1 {
		t.Fatalf("%+v", s)
	}
	b := takeSnapshot(t, vm)

	o.Inputs = map[string]json.RawMessage{"b": json.RawMessage(`{"n":[2]}`)}
	vm = restored(t, e, b, o)
	if u := vm.Usage(); u.Calls != 0 || u.OpenCalls != 0 || u.ConsoleBytes != 0 || u.Fuel > 1e6 {
		t.Errorf("usage %+v", u)
	}
	if st, err := vm.State(t.Context()); err != nil || st.Status != engine.StatusNone {
		t.Errorf("%+v %v", st, err)
	}
	if _, err := vm.Snapshot(t.Context()); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a snapshot before a program: %v", err)
	}
	s = again(t, vm, `const [q] = inputs.b.n; [kept, q, await p, typeof inputs.a, Object.isFrozen(inputs.b.n)]`)
	if got := said(s); got != `[1,2,3,"undefined",true]` || len(s.Unhandled)+len(s.Unawaited) != 0 {
		t.Errorf("%s %+v", got, s)
	}
	if s := again(t, vm, `await never`); s.Status != engine.StatusDeadlock {
		t.Errorf("a call of the program before: %+v", s)
	}
	vm = restored(t, e, b, o)
	again(t, vm, `await gate(9)`)
	calls := vm.TakeCalls()
	if len(calls) != 1 || calls[0].ID != 3 {
		t.Fatalf("%+v", calls)
	}
	if err := vm.Settle(t.Context(), 1, engine.Answer{}); !errors.Is(err, engine.ErrNoCall) {
		t.Errorf("an answer to a call of the program before: %v", err)
	}
	b = takeSnapshot(t, vm) // a pause within a later program
	if s := answer(t, restored(t, e, b, o), 3, `9`); string(s.Value) != "9" {
		t.Errorf("%+v", s)
	}
	if u := restored(t, e, b, o).Usage(); u.Calls != 1 {
		t.Errorf("%+v", u)
	}

	vm = start(t, e, gated())
	again(t, vm, `0`)
	o.DenyGlobals = []string{"inputs"}
	vm = restored(t, e, takeSnapshot(t, vm), o)
	if s := again(t, vm, `typeof inputs`); string(s.Value) != `"undefined"` {
		t.Errorf("inputs that are denied: %s %+v", s.Value, s.Exception)
	}
	o.DenyGlobals = nil

	vm = start(t, e, gated())
	again(t, vm, `Object.defineProperty(globalThis, 'inputs', { value: 1, configurable: false }); 0`)
	if _, err := e.Restore(t.Context(), takeSnapshot(t, vm), o); !errors.Is(err, engine.ErrPermanent) ||
		!strings.Contains(err.Error(), "inputs") {
		t.Errorf("inputs that cannot be replaced: %v", err)
	}
}

// TestManyPrograms: a VM that is restored for each of many programs keeps its
// size, once what they leave behind is collected now and then.
func TestManyPrograms(t *testing.T) {
	e := newEngine(t)
	programs, settled := 500, 300
	if testing.Short() {
		programs = 40
	}
	vm := start(t, e, gated())
	memory, before, most := vm.Usage().PeakBytes, 0, 0
	for i := range programs {
		s := again(t, vm, `const step = { at: 1 }; let list = [1, 2, 3].map((x) => x * 2); class Step { run() { return list.length } } var total = (globalThis.total ?? 0) + new Step().run(); total`)
		if got := said(s); got != fmt.Sprint(3*(i+1)) {
			t.Fatalf("program %d: %s", i, got)
		}
		b := takeSnapshot(t, vm)
		if most = max(most, len(b)); i == settled {
			before = most
		}
		if err := vm.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		vm = restored(t, e, b, gated())
	}
	if now := vm.Usage().PeakBytes; now != memory {
		t.Errorf("%d bytes of memory, %d at first", now, memory)
	}
	if most > 16<<10 || before > 0 && most > before+before/10 {
		t.Errorf("a snapshot of %d bytes, at most %d after %d programs", most, before, settled)
	}
}
