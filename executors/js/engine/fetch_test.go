package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/js/engine"
)

// fetching has the bridge fetch, and one that no program of these tests may reach.
func fetching() engine.Options {
	o := options()
	o.Bridges = []string{"tools.search", "fetch", "secret.spend"}
	return o
}

// asked is the value of a program whose fetch is answered once with text, and what
// the host was asked.
func asked(t *testing.T, vm *engine.VM, source, text string) (value, question string) {
	t.Helper()
	s := eval(t, vm, source)
	if calls := vm.TakeCalls(); len(calls) > 0 {
		if calls[0].Bridge != "fetch" || len(calls) != 1 {
			t.Fatalf("called %v", calls)
		}
		question = string(calls[0].Args)
		a := engine.Answer{Value: json.RawMessage(text)}
		if name, message, isError := strings.Cut(text, ": "); isError && text[0] != '{' {
			a = engine.Answer{Error: &engine.GuestError{Name: name, Message: message}}
		}
		if err := vm.Settle(t.Context(), calls[0].ID, a); err != nil {
			t.Fatal(err)
		}
		s = run(t, vm)
	}
	return said(s), question
}

const plain = `{"status":200,"statusText":"OK","url":"https://a.example/x","headers":{"content-type":"application/json"},"body":"{\"a\":[1]}"}`

