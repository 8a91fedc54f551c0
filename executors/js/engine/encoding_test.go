package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/js/engine"
)

func TestEncode(t *testing.T) {
	e := newEngine(t)
	tests := []struct{ name, source, want string }{
		{"null", `null`, `null`},
		{"text", `"é\n\u2028\ud800"`, `"é\n` + "\u2028" + `\ud800"`},
		{"number", `[0, -1.5, 1e21, 1e-7]`, `[0,-1.5,1e+21,1e-7]`},
		{"odd numbers", `[NaN, Infinity, -Infinity, -0]`, `[{"$ringd":"number","value":"NaN"},{"$ringd":"number","value":"Infinity"},{"$ringd":"number","value":"-Infinity"},{"$ringd":"number","value":"-0"}]`},
		{"undefined", `({ a: undefined })`, `{"a":{"$ringd":"undefined"}}`},
		{"bigint", `-(2n ** 70n)`, `{"$ringd":"bigint","value":"-1180591620717411303424"}`},
		{"date", `[new Date(0), new Date(NaN)]`, `[{"$ringd":"date","value":"1970-01-01T00:00:00.000Z"},{"$ringd":"date","value":null}]`},
		{"map", `new Map([['a', 1], [{ k: 1 }, new Map()]])`, `{"$ringd":"map","value":[["a",1],[{"k":1},{"$ringd":"map","value":[]}]]}`},
		{"set", `new Set([1, '1'])`, `{"$ringd":"set","value":[1,"1"]}`},
		{"bytes", `[new Uint8Array([1, 2, 255]), new Uint16Array([1]), new Uint8Array([9]).buffer, new DataView(new ArrayBuffer(2), 1)]`,
			`[{"$ringd":"bytes","type":"Uint8Array","value":"AQL/"},{"$ringd":"bytes","type":"Uint16Array","value":"AQA="},{"$ringd":"bytes","type":"ArrayBuffer","value":"CQ=="},{"$ringd":"bytes","type":"DataView","value":"AA=="}]`},
		{"part of a buffer", `new Uint8Array(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)`, `{"$ringd":"bytes","type":"Uint8Array","value":"AgM="}`},
		{"error", `new RangeError('far')`, `{"$ringd":"error","name":"RangeError","message":"far"}`},
		{"error of a program", `class Mine extends Error { name = 'Mine' } new Mine('x')`, `{"$ringd":"error","name":"Mine","message":"x"}`},
		{"regular expression", `/a\/b/gi`, `{"$ringd":"regexp","source":"a\\/b","flags":"gi"}`},
		{"holes", `[1, , 3]`, `[1,{"$ringd":"hole"},3]`},
		{"cycle", `const o = { n: 1 }; o.o = o; o`, `{"$ringd":"object","id":1,"value":{"n":1,"o":{"$ringd":"ref","id":1}}}`},
		{"cycle through a map", `const m = new Map(); m.set('m', m); [m]`, `[{"$ringd":"map","id":1,"value":[["m",{"$ringd":"ref","id":1}]]}]`},
		{"shared", `const a = [1], d = new Date(0); ({ x: a, y: [a, d], z: d })`,
			`{"x":{"$ringd":"array","id":1,"value":[1]},"y":[{"$ringd":"ref","id":1},{"$ringd":"date","id":2,"value":"1970-01-01T00:00:00.000Z"}],"z":{"$ringd":"ref","id":2}}`},
		{"marked", `const o = { $ringd: 'undefined', a: 1 }; [o, o]`, `[{"$ringd":"entries","id":1,"value":[["$ringd","undefined"],["a",1]]},{"$ringd":"ref","id":1}]`},
		{"__proto__ as a key", `JSON.parse('{"__proto__":{"admin":true}}')`, `{"__proto__":{"admin":true}}`},
		{"no prototype", `Object.assign(Object.create(null), { a: 1 })`, `{"a":1}`},
		{"toJSON is a key like others", `({ toJSON: 1 })`, `{"toJSON":1}`},
		{"toJSON is not called", `Object.prototype.toJSON = Array.prototype.toJSON = String.prototype.toJSON = () => 'stolen'; [{}, 'a']`, `[{},"a"]`},
		{"symbol keys and hidden keys stay", `Object.defineProperty({ [Symbol.iterator]: 1, a: 1 }, 'b', { value: 1 })`, `{"a":1}`},
		{"getter", `({ get a() { return 1 } })`, `{"a":1}`},
		{"match", `'xay'.match(/a/)`, `["a"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := eval(t, start(t, e, options()), tt.source)
			if s.Exception != nil {
				t.Fatal(s.Exception)
			}
			if diff := cmp.Diff(tt.want, string(s.Value)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	e := newEngine(t)
	const instance = "an instance of a class cannot cross; copy its data into a plain object"
	tests := []struct{ name, source, want string }{
		{"function", `({ a: { b: [1, 2, 3, () => 1] } })`, "$.a.b[3]: a function cannot cross"},
		{"class", `class A {} [A]`, "$[0]: a function cannot cross"},
		{"symbol", `new Map([['k', Symbol()]])`, "${0}: a symbol cannot cross"},
		{"symbol as a map's key", `new Map([[1, 1], [Symbol(), 1]])`, "${key 1}: a symbol cannot cross"},
		{"in a set", `[new Set([() => 1])]`, "$[0]{0}: a function cannot cross"},
		{"odd key", `({ 'a b': () => 1 })`, `$["a b"]: a function cannot cross`},
		{"promise", `[Promise.resolve(1)]`, "$[0]: a promise cannot cross; await it"},
		{"weak map", `new WeakMap()`, "$: " + instance},
		{"instance", `class A { x = 1 } ({ a: new A() })`, "$.a: " + instance},
		{"subclass of a map", `class M extends Map {} new M()`, "$: " + instance},
		{"boxed", `new Number(1)`, "$: " + instance},
		{"generator", `(function* () {})()`, "$: " + instance},
		{"impostor of a map", `Object.create(Map.prototype)`, "$: " + instance},
		{"impostor of bytes", `Object.create(Uint8Array.prototype)`, "$: " + instance},
		{"map dressed as a set", `Object.setPrototypeOf(new Map(), Set.prototype)`, "$: " + instance},
		{"proxy of a date", `new Proxy(new Date(), {})`, "$: " + instance},
		{"large", `'x'.repeat(5e6)`, "the result is larger than 4194304 bytes"},
		{"large in parts", `Array(100).fill('x'.repeat(1e5))`, "the result is larger than 4194304 bytes"},
		{"large by names", `const o = {}; for (let i = 0; i < 60; i++) o[i + 'x'.repeat(1e5)] = 1; o`, "the result is larger than 4194304 bytes"},
		{"large bytes", `new Uint8Array(5e6)`, "the result is larger than 4194304 bytes"},
		{"getter that throws", `({ get a() { throw new RangeError('mine') } })`, "mine"},
		{"many", `Array(1000001).fill(0)`, "$[999999]: more than 1000000 values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := eval(t, start(t, e, options()), tt.source)
			if s.Status != engine.StatusFailed {
				t.Fatalf("crossed: %.200s", s.Value)
			}
			if s.Exception.Message != tt.want {
				t.Errorf("got %v, want %s", s.Exception, tt.want)
			}
		})
	}
}

// TestRoundTrip sends values through a bridge that gives back what it got.
func TestRoundTrip(t *testing.T) {
	e := newEngine(t)
	tests := []struct{ name, source string }{
		{"plain", `const v = { a: [1, 'x', null, true], b: {} }; const w = await echo(v); w !== v && JSON.stringify(v) === JSON.stringify(w)`},
		{"undefined", `await echo(undefined) === undefined && 'a' in await echo({ a: undefined })`},
		{"odd numbers", `const w = await echo([NaN, -0, Infinity]); Object.is(w[0], NaN) && Object.is(w[1], -0) && w[2] === Infinity`},
		{"bigint", `await echo(2n ** 100n) === 2n ** 100n`},
		{"date", `const w = await echo(new Date(1e12)); w instanceof Date && +w === 1e12 && isNaN(await echo(new Date(NaN)))`},
		{"old date", `+await echo(new Date(-1e15)) === -1e15`},
		{"map", `const w = await echo(new Map([[{ k: 1 }, new Map([[1, 2]])]])); w instanceof Map && [...w][0][1].get(1) === 2`},
		{"set", `const w = await echo(new Set([1, '1'])); w instanceof Set && w.size === 2 && w.has('1')`},
		{"every kind of bytes", `const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array, Float32Array, Float64Array];
			let ok = true;
			for (const K of kinds) { const w = await echo(new K([1, 2, 3])); ok &&= w.constructor === K && w.join() === '1,2,3' }
			const b = await echo([new BigInt64Array([-1n]), new BigUint64Array([1n]), new Uint8Array([7]).buffer, new DataView(new ArrayBuffer(3))]);
			ok && b[0][0] === -1n && b[1][0] === 1n && b[2] instanceof ArrayBuffer && b[3] instanceof DataView && b[3].byteLength === 3`},
		{"errors", `const w = await echo([new TypeError('a'), new CapabilityDenied('b'), Object.assign(new Error('c'), { name: 'Odd' })]);
			w[0] instanceof TypeError && w[0].message === 'a' && w[1] instanceof CapabilityDenied && w[1].name === 'CapabilityDenied' && w[2] instanceof Error && w[2].name === 'Odd' && w[0].stack === ''`},
		{"regular expression", `const w = await echo(/a(b)/gi); w instanceof RegExp && w.source === 'a(b)' && w.flags === 'gi'`},
		{"holes", `const w = await echo([1, , 3]); w.length === 3 && !(1 in w)`},
		{"cycle", `const o = { list: [] }; o.list.push(o); const w = await echo(o); w !== o && w.list[0] === w`},
		{"cycle through map and set", `const m = new Map(), s = new Set([m]); m.set(s, m); const w = await echo(m); [...w][0][1] === w && [...[...w][0][0]][0] === w`},
		{"shared bytes", `const b = new Uint8Array([1]); const w = await echo([b, b, { b }]); w[0] === w[1] && w[2].b === w[0]`},
		{"shared key", `const k = {}; const w = await echo([k, new Map([[k, 1]])]); w[1].get(w[0]) === 1`},
		{"marked", `const w = await echo({ $ringd: 'undefined', value: [{ $ringd: 1 }] }); w.$ringd === 'undefined' && w.value[0].$ringd === 1`},
		{"__proto__ stays a key", `const w = await echo(JSON.parse('{"__proto__":{"admin":1},"$ringd":2}')); Object.getPrototypeOf(w) === Object.prototype && w.admin === undefined && Object.hasOwn(w, '__proto__')`},
		{"__proto__ with tags inside", `const w = await echo(JSON.parse('{"__proto__":[1]}'), new Map()); Object.hasOwn(w, '__proto__') && Object.getPrototypeOf(w) === Object.prototype`},
		{"with every prototype patched", `
			for (const C of [Object, Array, Map, Set, Promise, String, Function, RegExp, Date]) for (const k of ['then', 'toJSON', 'get', 'set', 'id', '0', '1', 'map', 'join', '$ringd'])
				try { Object.defineProperty(C.prototype, k, { get() { return undefined }, set(v) { throw 'stolen' }, configurable: true }) } catch {}
			Array.prototype[Symbol.iterator] = () => { throw 'stolen' };
			const w = await echo({ a: [1, { b: 2 }], c: new Map() }); w.a[0] === 1 && w.a[1].b === 2`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.Bridges = []string{"echo"}
			vm := start(t, e, o)
			s := eval(t, vm, tt.source)
			for s.Status == engine.StatusWaiting {
				for _, c := range vm.TakeCalls() {
					if err := vm.Settle(t.Context(), c.ID, engine.Answer{Value: first(t, c.Args)}); err != nil {
						t.Fatal(err)
					}
				}
				s = run(t, vm)
			}
			if string(s.Value) != "true" {
				t.Errorf("got %s %v", s.Value, s.Exception)
			}
		})
	}
}

// first is the first of some arguments.
func first(t testing.TB, args json.RawMessage) json.RawMessage {
	t.Helper()
	var items []json.RawMessage
	if err := json.Unmarshal(args, &items); err != nil || len(items) == 0 {
		t.Fatalf("arguments %s: %v", args, err)
	}
	return items[0]
}

func TestArgumentsAreCopied(t *testing.T) {
	o := options()
	o.Bridges = []string{"call"}
	vm := start(t, newEngine(t), o)
	eval(t, vm, `const v = { a: 1 }; const p = call(v, [v]); v.a = 2; await p`)
	calls := vm.TakeCalls()
	want := []engine.Call{{ID: 1, Bridge: "call", Args: json.RawMessage(
		`[{"$ringd":"object","id":1,"value":{"a":1}},[{"$ringd":"ref","id":1}]]`)}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

// TestNestedEncoding calls a bridge from a getter of another call's argument.
func TestNestedEncoding(t *testing.T) {
	o := options()
	o.Bridges = []string{"call"}
	vm := start(t, newEngine(t), o)
	eval(t, vm, `const s = [1]; await call({ a: s, get b() { call([2], s, s); return s }, c: 3 })`)
	var got []string
	for _, c := range vm.TakeCalls() {
		got = append(got, string(c.Args))
	}
	inner := `[[2],{"$ringd":"array","id":1,"value":[1]},{"$ringd":"ref","id":1}]`
	outer := `[{"a":{"$ringd":"array","id":1,"value":[1]},"b":{"$ringd":"ref","id":1},"c":3}]`
	// The getter runs for each of the two passes that a shared value takes.
	if diff := cmp.Diff([]string{inner, inner, outer}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettleRefusesBadValues(t *testing.T) {
	o := options()
	o.Bridges = []string{"call"}
	o.ValueBytes = 1000
	vm := start(t, newEngine(t), o)
	eval(t, vm, `const r = await call(); typeof r`)
	for _, bad := range []string{`{`, `{"$ringd":"function"}`, `{"$ringd":"ref","id":1}`,
		strings.Repeat("[", 200) + strings.Repeat("]", 200), `"` + strings.Repeat("x", 4000) + `"`} {
		if err := vm.Settle(t.Context(), 1, engine.Answer{Value: json.RawMessage(bad)}); !errors.Is(
			err, engine.ErrValue) {
			t.Errorf("%.50s: %v", bad, err)
		}
	}
	if err := vm.Settle(t.Context(), 2, engine.Answer{}); !errors.Is(err, engine.ErrNoCall) {
		t.Errorf("a call that is not there: %v", err)
	}
	if err := vm.Settle(t.Context(), 1, engine.Answer{}); err != nil {
		t.Fatal(err)
	}
	if err := vm.Settle(t.Context(), 1, engine.Answer{}); !errors.Is(err, engine.ErrNoCall) {
		t.Errorf("a call settled twice: %v", err)
	}
	if s := run(t, vm); string(s.Value) != `"undefined"` {
		t.Errorf("got %s %v", s.Value, s.Exception)
	}
}

// The first object of a value may be met again at any place.
func TestFirstObjectAgain(t *testing.T) {
	e := newEngine(t)
	for source, want := range map[string]string{
		`const o = {}; o.o = o; o`:                                  `{"$ringd":"object","id":1,"value":{"o":{"$ringd":"ref","id":1}}}`,
		`const o = { a: {} }; o.b = [o]; o`:                         `{"$ringd":"object","id":1,"value":{"a":{},"b":[{"$ringd":"ref","id":1}]}}`,
		`const a = {}; [a, a]`:                                      `[{"$ringd":"object","id":1,"value":{}},{"$ringd":"ref","id":1}]`,
		`({ a: 1, b: { c: 2 }, d: [{}] })`:                          `{"a":1,"b":{"c":2},"d":[{}]}`,
		`const o = {}; const m = new Map([[o, o]]); m.set(m, 1); m`: `{"$ringd":"map","id":1,"value":[[{"$ringd":"object","id":2,"value":{}},{"$ringd":"ref","id":2}],[{"$ringd":"ref","id":1},1]]}`,
	} {
		if s := eval(t, start(t, e, options()), source); string(s.Value) != want {
			t.Errorf("%s: %s %+v", source, s.Value, s.Exception)
		}
	}
}
