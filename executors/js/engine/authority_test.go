package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/profiles"
)

// TestNoAmbientAuthority: what other engines give a program does not exist.
func TestNoAmbientAuthority(t *testing.T) {
	e := newEngine(t)
	for _, name := range strings.Fields(`std os bjson print require module exports process setTimeout setInterval setImmediate
		clearTimeout queueMicrotask WebAssembly Worker fetch performance navigator scriptArgs gc Atomics SharedArrayBuffer
		__raw __loadScript load read write quit Deno Bun global window self crypto XMLHttpRequest WebSocket localStorage
		tools search task __sessionId__ __fs__ URL DOMException atob structuredClone ringd host_call`) {
		if s := eval(t, start(t, e, options()), "typeof "+name); string(s.Value) != `"undefined"` {
			t.Errorf("%s is %s", name, s.Value)
		}
	}
	want := strings.Fields(`Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError
		AggregateError SuppressedError Iterator Array parseInt parseFloat isNaN isFinite decodeURI decodeURIComponent encodeURI
		encodeURIComponent escape unescape Infinity NaN undefined eval Number Boolean String Math Reflect Symbol DisposableStack
		globalThis BigInt Date RegExp JSON Proxy Map Set WeakMap WeakSet ArrayBuffer Uint8ClampedArray Int8Array Uint8Array
		Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array
		DataView Promise AsyncDisposableStack WeakRef FinalizationRegistry ImportDenied CapabilityDenied CapabilityRevoked
		ApprovalDenied BudgetExceeded ArgumentError ResultTooLarge BridgeError console inputs`)
	s := eval(t, start(t, e, options()), `Object.getOwnPropertyNames(globalThis)`)
	var got []string
	if err := json.Unmarshal(s.Value, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the globals are not those of ECMAScript and the contract:\n%s", diff)
	}
}