func TestFetch(t *testing.T) {
	e := newEngine(t)
	const get = `[{"url":"https://a.example/x","method":"GET","headers":{}}]`
	tests := []struct{ name, source, answer, want, question string }{
		{"json", `(await (await fetch('https://a.example/x')).json()).a[0]`, plain, `1`, get},
		{"response", `const r = await fetch('https://a.example/x'); [r.ok, r.status, r.statusText, r.url, r.redirected, r.type, r.body, r.bodyUsed, r.headers.get('Content-Type'), r instanceof Response, String(r)]`, plain,
			`[true,200,"OK","https://a.example/x",false,"basic",null,false,"application/json",true,"[object Response]"]`, get},
		{"used twice", `const r = await fetch('https://a.example/x'); await r.text(); [r.bodyUsed, await r.json().catch(e => e.name + ': ' + e.message)]`, plain, `[true,"TypeError: the body is used already"]`, get},
		{"clone", `const r = await fetch('https://a.example/x'), c = r.clone(); [(await r.json()).a, (await c.json()).a, c.url, c.headers.get('content-type')]`, plain, `[[1],[1],"https://a.example/x","application/json"]`, get},
		{"bytes of a text", `const r = await fetch('https://a.example/x'); [...new Uint8Array(await r.arrayBuffer())]`, `{"body":"aé€😀"}`, `[97,195,169,226,130,172,240,159,152,128]`, get},
		{"text of bytes", `(await fetch('https://a.example/x')).text()`, `{"body":{"$ringd":"bytes","type":"Uint8Array","value":"77u/YcOp4oKs8J+YgP/gn+2gwMCA8J8="}}`, `"aé€😀` + strings.Repeat("\ufffd", 9) + `"`, get},
		{"bytes", `const b = await (await fetch('https://a.example/x')).bytes(); [b.constructor.name, b.length, b[1]]`, `{"body":{"$ringd":"bytes","type":"Uint8Array","value":"AQID"}}`, `["Uint8Array",3,2]`, get},
		{"a mark at the start", `const r = await fetch('https://a.example/x'); [(await r.clone().text()).length, (await r.clone().json()).length, (await r.bytes()).length]`, "{\"body\":\"\ufeff[]\"}", `[2,0,5]`, get},
		{"no body", `const r = await fetch('https://a.example/x'); [await r.text(), r.bodyUsed, r.status, r.ok]`, `{"status":404}`, `["",false,404,false]`, get},
		{"not JSON", `(await fetch('https://a.example/x')).json().catch(e => e.name)`, `{"body":"<html>"}`, `"SyntaxError"`, get},
		{"headers", `const r = await fetch('https://a.example/x'); [[...r.headers], r.headers.getSetCookie(), r.headers.has('X-A'), r.headers.get('none')]`,
			`{"headers":{"x-a":"1, 2","b":"3"},"setCookie":["s=1","t=2"]}`, `[[["b","3"],["set-cookie","s=1"],["set-cookie","t=2"],["x-a","1, 2"]],["s=1","t=2"],true,null]`, get},
		{"manual redirect", `const r = await fetch('https://a.example/x', { redirect: 'manual' }); [r.type, r.status, r.headers.get('location')]`,
			`{"status":302,"opaqueRedirect":true,"headers":{"location":"/y"}}`, `["opaqueredirect",302,"/y"]`, `[{"url":"https://a.example/x","method":"GET","headers":{},"redirect":"manual"}]`},

		{"post", `await fetch('https://a.example/x', { method: 'post', headers: { 'Content-Type': 'application/json', 'X-A': 1 }, body: JSON.stringify({ a: 1 }) }); 0`, plain, `0`,
			`[{"url":"https://a.example/x","method":"POST","headers":{"content-type":"application/json","x-a":"1"},"body":"{\"a\":1}"}]`},
		{"post of text", `await fetch('https://a.example/x', { method: 'PATCH', body: 'é' }); 0`, plain, `0`,
			`[{"url":"https://a.example/x","method":"PATCH","headers":{"content-type":"text/plain;charset=UTF-8"},"body":"é"}]`},
		{"post of a form", `await fetch('https://a.example/x', { method: 'POST', body: new URLSearchParams({ a: '1 2', b: 'é&' }) }); 0`, plain, `0`,
			`[{"url":"https://a.example/x","method":"POST","headers":{"content-type":"application/x-www-form-urlencoded;charset=UTF-8"},"body":"a=1+2&b=%C3%A9%26"}]`},
		{"post of bytes", `await fetch('https://a.example/x', { method: 'PUT', body: new Uint16Array([1, 2]).subarray(1) }); 0`, plain, `0`,
			`[{"url":"https://a.example/x","method":"PUT","headers":{},"body":{"$ringd":"bytes","type":"Uint8Array","value":"AgA="}}]`},
		{"post of a buffer", `await fetch('https://a.example/x', { method: 'POST', body: new Uint8Array([1, 2]).buffer }); 0`, plain, `0`,
			`[{"url":"https://a.example/x","method":"POST","headers":{},"body":{"$ringd":"bytes","type":"Uint8Array","value":"AQI="}}]`},
		{"headers in every form", `await fetch('https://a.example/x', { headers: new Map([['A', 1], ['a', ' 2 ']]) }); 0`, plain, `0`, `[{"url":"https://a.example/x","method":"GET","headers":{"a":"1, 2"}}]`},
		{"headers in pairs", `await fetch('https://a.example/x', { headers: new Headers([['A', '1'], ['B', '2']]) }); 0`, plain, `0`, `[{"url":"https://a.example/x","method":"GET","headers":{"a":"1","b":"2"}}]`},
		{"a header called __proto__", `await fetch('https://a.example/x', { headers: [['__proto__', '1']] }); 0`, plain, `0`, `[{"url":"https://a.example/x","method":"GET","headers":{"__proto__":"1"}}]`},
		{"what browsers know and is ignored", `await fetch('https://a.example/x', { mode: 'cors', credentials: 'include', cache: 'no-store', keepalive: true, referrerPolicy: 'origin', priority: 'high', duplex: 'half', signal: null, body: null }); 0`, plain, `0`, get},
		{"a URL", `const u = new URL('/x', 'https://A.example:443'); await fetch(u); 0`, plain, `0`, get},
		{"a Request", `const q = new Request('https://a.example/x', { method: 'POST', body: 'b', headers: { a: '1' } }); await fetch(q, { headers: { c: '2' } }); [q.method, q.bodyUsed, q.headers.get('a')]`, plain, `["POST",true,"1"]`,
			`[{"url":"https://a.example/x","method":"POST","headers":{"c":"2"},"body":"b"}]`},

		{"refusal", `await fetch('https://a.example/x').catch(e => [e.name, e instanceof CapabilityDenied, e.message, e.stack])`, `CapabilityDenied: fetch: egress.not_granted: no entry (call c1)`,
			`["CapabilityDenied",true,"fetch: egress.not_granted: no entry (call c1)","    at <eval> (p.js:1:6)\n"]`, get},
		{"failure of the network", `await fetch('https://a.example/x').catch(e => [e.name, e.message])`, `TypeError: fetch: it cannot be reached (call c1)`, `["TypeError","fetch failed: it cannot be reached (call c1)"]`, get},
		{"failure of the bridge", `await fetch('https://a.example/x').catch(e => [e.name, e.message])`, `BridgeError: fetch: did not answer in time (call c1)`, `["TypeError","fetch failed: did not answer in time (call c1)"]`, get},
		{"too large", `await fetch('https://a.example/x').catch(e => e.name)`, `ResultTooLarge: fetch: x`, `"ResultTooLarge"`, get},
		{"budget", `await fetch('https://a.example/x').catch(e => e.name)`, `BudgetExceeded: fetch: x`, `"BudgetExceeded"`, get},
		{"no answer at all", `await fetch('https://a.example/x').catch(e => [e.name, e.message])`, `[1]`, `["TypeError","fetch failed: the answer is no response"]`, get},
		{"a body of another kind", `await fetch('https://a.example/x').catch(e => [e.name, e.message])`, `{"body":{"a":1}}`, `["TypeError","fetch failed: the answer has no body of text or bytes"]`, get},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, question := asked(t, start(t, e, fetching()), tt.source, tt.answer)
			if diff := cmp.Diff([]string{tt.want, tt.question}, []string{value, question}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFetchArguments: what is not a request never becomes a call.
func TestFetchArguments(t *testing.T) {
	e := newEngine(t)
	tests := []struct{ args, want string }{
		{``, `TypeError: not an absolute URL: "undefined"`},
		{`'/x'`, `TypeError: not an absolute URL: "/x"`},
		{`'file:///etc/passwd'`, `TypeError: only http and https can be fetched: "file:///etc/passwd"`},
		{`' data:text/plain,1'`, `TypeError: only http and https can be fetched: " data:text/plain,1"`},
		{`Symbol()`, `TypeError: a symbol is no text`},
		{`'http://a.b', 1`, `TypeError: the second argument is an object`},
		{`'http://a.b', { method: 'CONNECT' }`, `TypeError: the method CONNECT cannot be fetched`},
		{`'http://a.b', { method: 'trace' }`, `TypeError: the method TRACE cannot be fetched`},
		{`'http://a.b', { method: 'GET /x HTTP/1.1\r\nA: ' }`, `TypeError: not a method: "GET /x HTTP/1.1\r\nA: "`},
		{`'http://a.b', { body: 'x' }`, `TypeError: a request with GET has no body`},
		{`'http://a.b', { method: 'POST', body: { a: 1 } }`, `TypeError: a body is a string, an ArrayBuffer or a view of one, or URLSearchParams; JSON.stringify makes a string of an object`},
		{`'http://a.b', { headers: { 'a b': '1' } }`, `TypeError: not a name of a header: "a b"`},
		{`'http://a.b', { headers: { a: '1\r\nb: 2' } }`, `TypeError: not a value of a header: "1\r\nb: 2"`},
		{`'http://a.b', { headers: { a: '€' } }`, `TypeError: not a value of a header: "€"`},
		{`'http://a.b', { headers: { Host: 'c.d' } }`, `TypeError: the header 'host' is the host's to set`},
		{`'http://a.b', { headers: { 'Transfer-Encoding': 'chunked' } }`, `TypeError: the header 'transfer-encoding' is the host's to set`},
		{`'http://a.b', { headers: { 'proxy-authorization': 'x' } }`, `TypeError: the header 'proxy-authorization' is the host's to set`},
		{`'http://a.b', { headers: [['a']] }`, `TypeError: each item has to be a name and a value`},
		{`'http://a.b', { headers: 'a: b' }`, `TypeError: headers are an object, a list of pairs, or Headers`},
		{`'http://a.b', { headers: { *[Symbol.iterator]() { for (;;) yield ['a', 'b'] } } }`, `TypeError: more than 10000 items`},
		{`'http://a.b', { redirect: 'maybe' }`, `TypeError: redirect is 'follow', 'error' or 'manual'`},
		{`'http://a.b', { signal: {} }`, `TypeError: signal is not an AbortSignal`},
		{`'http://a.b', { integrity: 'sha256-x' }`, `TypeError: init.integrity is not supported`},
		{`'http://a.b', { agent: {} }`, `TypeError: init.agent is not supported`},
		{`'http://a.b', { get method() { throw new RangeError('mine') } }`, `RangeError: mine`},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			vm := start(t, e, fetching())
			got, question := asked(t, vm, `const p = fetch(`+tt.args+
				`); const e = await p.catch(e => e); e.name + ': ' + e.message`, plain)
			var text string
			if err := json.Unmarshal([]byte(got), &text); err != nil || text != tt.want || question != "" {
				t.Errorf("got %s, want %s; asked %s", got, tt.want, question)
			}
		})
	}
}

// TestFetchIsGranted: without the grant nothing of it exists, and what a policy
// denies is gone.
func TestFetchIsGranted(t *testing.T) {
	e := newEngine(t)
	const names = `['fetch', 'Headers', 'Request', 'Response', 'AbortController', 'AbortSignal', 'DOMException', 'URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder', '__fetch'].filter(n => n in globalThis).join()`
	o := options()
	o.Bridges = []string{"tools.fetch", "fetch.all"}
	if s := eval(t, start(t, e, o), names); string(s.Value) != `"fetch"` {
		t.Errorf("with other bridges: %s", s.Value)
	}
	if s := eval(t, start(t, e, fetching()), names); string(
		s.Value) != `"fetch,Headers,Request,Response,AbortController,AbortSignal,DOMException,URL,URLSearchParams,TextEncoder,TextDecoder"` {
		t.Errorf("with the grant: %s", s.Value)
	}
	o = fetching()
	o.DenyGlobals = []string{"Headers", "URL"}
	if s := eval(t, start(t, e, o),
		`[typeof Headers, typeof URL, typeof (await fetch('/x').catch(() => 1)), Object.keys(globalThis)]`); string(s.Value) != `["undefined","undefined","number",["tools","fetch","secret","inputs"]]` {
		t.Errorf("denied: %s", s.Value)
	}
	vm := start(t, e, fetching())
	eval(t, vm, `0`)
	o.DenyGlobals = []string{"Response"}
	if s := eval(t, restored(t, e, takeSnapshot(t, vm), o), `typeof Response`); string(s.Value) != `"undefined"` {
		t.Errorf("denied at a restore: %s", s.Value)
	}
	o = options()
	o.Bridges = []string{"fetch", "Headers"}
	if _, err := e.Start(t.Context(), o); err == nil {
		t.Error("two owners of one name")
	}
}

func TestFetchAbort(t *testing.T) {
	e := newEngine(t)
	tests := []struct{ name, source, answer, want string }{
		{"before", `await fetch('http://a.b', { signal: AbortSignal.abort() }).catch(e => [e.name, e.code, e instanceof DOMException, e instanceof Error])`, plain, `["AbortError",20,true,true]`},
		{"with a reason", `await fetch('http://a.b', { signal: AbortSignal.abort('why') }).catch(e => e)`, plain, `"why"`},
		{"while it is open", `const c = new AbortController(); const p = fetch('http://a.b', { signal: c.signal }); c.abort(); await p.catch(e => e.name)`, plain, `"AbortError"`},
		{"listeners", `const c = new AbortController(), seen = []; const f = e => seen.push(e.type, e.target === c.signal); c.signal.addEventListener('abort', f); c.signal.addEventListener('abort', f); c.signal.onabort = () => seen.push('on');
			c.signal.addEventListener('abort', { handleEvent() { seen.push('h') } }); const g = () => seen.push('never'); c.signal.addEventListener('abort', g); c.signal.removeEventListener('abort', g); c.abort(); c.abort(); [seen, c.signal.aborted, c.signal.reason.name]`, plain,
			`[["on","abort",true,"h"],true,"AbortError"]`},
		{"any", `const a = new AbortController(), b = new AbortController(), s = AbortSignal.any([a.signal, b.signal]); const p = fetch('http://a.b', { signal: s }); b.abort(new RangeError('b')); [s.aborted, await p.catch(e => e.message)]`, plain, `[true,"b"]`},
		{"a time that is over", `const p = fetch('http://a.b', { signal: AbortSignal.timeout(50) }); await p.catch(e => [e.name, e.code])`, `TimeoutError: fetch: took too long (call c1)`, `["TimeoutError",23]`},
		{"a time that has been over", `await fetch('http://a.b', { signal: AbortSignal.timeout(0) }).catch(e => e.name)`, plain, `"TimeoutError"`},
		{"in time", `(await fetch('http://a.b', { signal: AbortSignal.timeout(50) })).status`, plain, `200`},
		{"nobody makes one", `try { new AbortSignal() } catch (e) { e.name }`, plain, `"TypeError"`},
		{"throwIfAborted", `try { AbortSignal.abort().throwIfAborted() } catch (e) { e.name }`, plain, `"AbortError"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if value, _ := asked(t, start(t, e, fetching()), tt.source, tt.answer); value != tt.want {
				t.Errorf("got %s, want %s", value, tt.want)
			}
		})
	}
	_, question := asked(t, start(t, e, fetching()), `await fetch('http://a.b', { signal: AbortSignal.timeout(50) })`,
		plain)
	if !strings.Contains(question, `"timeout":50`) {
		t.Errorf("the host does not learn of the time: %s", question)
	}
	s := eval(t, start(t, e, fetching()),
		`const c = new AbortController(); c.signal.onabort = () => { throw new Error('loud') }; c.abort(); await 0; 1`)
	if string(s.Value) != "1" || len(s.Unhandled) != 1 {
		t.Errorf("what a listener throws: %+v", s)
	}
}

// TestFetchOverAPause: all of it is state of the program.
func TestFetchOverAPause(t *testing.T) {
	e := newEngine(t)
	vm := start(t, e, fetching())
	s := eval(t, vm, `const c = new AbortController(), h = new Headers({ a: '1' }), u = new URL('https://a.example/p?q=1'), kept = new Response('kept');
		const open = fetch('https://a.example/late', { signal: c.signal }).catch(e => e.name);
		const r = await fetch('https://a.example/x'); h.append('a', '2'); u.searchParams.set('q', '2'); c.abort();
		[(await r.json()).a[0], h.get('A'), u.href, await kept.text(), await open, r instanceof Response]`)
	if s.Status != engine.StatusWaiting || len(vm.TakeCalls()) != 2 {
		t.Fatalf("%+v", s)
	}
	vm = restored(t, e, takeSnapshot(t, vm), fetching())
	if err := vm.Settle(t.Context(), 2, engine.Answer{Value: json.RawMessage(plain)}); err != nil {
		t.Fatal(err)
	}
	if got, want := said(run(t, vm)), `[1,"1, 2","https://a.example/p?q=2","kept","AbortError",true]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	vm = restored(t, e, takeSnapshot(t, vm), fetching())
	if value, _ := asked(t, vm, `(await fetch('https://a.example/x')).status + new Headers({ a: '1' }).get('a')`,
		plain); value != `"2001"` {
		t.Errorf("in a later program: %s", value)
	}
}

// TestFetchForging runs programs that try to act through fetch as another bridge,
// to get hold of what it is made of, or to have it send what was not asked for. Each
// returns null when it got nothing.
func TestFetchForging(t *testing.T) {
	e := newEngine(t)
	const steal = `let stolen = null; const loud = (k) => function (...a) { stolen ??= k; };
		const poison = (o, keys) => { for (const k of keys) Object.defineProperty(o, k, { __proto__: null, configurable: true, set(v) { stolen ??= String(k) }, get() { stolen ??= 'get ' + String(k) } }) };
		const p0 = Promise; const go = () => fetch('https://a.example/x', { method: 'POST', headers: { a: '1' }, body: 'b', signal: new AbortController().signal });
		`
	wraps := func(c string) string {
		return `for (const C of [` + c +
			`]) for (const k of Reflect.ownKeys(C.prototype)) { const d = Object.getOwnPropertyDescriptor(C.prototype, k); if (k !== 'constructor' && d.configurable) try { Object.defineProperty(C.prototype, k, { __proto__: null, configurable: true, get() { stolen ??= C.name + '.' + String(k); return d.get ? Reflect.apply(d.get, this, []) : d.value } }) } catch {} }`
	}
	tests := []struct{ name, source string }{
		{"methods of built-ins", wraps(`Map, Set, WeakMap, String, RegExp, Date, ArrayBuffer, Uint8Array, Object.getPrototypeOf(Uint8Array)`) + `go(); new URLSearchParams('a=1').toString(); new URL('https://a.b/c?d'); stolen`},
		{"methods of its own classes", wraps(`Headers, Request, Response, AbortController, AbortSignal, URL, URLSearchParams`) + `const q = Reflect.construct(Headers, [{ a: '1' }]); fetch('https://a.example/x', { headers: q, method: 'POST', body: 'b' }); stolen`},
		{"globals", `const s = new AbortController().signal; for (const k of ['Headers', 'Request', 'Response', 'AbortSignal', 'URL', 'Map', 'Promise', 'Error', 'TypeError', 'String', 'Uint8Array', 'JSON', 'Reflect', 'Object', 'Array', 'DOMException']) globalThis[k] = loud(k);
			fetch('https://a.example/x', { headers: { a: '1' }, signal: s }); stolen`},
		{"parents of its classes", `const s = new AbortController().signal; for (const C of [Headers, Response, Request, AbortSignal, DOMException]) Object.setPrototypeOf(C, loud(C.name)); fetch('https://a.example/x', { headers: { a: '1' }, signal: s }).catch(() => {}); stolen`},
		{"names in Object.prototype", `poison(Object.prototype, ['url', 'headers', 'body', 'redirect', 'timeout', 'status', 'data', 'used', 'head', 'tail', 'signal', 'fetch', 'is', 'make', 'index', 'AT', '0', '1', '5']); fetch('https://a.example/x'); stolen`},
		{"places in Array.prototype", `poison(Array.prototype, ['0', '1', '2', '3', '4', '5', '6']); go(); new Headers([['a', 'b']]); [...[]]; stolen`},
		{"iterators", `Array.prototype[Symbol.iterator] = Map.prototype[Symbol.iterator] = loud('iterator'); fetch('https://a.example/x', { headers: [['a', '1']] }); stolen`},
		{"then", `const was = Promise.prototype.then; Promise.prototype.then = loud('then'); go(); Promise.prototype.then = was; stolen`},
		{"an init whose getters change", `let n = 0; const init = { get method() { return n++ ? 'DELETE' : 'POST' }, get body() { return 'b' } }; fetch('https://a.example/x', init); n === 1 ? stolen : 'read ' + n`},
		{"a url that changes", `let n = 0; fetch({ toString() { return n++ ? 'https://evil.example/' : 'https://a.example/x' } }, { method: 'POST' }); n === 1 ? stolen : 'read ' + n`},
		{"getters that fetch", `let inner; const init = { method: 'POST', get headers() { inner ??= fetch('https://a.example/x', { method: 'POST' }); return {} } }; fetch('https://a.example/x', init); stolen`},
		{"a proxy of init", `const seen = []; const init = new Proxy({ method: 'POST' }, { get(o, k, r) { if (r !== init) stolen = 'receiver'; return o[k] }, ownKeys(o) { return Reflect.ownKeys(o) } }); fetch('https://a.example/x', init); stolen`},
		{"a proxy of Headers", `try { fetch('https://a.example/x', { method: 'POST', headers: new Proxy(new Headers({ host: 'evil' }), {}) }).catch(() => {}); } catch { } fetch('https://a.example/x', { method: 'POST' }); stolen`},
		{"headers that are changed later", `const h = new Headers(), q = new Request('https://a.example/x', { method: 'POST', headers: h }); fetch(q); h.set('host', 'evil'); q.headers.set('host', 'evil'); stolen`},
		{"headers of a request", `const q = new Request('https://a.example/x', { method: 'POST' }); q.headers.set('host', 'evil'); fetch(q).catch(() => {}); fetch('https://a.example/x', { method: 'POST' }); stolen`},
		{"receivers", `for (const C of [Headers, Request, Response, AbortController, AbortSignal, URL, URLSearchParams]) for (const k of Reflect.ownKeys(C.prototype)) { const d = Object.getOwnPropertyDescriptor(C.prototype, k), f = d.get ?? d.value; if (typeof f === 'function' && k !== 'constructor' && k !== 'toString') try { Reflect.apply(f, { __proto__: C.prototype }, ['a', 'b']); if (C !== Response) stolen = C.name + '.' + String(k) } catch (e) { if (e.name !== 'TypeError') stolen = e.name } } go(); stolen`},
		{"callers", `const f = function () { try { stolen = String(f.caller ?? arguments.callee.caller ?? '') || null } catch {} }; const c = new AbortController(); c.signal.addEventListener('abort', f); c.abort(); new Headers({ a: '1' }).forEach(f); new URLSearchParams('a=1').forEach(f); new Headers({ get a() { f(); return '1' } }); go(); stolen`},
		{"text of fetch", `/hands|openCall|describe/.test(String(fetch)) ? String(fetch) : fetch.prototype !== undefined ? 'prototype' : (go(), stolen)`},
		{"every value that can be reached", `
			const seen = new Set(), names = /^(raw|ringd|openCall|settled|callOf|lastCall|hands|make|follow|reach|describeRequest)$/;
			const visit = (v, path) => {
				if ((typeof v !== 'object' && typeof v !== 'function') || v === null || seen.has(v)) return;
				seen.add(v);
				if (typeof v === 'function' && names.test(v.name) && v !== String.raw) stolen = path + ' is ' + v.name;
				for (const k of Reflect.ownKeys(v)) { const d = Object.getOwnPropertyDescriptor(v, k); visit(d.value, path + '.' + String(k)); visit(d.get, path); visit(d.set, path) }
				visit(Object.getPrototypeOf(v), path + '.__proto__');
			};
			const c = new AbortController(); visit(globalThis, 'globalThis'); visit(c.signal, 'signal'); visit(new Response('a'), 'response'); visit(new URL('https://a.b').searchParams, 'params'); visit(new Headers([['a', 'b']]).entries(), 'entries');
			visit(fetch('https://a.example/x', { method: 'POST', signal: c.signal }), 'promise'); visit(c.signal, 'signal'); stolen`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			vm := start(t, e, fetching())
			s := eval(t, vm, steal+tt.source)
			if string(s.Value) != "null" {
				t.Errorf("got %s %v", s.Value, s.Exception)
			}
			calls := vm.TakeCalls()
			for _, c := range calls {
				if c.Bridge != "fetch" || !strings.Contains(string(c.Args), `"url":"https://a.example/x"`) ||
					strings.Contains(string(c.Args), "evil") {
					t.Errorf("called %s %s", c.Bridge, c.Args)
				}
			}
			if len(calls) == 0 && !strings.Contains(tt.source, "get(o, k, r)") {
				t.Error("nothing was called")
			}
			for _, c := range calls {
				if err := vm.Settle(t.Context(), c.ID, engine.Answer{Value: json.RawMessage(plain)}); err != nil {
					t.Fatal(err)
				}
			}
			if s := run(t, vm); strings.Contains(said(s), "stolen") {
				t.Error(said(s))
			}
		})
	}
}

func TestURLs(t *testing.T) {
	e := newEngine(t)
	tests := []struct{ args, want string }{
		{`'https://Example.com'`, `https://example.com/`},
		{`'HTTP:\\\\example.com\\a\\..\\b'`, `http://example.com/b`},
		{`' https://example.com:443/a b?q=ä \'#x y'`, `https://example.com/a%20b?q=%C3%A4%20%27#x%20y`},
		{`'https://example.com:8443/%2e%2E/a/./b/../c/'`, `https://example.com:8443/a/c/`},
		{`'?q=2', 'https://example.com/a/b?q=1#f'`, `https://example.com/a/b?q=2`},
		{`'#g', 'https://example.com/a/b?q=1#f'`, `https://example.com/a/b?q=1#g`},
		{`'c/../../d', 'https://example.com/a/b/c'`, `https://example.com/a/d`},
		{`'//other.example/x', 'https://example.com'`, `https://other.example/x`},
		{`'https://[2001:DB8::1]:80/'`, `https://[2001:db8::1]:80/`},
		{`'https://a.example/😀\ud800'`, `https://a.example/%F0%9F%98%80%EF%BF%BD`},
		{`'https://user:pw@example.com/'`, `TypeError`},
		{`'ftp://example.com/'`, `TypeError`},
		{`'https://'`, `TypeError`},
		{`'https://exa mple.com'`, `TypeError`},
		{`'https://example.com:99999'`, `TypeError`},
		{`'https://ex%61mple.com'`, `TypeError`},
		{`'https://0x7f.1/'`, `TypeError`},
		{`'https://127.0.0.1/'`, `https://127.0.0.1/`},
		{`'/x'`, `TypeError`},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			s := eval(t, start(t, e, fetching()), `try { new URL(`+tt.args+`).href } catch (e) { e.name }`)
			if got := string(s.Value); got != `"`+tt.want+`"` {
				t.Errorf("got %s %v, want %s", got, s.Exception, tt.want)
			}
		})
	}
	s := eval(t, start(t, e, fetching()), `const u = new URL('https://a.example/p?b=2&a=1'); u.searchParams.append('c', 'x y'); u.searchParams.sort(); u.hash = 'h'; u.port = '8080'; u.pathname = 'n m'; u.hostname = 'B.example';
		const before = u.href; u.search = '?z=1'; const p = u.searchParams; p.delete('z'); [before, u.href, u.origin, p.size, URL.canParse('x'), URL.parse('https://c.example').host, JSON.stringify({ u }),
		[...new URLSearchParams([['a', '1'], ['a', '2']])], new URLSearchParams('?a=%zz+%41').get('a'), new URLSearchParams('a=1&b=2&a=3').getAll('a'), String(new URLSearchParams({ k: '*~' }))]`)
	want := `["https://b.example:8080/n%20m?a=1&b=2&c=x+y#h","https://b.example:8080/n%20m#h","https://b.example:8080",0,false,"c.example","{\"u\":\"https://b.example:8080/n%20m#h\"}",[["a","1"],["a","2"]],"%zz A",["1","3"],"k=*%7E"]`
	if got := said(s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