// TestForging runs programs that try to get hold of the host function, or of
// anything that would let them act as another bridge. Each returns what it got;
// none may be anything but null, and the one granted bridge must still work.
func TestForging(t *testing.T) {
	e := newEngine(t)
	const steal = `let stolen = null; const note = (...v) => { for (const x of v) if (typeof x === 'function' && !granted(x)) stolen = String(x) };
		const mine = new Set(); const granted = (f) => f === tools.search || mine.has(f); `
	tests := []struct{ name, source string }{
		{"Function.prototype.call", `Function.prototype.call = function (...a) { stolen = 'call'; return this }; tools.search(1); stolen`},
		{"Function.prototype.apply", `Function.prototype.apply = function () { stolen = 'apply' }; Function.prototype.bind = function () { stolen = 'bind' }; tools.search(1); stolen`},
		{"Reflect", `for (const k of Reflect.ownKeys(Reflect)) try { Reflect[k] = () => { stolen = k } } catch {} tools.search(1); stolen`},
		{"JSON", `JSON.stringify = JSON.parse = () => { stolen = 'JSON' }; tools.search({ a: [1] }); stolen`},
		{"toJSON", `Object.prototype.toJSON = function () { stolen = 'toJSON' }; tools.search({ a: [1] }); stolen`},
		{"setters for indexes", `for (let i = 0; i < 9; i++) Object.defineProperty(Array.prototype, i, { set(v) { note(v); stolen ??= typeof v } }); tools.search(1, [2], { a: 1 }); stolen`},
		{"setters for names", `for (const k of ['at', 'resolve', 'reject', 'get', 'set', 'kind', 'up', '1', 'constructor']) Object.defineProperty(Object.prototype, k, { __proto__: null, set(v) { stolen = k }, get() { }, configurable: true }); tools.search(1); stolen`},
		{"iterators", `Array.prototype[Symbol.iterator] = function* () { stolen = 'iterator' }; Map.prototype[Symbol.iterator] = function* () { stolen = 'map' }; tools.search(1, [2], new Map()); stolen`},
		{"map methods", `for (const C of [Map, Set, WeakMap, Array, String, RegExp, Promise]) for (const k of Reflect.ownKeys(C.prototype)) if (k !== 'constructor') try { const f = C.prototype[k]; if (typeof f === 'function') C.prototype[k] = function (...a) { stolen = C.name + '.' + String(k); return Reflect.apply(f, this, a) } } catch {} stolen = null; tools.search(1, 'a', new Map()); stolen`},
		{"constructors", `for (const k of ['Map', 'Promise', 'Error', 'Set', 'Date', 'Object', 'Array']) globalThis[k] = function () { stolen = k }; tools.search(1); stolen`},
		{"species", `const P = Promise; Object.defineProperty(P, Symbol.species, { get() { stolen = 'species'; return P } }); tools.search(1); stolen`},
		{"Promise.prototype.then while settling", `Promise.prototype.then = function () { stolen = 'then' }; tools.search(1); stolen`},
		{"errors that are replaced", `Object.setPrototypeOf(ArgumentError, function () { stolen = 'super' }); ArgumentError.prototype.constructor = () => { stolen = 'c' }; tools.search(() => 1).catch(() => {}); stolen`},
		{"prepareStackTrace", `Error.prepareStackTrace = (e, sites) => { stolen = 'sites'; note(...sites.map(s => s.getFunction?.())); return 'x' }; Error.stackTraceLimit = 100; try { null.x } catch (e) { e.stack } tools.search({ get a() { new Error('').stack } }); stolen`},
		{"captureStackTrace", `const o = {}; try { Error.captureStackTrace(o); stolen = o.stack } catch {} stolen`},
		{"stack text", `let text; tools.search({ get a() { text = new Error('').stack } }); /prelude|engine|\.go/.test(text) ? text : stolen`},
		{"caller", `function f() { try { note(f.caller, f.arguments, arguments.callee.caller) } catch {} } tools.search({ get a() { f() } }); stolen`},
		{"caller of a getter", `const o = {}; Object.defineProperty(o, 'a', { enumerable: true, get: function g() { try { note(g.caller) } catch {} return 1 } }); tools.search(o); stolen`},
		{"own keys of a bridge", `for (const k of Reflect.ownKeys(tools.search)) note(tools.search[k]); stolen`},
		{"text of a bridge", `/raw|pending|prelude/.test(String(tools.search)) ? String(tools.search) : stolen`},
		{"prototype of a bridge", `Object.getPrototypeOf(tools.search) === Function.prototype && tools.search.prototype === undefined ? stolen : 'prototype'`},
		{"new on a bridge", `try { new tools.search(); stolen = 'new' } catch {} stolen`},
		{"this of a bridge", `const p = tools.search.call({ forged: 'other', __fnID: 3 }, 1); p instanceof Promise ? stolen : 'this'`},
		{"properties of the promise", `const p = tools.search(1); for (const k of Reflect.ownKeys(p)) note(Object.getOwnPropertyDescriptor(p, k).value); stolen`},
		{"the promise's getter", `const p = tools.search(1), d = Object.getOwnPropertyDescriptor(p, 'constructor'); const r = d.get.call({}, 1); mine.add(r); r === Promise ? stolen : String(r)`},
		{"eval and Function", `note(eval('typeof __raw === "undefined" ? null : __raw'), Function('return typeof raw === "undefined" ? null : raw')()); stolen`},
		{"every value that can be reached", `
			const seen = new Set(), builtin = new Set(Reflect.ownKeys(globalThis));
			const visit = (v, path) => {
				if ((typeof v !== 'object' && typeof v !== 'function') || v === null || seen.has(v)) return;
				seen.add(v);
				if (typeof v === 'function' && /^(raw|ringd|settle|opener|encode|install|makeError|result)$/.test(v.name) && v !== String.raw) stolen = path + ' is ' + v.name;
				for (const k of Reflect.ownKeys(v)) {
					const d = Object.getOwnPropertyDescriptor(v, k);
					visit(d.value, path + '.' + String(k)); visit(d.get, path + '.get ' + String(k)); visit(d.set, path);
				}
				visit(Object.getPrototypeOf(v), path + '.__proto__');
			};
			visit(globalThis, 'globalThis'); visit(tools.search(1), 'promise'); visit((async () => {})(), 'async'); visit((async function* () {})(), 'gen'); visit(new Map().entries(), 'entries'); visit(/a/[Symbol.matchAll](''), 'matchAll');
			stolen`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.Bridges = []string{"tools.search", "secret.spend"}
			vm := start(t, e, o)
			s := eval(t, vm, steal+tt.source)
			if string(s.Value) != "null" {
				t.Errorf("got %s %v", s.Value, s.Exception)
			}
			for _, c := range vm.TakeCalls() {
				if c.Bridge != "tools.search" {
					t.Errorf("called %s", c.Bridge)
				}
			}
			eval(t, vm, `globalThis.last = tools.search("still")`)
			calls := vm.TakeCalls()
			if len(calls) != 1 || string(calls[0].Args) != `["still"]` {
				t.Fatalf("the granted bridge afterwards: %v", calls)
			}
		})
	}
}

func TestBridgesAreFixed(t *testing.T) {
	o := options()
	o.Bridges = []string{"tools.search", "spawn"}
	s := eval(t, start(t, newEngine(t), o), `
		const before = [tools, tools.search, spawn], tried = [];
		for (const f of [
			() => { tools = 1 }, () => { tools.search = 1 }, () => { spawn = 1 }, () => { delete globalThis.tools }, () => { delete tools.search },
			() => { tools.other = 1 }, () => { spawn.x = 1 }, () => Object.defineProperty(globalThis, 'spawn', { value: 1 }),
			() => Object.defineProperty(tools, 'search', { get: () => 1 }), () => Object.setPrototypeOf(tools.search, null), () => { globalThis.spawn = 1 },
		]) { try { (0, f)() } catch (e) { tried.push(e.name) } }
		const after = [tools, tools.search, spawn];
		[before.every((v, i) => v === after[i]), tools.other === undefined, Object.keys(tools), typeof secret, typeof tools.other]`)
	if want := `[true,true,["search"],"undefined","undefined"]`; string(s.Value) != want {
		t.Errorf("got %s %v, want %s", s.Value, s.Exception, want)
	}
}

func TestDenyGlobals(t *testing.T) {
	e := newEngine(t)
	const makers = `[() => eval('1'), () => (0, eval)('1'), () => Function('return 1')(), () => (() => {}).constructor('return 1')(),
		() => (async () => {}).constructor('return 1')(), () => (function* () {}).constructor('yield 1')().next(), () => (async function* () {}).constructor('yield 1')().next(),
		() => Function.prototype.constructor('return 1')(), () => Reflect.construct((class {}).constructor, ['return 1'])()]
		.map(f => { try { f(); return 'ran' } catch (e) { return e.name } })`
	if s := eval(t, start(t, e, options()), makers+`.join()`); string(s.Value) != `"`+
		strings.TrimSuffix(strings.Repeat("ran,", 9), ",")+`"` {
		t.Errorf("without a denial: %s", s.Value)
	}
	o := options()
	o.DenyGlobals = []string{"eval", "Function", "WeakRef", "Proxy", "noSuchGlobal"}
	if s := eval(t, start(t, e, o), makers+`.filter(x => x === 'ran')`); string(s.Value) != `[]` {
		t.Errorf("source text was evaluated: %s %v", s.Value, s.Exception)
	}
	if s := eval(t, start(t, e, o), `[typeof eval, typeof Function, typeof WeakRef, typeof Proxy]`); string(
		s.Value) != `["undefined","undefined","undefined","undefined"]` {
		t.Errorf("still there: %s", s.Value)
	}
}

type modules map[string]string

var errHost = errors.New("open /etc/host/secret: permission denied")

func (m modules) Resolve(base, name string) (string, error) {
	if name == "explode" {
		return "", errHost
	}
	if _, ok := m[name]; ok {
		return name, nil
	}
	return "", fmt.Errorf("resolve: %w", &engine.GuestError{
		Name: profiles.ErrorImportDenied, Message: fmt.Sprintf(
			"import of %q from %q is denied; allowed: math", name, base)})
}

func (m modules) Load(name string) (string, error) {
	if name == "unreadable" {
		return "", errHost
	}
	return m[name], nil
}

func TestModules(t *testing.T) {
	e := newEngine(t)
	m := modules{"math": `import { one } from "one"; export const two = one + 1; export default (x) => x * two`,
		"one": `export const one = 1`,
		"bad": `import "fs"`, "broken": `export let = ;`, "unreadable": "", "steals": `export const x = typeof __raw + typeof raw`}
	tests := []struct{ name, source, want string }{
		{"dynamic", `(await import("math")).default(4)`, `8`},
		{"once", `(await import("math")) === (await import("math"))`, `true`},
		{"not allowed", `await import("pandas").catch(e => [e instanceof ImportDenied, e.name, e.message])`, `[true,"ImportDenied","import of \"pandas\" from \"p.js\" is denied; allowed: math"]`},
		{"not allowed below", `await import("bad").catch(e => e.message)`, `"import of \"fs\" from \"bad\" is denied; allowed: math"`},
		{"standard modules of engines", `let r = []; for (const n of ["qjs:std", "std", "qjs:os", "os", "bjson", "node:fs", "./../etc/passwd", "/etc/passwd", "https://evil.example/x.js", "data:text/javascript,1"]) r.push(await import(n).then(() => n, e => e.name)); r.filter(x => x !== "ImportDenied")`, `[]`},
		{"host failure", `await import("explode").catch(e => [e.name, e.message])`, `["ImportDenied","import of \"explode\" is denied"]`},
		{"host failure on load", `await import("unreadable").catch(e => [e.name, e.message])`, `["ImportDenied","import of \"unreadable\" is denied"]`},
		{"broken module", `await import("broken").catch(e => e.name)`, `"SyntaxError"`},
		{"long name", `await import("x".repeat(10000)).catch(e => e.name)`, `"ImportDenied"`},
		{"nothing of the prelude", `(await import("steals")).x`, `"undefinedundefined"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.Modules = m
			s := eval(t, start(t, e, o), tt.source)
			if diff := cmp.Diff(tt.want, string(s.Value)); diff != "" {
				t.Errorf("%s %v", diff, s.Exception)
			}
		})
	}
	t.Run("static", func(t *testing.T) {
		o := options()
		o.Modules = m
		vm := start(t, e, o)
		if err := vm.Eval(t.Context(), engine.Program{File: "main", Module: true,
			Source: `import f from "math"; export default await f(10)`}); err != nil {
			t.Fatal(err)
		}
		if s := run(t, vm); string(s.Value) != "20" {
			t.Errorf("got %s %v", s.Value, s.Exception)
		}
	})
	t.Run("static denied", func(t *testing.T) {
		vm := start(t, e, options())
		if err := vm.Eval(t.Context(), engine.Program{File: "main", Module: true, Source: `import "fs"`}); err != nil {
			t.Fatal(err)
		}
		if s := run(t, vm); s.Exception == nil || s.Exception.Name != "ImportDenied" {
			t.Errorf("got %v", s)
		}
	})
}

func TestEngineFileIsPinned(t *testing.T) {
	good, err := os.ReadFile("wasm/quickjs.wasm")
	if err != nil {
		t.Skip("the engine file is not in this checkout: run make engine")
	}
	bad := append([]byte{}, good...)
	bad[len(bad)-1] ^= 1
	for name, wasm := range map[string][]byte{"changed": bad, "cut": good[:1000], "empty": {}} {
		if _, err := engine.New(t.Context(), engine.Config{Wasm: wasm}); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCacheFolderOfOthersIsRefused(t *testing.T) {
	newEngine(t) // or skip
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if e, err := engine.New(t.Context(), engine.Config{CacheDir: dir}); err == nil {
		t.Error("native code was loaded from a folder that anyone can write")
		e.Close(t.Context())
	}
}

// What a program hangs on Error moves nothing of how a call's place is taken.
func TestStackOfACallIsNotTheProgramsToMake(t *testing.T) {
	e := newEngine(t)
	o := options()
	o.Bridges = []string{"echo"}
	s := eval(t, start(t, e, o), `
		let seen = 0;
		Error.prepareStackTrace = () => { seen++; return 'forged' };
		Error.stackTraceLimit = 0;
		Error.captureStackTrace = () => { seen++ };
		for (const k of ['stack', '0', 'value', 'writable']) Object.defineProperty(Object.prototype, k, { __proto__: null, get() { seen++ }, set() { seen++ }, configurable: true });
		let stack;
		try { await echo(() => 1) } catch (e) { stack = e.stack }
		for (const k of ['stack', '0', 'value', 'writable']) delete Object.prototype[k];
		[seen, stack.includes('p.js:8:'), stack.includes('null>')]`)
	if got := string(s.Value); got != "[0,true,false]" {
		t.Errorf("%v %s %+v", s.Status, got, s.Exception)
	}
}
