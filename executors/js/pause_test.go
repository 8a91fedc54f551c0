package js_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/js"
	"github.com/ringd/ringd/profiles"
)

// cold is an executor in which every part of a run has a process of its own.
func cold(t *testing.T) *js.Executor {
	return executor(t, func(c *js.Config) { c.Idle, c.PerKey, c.Reuse = 0, 0, 0 })
}

// ask gives the first argument back.
func ask(q executors.Question) executors.Answer {
	var args []json.RawMessage
	if err := json.Unmarshal(q.Args, &args); err != nil || len(args) == 0 {
		return executors.Answer{}
	}
	return executors.Answer{Value: args[0]}
}

// plain answers at once, as ask does.
var plain = host{ask: func(_ context.Context, q executors.Question) (executors.Answer, error) { return ask(q), nil }}

// hopping are programs that are as they were after each await, whatever process
// they are in. Each awaits at least twice.
var hopping = []struct{ name, source string }{
	{"closures and aliasing", `
		let n = 0; const inc = () => ++n; const a = { list: [] }; const b = { same: a.list }
		inc(); a.list.push(await echo(1)); inc(); b.same.push(await echo(2)); inc();
		[n, a.list, a.list === b.same]`},
	{"map, set, weakmap", `
		const k = {}, m = new Map([[k, 'm']]), s = new Set([k]), w = new WeakMap([[k, 'w']])
		await echo(1); m.set('late', await echo(2));
		[m.get(k), s.has(k), w.get(k), m.get('late'), m.size]`},
	{"private fields", `
		class Account { #balance = 0; static #made = 0; constructor() { Account.#made++ }
			async put(n) { this.#balance += await echo(n); return this } get total() { return this.#balance } static get made() { return Account.#made } }
		const a = new Account(); await a.put(40); await a.put(2); [a.total, Account.made]`},
	{"generators", `
		function* g() { let x = 1; for (;;) x += yield x }
		const it = g(); it.next(); it.next(await echo(4)); it.next(await echo(5)).value`},
	{"async generators", `
		async function* g() { for (let i = 0; i < 3; i++) yield await echo(i) }
		const out = []; for await (const v of g()) out.push(v); out`},
	{"regexp and bigint", `
		const re = /x(y)/g; const text = 'xy xy xy'; re.exec(text); const big = 12345678901234567890n
		await echo(1); const second = re.exec(text).index; await echo(2);
		[second, re.lastIndex, String(big * 2n)]`},
	{"typed arrays", `
		const buffer = new ArrayBuffer(8), bytes = new Uint8Array(buffer), view = new DataView(buffer)
		view.setUint16(0, await echo(258)); bytes[7] = await echo(9); [[...bytes], new Float64Array([1.5])[0]]`},
	{"all, race, allSettled", `
		const fast = Promise.resolve('fast')
		const all = Promise.all([echo(1), fast, echo(2)]), runners = [echo(3), echo(4)], race = Promise.race(runners), settled = Promise.allSettled([echo(5), Promise.reject('no')]);
		[await all, typeof await race, await Promise.all(runners), (await settled).map((r) => r.status)]`},
	{"try and finally", `
		const log = []
		async function f() { try { log.push('try'); await echo(1) } catch { log.push('never') } finally { log.push('finally'); await echo(2) } return log }
		await f()`},
	{"labels, destructuring, tagged templates", `
		const tag = (s, ...v) => s.raw.join('|') + v.join(','); let out = []
		outer: for (const [i, j] of [[0, 1], [1, 2], [2, 3]]) { for (;;) { const { v = 7 } = { v: await echo(i) }; if (v === 1) continue outer; out.push(v + j); break } }
		[out, tag` + "`a${await echo(8)}b`" + `]`},
	{"proxies, getters, symbols, frozen", `
		const p = new Proxy({}, { get: (_, k) => 'got ' + String(k) }), s = Symbol.for('ringd'), o = Object.freeze({ get x() { return seen++ }, [s]: 1 }); let seen = 0
		await echo(1); o.x; await echo(2); [p.y, o.x, o[Symbol.for('ringd')], Object.isFrozen(o)]`},
	{"errors", `
		const e = new RangeError('kept', { cause: 'why' }); await echo(1)
		try { await echo(2); throw e } catch (x) { [x === e, x instanceof RangeError, x.cause, x.message] }`},
	{"modules", `
		import { answer } from 'policy:math'
		const n = 'policy:counter'; const one = await import(n); one.next(); await echo(1)
		const two = await import(n); two.next(); await echo(2); const three = await import(n)
		export default [answer(), three.next(), one.self === three.self]`},
	{"typescript", `
		enum Colour { Red = 1, Blue }
		interface Point { x: number }
		class Box<T> { constructor(private readonly v: T) {} get(): T { return this.v } }
		const p: Point = { x: await echo(40) as number }; const b = new Box<number>(await echo(2));
		[p.x + b.get(), Colour[Colour.Blue]]`},
	{"typescript with modules", `
		import { seven } from 'policy:typed'
		const a: number = await echo(1), b: number = await echo(2)
		export default seven(a + b)`},
	{"console", `
		console.log('one'); await echo(1); console.warn('two'); await echo(2); console.log('three'); 3`},
}

// What a program is after two changes of process is what it is without.
func TestHops(t *testing.T) {
	e := cold(t)
	for _, tt := range hopping {
		t.Run(tt.name, func(t *testing.T) {
			r := program(tt.source, "echo")
			addModules(&r)
			if strings.Contains(tt.name, "typescript") {
				r.Program.Name = "plan.ts"
			}
			whole, err := e.Run(t.Context(), r, plain)
			if err != nil || whole.State != executors.StateDone {
				t.Fatalf("without a pause: %s %+v %v", whole.State, whole.Error, err)
			}
			out, hops, err := executorstest.Hop(t.Context(), e, r, ask)
			if err != nil || hops < 2 {
				t.Fatalf("after %d pauses: %v", hops, err)
			}
			if d := cmp.Diff(string(whole.Value), string(out.Value)); d != "" || out.State != executors.StateDone {
				t.Errorf("%s %+v\n%s", out.State, out.Error, d)
			}
			if d := cmp.Diff(whole.Console, out.Console); d != "" {
				t.Errorf("console\n%s", d)
			}
		})
	}
}

// A program that pauses again and again does not grow.
func TestHopsKeepTheirSize(t *testing.T) {
	e := executor(t, nil)
	r := program("let sum = 0; for (let i = 0; i < 300; i++) sum += await echo(i); sum", "echo")
	r.Limits.CPUMillis, r.Limits.WallMillis = ptr(60000), ptr(300000)
	var sizes []int
	for {
		g := &executorstest.Gate{}
		if r.Resume != nil {
			old := r.Resume.Open[0].Call
			g.Answer = func(q executors.Question) (executors.Answer, bool) { return ask(q), q.Call == old }
		}
		out, from, err := executorstest.Stopped(t.Context(), e, r, g)
		if err != nil {
			t.Fatal(err)
		}
		if from == nil {
			if out.State != executors.StateDone || string(out.Value) != "44850" {
				t.Errorf("%s %s %+v", out.State, out.Value, out.Error)
			}
			break
		}
		sizes = append(sizes, len(from.Snapshot))
		r.Resume = from
	}
	if first, last := sizes[10], sizes[len(sizes)-1]; len(sizes) != 300 || last > first+1024 {
		t.Errorf("%d pauses, from %d to %d bytes", len(sizes), first, last)
	}
}

// An error after a restore is at the author's line, whatever was translated.
func TestFramesAfterAPause(t *testing.T) {
	e := cold(t)
	boom := "// a\nexport function boom(o: any): number {\n  return o.p.y\n}\n"
	for _, tt := range []struct {
		name, file, source string
		change             func(*executors.Run) // between the parts
		want               []executors.Frame
	}{
		{"javascript", "plan.js", "const f = (x) => {\n  return x.y.z\n}\nawait echo(1)\n\nf({})", nil,
			[]executors.Frame{{Function: "f", File: "plan.js", Line: 2, Column: 10},
				{File: "plan.js", Line: 6, Column: 1}}},
		{"typescript", "plan.ts", "interface I { x: number }\nenum E { A }\nconst f = (x: any): I => {\n  return x.y.z as I\n}\nawait echo(1)\nf({})", nil,
			[]executors.Frame{{Function: "f", File: "plan.ts", Line: 4, Column: 10},
				{File: "plan.ts", Line: 7, Column: 1}}},
		{"in a joined module", "plan.js", "import { boom } from 'policy:boom'\nawait echo(1)\nboom({})", nil,
			[]executors.Frame{{Function: "boom", File: "policy:boom", Line: 3, Column: 10},
				{File: "plan.js", Line: 3, Column: 1}}},
		{"in a module loaded before", "plan.js", "const n = 'policy:boom'\nconst { boom } = await import(n)\nawait echo(1)\nboom({})", nil,
			[]executors.Frame{{Function: "boom", File: "policy:boom", Line: 3, Column: 10},
				{File: "plan.js", Line: 4, Column: 1}}},
		{"in a module loaded after", "plan.js", "const n = 'policy:boom'\nawait echo(1)\nconst { boom } = await import(n)\nboom({})", nil,
			[]executors.Frame{{Function: "boom", File: "policy:boom", Line: 3, Column: 10},
				{File: "plan.js", Line: 4, Column: 1}}},
		{"in a module that was changed since", "plan.js", "const n = 'policy:boom'\nconst { boom } = await import(n)\nawait echo(1)\nboom({})",
			func(r *executors.Run) { addModule(r, "policy:boom", "// b\n"+boom) },
			[]executors.Frame{{File: "plan.js", Line: 4, Column: 1}}},
		{"joined with a module that was changed since", "plan.js", "import { boom } from 'policy:boom'\nawait echo(1)\nboom({})",
			func(r *executors.Run) { addModule(r, "policy:boom", "// b\n"+boom) }, nil},
		{"joined with a module that is denied since", "plan.js", "import { boom } from 'policy:boom'\nawait echo(1)\nboom({})",
			func(r *executors.Run) { r.Agent.JS.Imports.Allow = nil }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := program(tt.source, "echo")
			r.Program.Name = tt.file
			addModules(&r)
			addModule(&r, "policy:boom", boom)
			out, from, err := executorstest.Stopped(t.Context(), e, r, &executorstest.Gate{})
			if err != nil || from == nil {
				t.Fatalf("%s %+v %v", out.State, out.Error, err)
			}
			if tt.change != nil {
				tt.change(&r)
			}
			r.Resume = from
			out, err = e.Run(t.Context(), r, plain)
			if err != nil || out.State != executors.StateFailed || out.Error.Name != "TypeError" {
				t.Fatalf("%s %+v %v", out.State, out.Error, err)
			}
			if d := cmp.Diff(tt.want, out.Error.Frames[:min(len(out.Error.Frames), max(len(tt.want), 1))]); d != "" {
				t.Errorf("%s: -want +got\n%s", out.Error.Message, d)
			}
			if len(out.Denials) > 0 {
				t.Errorf("a frame was looked up and made denials: %+v", out.Denials)
			}
		})
	}
}

// The rules of how a program may end hold after a pause as before.
func TestEndsAfterAPause(t *testing.T) {
	e := executor(t, nil)
	for _, tt := range []struct {
		name, source string
		change       func(*executors.Run) // between the parts
		state        executors.State
		want         string // error name, or value
	}{
		{"deadlock", "await echo(1); await new Promise(() => {})", nil, executors.StateLimit, "Deadlock"},
		{"a call that is dropped", "await echo(1); echo(2); 3", nil, executors.StateFailed, "UnawaitedCall"},
		{"an endless loop", "await echo(1); for (;;) {}", nil, executors.StateLimit, "Timeout"},
		{"memory", "await echo(1); const a = []; for (;;) a.push(new ArrayBuffer(1 << 18))", nil, executors.StateLimit, "OutOfMemory"},
		{"less memory than it holds", "const a = new Uint8Array(12 << 20).fill(7); await echo(1); a.length",
			func(r *executors.Run) { r.Limits.MemoryBytes = ptr(1 << 20) }, executors.StateLimit, "OutOfMemory"},
		{"an import that is refused", "await echo(1); await import('requests')", nil, executors.StateDenied, "ImportDenied"},
		{"an import that was allowed when it paused", "await echo(1); const n = 'policy:math'; (await import(n)).answer()",
			func(r *executors.Run) { r.Agent.JS.Imports.Allow = nil }, executors.StateDenied, "ImportDenied"},
		{"a bridge that was granted since", "await echo(1); typeof later",
			func(r *executors.Run) { r.Agent.Bridges["later"] = profiles.Bridge{Name: "later"} }, executors.StateDone,
			`"undefined"`},
		{"a global that is denied since and was made permanent", "Object.defineProperty(globalThis, 'eval', { configurable: false }); await echo(1)",
			func(r *executors.Run) { r.Agent.JS.DenyGlobals = []profiles.ImportRule{{Name: "eval"}} },
			executors.StateDenied, "CapabilityRevoked"},
		{"a trap in a global that is denied since", "globalThis.eval = new Proxy(function () {}, { getOwnPropertyDescriptor() { console.log('ran'); echo(2) } }); await echo(1); 4",
			func(r *executors.Run) { r.Agent.JS.DenyGlobals = []profiles.ImportRule{{Name: "eval"}} },
			executors.StateDone, "4"},
		{"a result that is too large", "await echo(1); 'x'.repeat(2 << 20)", nil, executors.StateLimit, "ResultTooLarge"},
		{"a pause cannot be caught", "const log = []; try { await echo(1) } catch { log.push('caught') } finally { log.push('finally') } log.join()", nil, executors.StateDone, `"finally"`},
		{"the clock goes on", "const a = Date.now(); await echo(1); Date.now() > a", nil, executors.StateDone, "true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := program(tt.source, "echo")
			addModules(&r)
			out, from, err := executorstest.Stopped(t.Context(), e, r, &executorstest.Gate{})
			if err != nil || from == nil {
				t.Fatalf("%s %+v %v", out.State, out.Error, err)
			}
			r.Resume = from
			r.Limits.CPUMillis = ptr(500)
			if tt.change != nil {
				tt.change(&r)
			}
			out, err = e.Run(t.Context(), r, plain)
			if err != nil {
				t.Fatal(err)
			}
			got := string(out.Value)
			if out.Error != nil {
				got = out.Error.Name
			}
			if out.State != tt.state || got != tt.want {
				t.Errorf("%s %s %+v, want %s %s", out.State, got, out.Error, tt.state, tt.want)
			}
		})
	}
}

// A guest that was taken over forges what the next one reads: that gives it no
// processor time. And a host whose clock is behind does not turn back a program's.
func TestForgedRecord(t *testing.T) {
	e := cold(t)
	r := program("for (let i = 0; i < 1e6; i++); const a = Date.now(); await echo(1); [Date.now() >= a, Date.now()]",
		"echo")
	out, from, err := executorstest.Stopped(t.Context(), e, r, &executorstest.Gate{})
	if err != nil || from == nil {
		t.Fatalf("%s %+v %v", out.State, out.Error, err)
	}
	forged := func(field string, digit byte) executors.Run {
		t.Helper()
		b := bytes.Clone(from.Snapshot)
		at := bytes.Index(b, []byte(`"`+field+`":`)) + len(field) + 3
		if at < len(field)+3 {
			t.Fatalf("no %s in the record", field)
		}
		for ; b[at] >= '0' && b[at] <= '9'; at++ {
			b[at] = digit
		}
		again, in := r, *from
		in.Snapshot = b
		again.Resume = &in
		return again
	}
	if _, err = e.Run(t.Context(), forged("cpu", '9'), plain); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "processor time") {
		t.Errorf("processor time: %v", err)
	}
	out, err = e.Run(t.Context(), forged("clock", '8'), plain) // as of a host that is centuries ahead
	if err != nil || string(out.Value) != "[true,8888888888888]" {
		t.Errorf("clock: %s %+v %v", out.Value, out.Error, err)
	}
}

// Output and denials are counted over all parts of a run, and reported once.
func TestCountsOverAPause(t *testing.T) {
	e := cold(t)
	const part = "for (let i = 0; i < 10; i++) { console.log('0123456789'); try { await import('requests') } catch " +
		"{} } "
	r := program(part+"await echo(1); "+part+"await echo(2); 1", "echo")
	r.Limits.OutputBytes = ptr(150)
	var lines int
	var dropped, bytes, denials int64
	for r.Resume = nil; ; {
		g := &executorstest.Gate{}
		if r.Resume != nil {
			old := r.Resume.Open[0].Call
			g.Answer = func(q executors.Question) (executors.Answer, bool) { return ask(q), q.Call == old }
		}
		out, from, err := executorstest.Stopped(t.Context(), e, r, g)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range out.Denials {
			denials += max(d.Count, 1)
		}
		dropped += out.Dropped
		for _, c := range out.Console {
			lines++
			if c.Seq != int64(lines) {
				t.Errorf("entry %d has number %d", lines, c.Seq)
			}
			if c.Level == "log" {
				bytes += int64(len(c.Text)) + 1
			}
		}
		if r.Resume = from; from == nil {
			break
		}
	}
	if bytes > 150 || bytes < 100 || dropped != 220-bytes || denials != 20 {
		t.Errorf("%d bytes, %d dropped, %d denials", bytes, dropped, denials)
	}
}

// A program that holds more than a snapshot may ends, typed; the bound is of what
// is left when it was packed.
func TestSnapshotTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("it packs 70 MiB")
	}
	const fill = "const a = new Uint8Array(2 << 20); let x = 1; for (let i = 0; i < a.length; i++) { x = (x * 48271) " +
		"% 2147483647; a[i] = x >> 8 }\n" +
		"const b = new Uint8Array(70 << 20); for (let i = 0; i < 35; i++) b.set(a, i << 21)\nawait echo(1)"
	r := program(fill, "echo")
	r.Limits.MemoryBytes, r.Limits.CPUMillis, r.Limits.WallMillis = ptr(96<<20), ptr(120000), ptr(300000)
	out, from, err := executorstest.Stopped(t.Context(), executor(t, nil), r, &executorstest.Gate{})
	if err != nil || from != nil || out.State != executors.StateLimit || out.Error.Name != "SnapshotTooLarge" ||
		out.Snapshot != nil {
		t.Errorf("%s %+v %d %v", out.State, out.Error, len(out.Snapshot), err)
	}
}

// The same for more unhandled rejections than anybody reads.
func TestTooManyRejections(t *testing.T) {
	r := program("for (let i = 0; i < 70000; i++) Promise.reject(i)\nawait echo(1)", "echo")
	out, from, err := executorstest.Stopped(t.Context(), executor(t, nil), r, &executorstest.Gate{})
	if err != nil || from != nil || out.State != executors.StateLimit || out.Error.Name != "SnapshotTooLarge" {
		t.Errorf("%s %+v %v", out.State, out.Error, err)
	}
}

// A program that holds much and pauses often is not ended for the time that takes.
func TestPausesCostAProgramNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it packs 16 MiB twelve times")
	}
	const fill = "const a = new Uint32Array(1 << 18); let x = 1; for (let i = 0; i < a.length; i++) { x ^= x << 13; " +
		"x ^= x >>> 17; x ^= x << 5; a[i] = x }\n" +
		"const b = []; for (let i = 0; i < 16; i++) b.push(a.slice())\nfor (let i = 0; i < 12; i++) await echo(i)\nb.length"
	r := program(fill, "echo")
	r.Limits.CPUMillis, r.Limits.WallMillis = ptr(1000), ptr(300000)
	out, hops, err := executorstest.Hop(t.Context(), executor(t, nil), r, ask)
	if err != nil || hops != 12 || out.State != executors.StateDone {
		t.Errorf("%s %+v after %d pauses: %v", out.State, out.Error, hops, err)
	}
}

// A process that paused one run may serve the same agent, actor and revision.
func TestReuseAfterAPause(t *testing.T) {
	e, c := counted(t, nil)
	r := program("await echo(1)", "echo")
	for range 3 {
		r.Resume = nil
		out, from, err := executorstest.Stopped(t.Context(), e, r, &executorstest.Gate{})
		if err != nil || from == nil {
			t.Fatalf("%s %+v %v", out.State, out.Error, err)
		}
		r.Resume = from
		if out, err = e.Run(t.Context(), r, plain); err != nil || string(out.Value) != "1" {
			t.Fatalf("%s %s %v", out.State, out.Value, err)
		}
	}
	if c.count() != 1 {
		t.Errorf("%d processes", c.count())
	}
	other := r
	other.Actor = "someone else"
	if _, err := e.Run(t.Context(), other, plain); err != nil || c.count() != 2 {
		t.Errorf("%d processes, %v", c.count(), err)
	}
}

// A guest that is killed on the way ends the run, typed.
func TestKillWhilePausing(t *testing.T) {
	e, c := counted(t, nil)
	r := program("const a = new Uint8Array(8 << 20).map((_, i) => i * 7); await echo(1); a[5]", "echo")
	wish := make(chan struct{}, 1)
	r.Pause = wish
	out, err := e.Run(t.Context(), r, &executorstest.Gate{Stop: func() {
		wish <- struct{}{}
		if err := c.guests[0].Kill(); err != nil {
			t.Error(err)
		}
	}})
	if err != nil || out.State != executors.StateFailed || out.Snapshot != nil || out.Error.Name != "PauseFailed" &&
		out.Error.Name != "GuestError" {
		t.Errorf("%s %+v %v", out.State, out.Error, err)
	}
	if out := mustRun(t, e, program("1 + 1")); string(out.Value) != "2" {
		t.Errorf("the next run: %s %+v", out.State, out.Error)
	}
}

// A guest that dies as it restores has run nothing: the pause can be tried again.
func TestGuestDiesRestoring(t *testing.T) {
	e, c := counted(t, nil)
	r := program("await echo(1)", "echo")
	_, from, err := executorstest.Stopped(t.Context(), e, r, &executorstest.Gate{})
	if err != nil || from == nil {
		t.Fatal(err)
	}
	r.Resume = from
	if err := c.guests[0].Kill(); err != nil { // while it waits: another takes the run
		t.Fatal(err)
	}
	out, err := e.Run(t.Context(), r, plain)
	if err != nil || string(out.Value) != "1" || c.count() != 2 {
		t.Errorf("%s %s %v after %d processes", out.State, out.Value, err, c.count())
	}
	bad := executor(t, func(c *js.Config) { c.Argv = []string{"/proc/self/exe", wrong + "restore"} })
	if d := warmDigest(t, bad); d != from.Engine {
		r.Resume = &executors.Resume{Engine: d, Snapshot: from.Snapshot, Open: from.Open}
	}
	out, err = bad.Run(t.Context(), r, plain)
	if !errors.Is(err, executors.ErrSnapshot) || out.State == executors.StateDone {
		t.Errorf("%s %v", out.State, err)
	}
}

func warmDigest(t *testing.T, e *js.Executor) string {
	t.Helper()
	if err := e.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e.Digest()
}

// A snapshot of another engine waits until a guest of that engine is configured.
func TestOlderEngine(t *testing.T) {
	real := cold(t)
	r := program("await echo(41) + 1", "echo")
	_, from, err := executorstest.Stopped(t.Context(), real, r, &executorstest.Gate{})
	if err != nil || from == nil {
		t.Fatal(err)
	}
	r.Resume = from
	self, silent := []string{"/proc/self/exe", verb}, []string{"/proc/self/exe", wrong + "silent"}
	newer := func(engines map[string][]string) *js.Executor {
		return executor(t, func(c *js.Config) { c.Argv, c.Engines = silent, engines })
	}
	for name, e := range map[string]*js.Executor{
		"none is configured":               newer(nil),
		"another one is configured":        newer(map[string][]string{"sha256:other": self}),
		"its guest has another":            newer(map[string][]string{from.Engine: silent}),
		"its guest is of another protocol": newer(map[string][]string{from.Engine: {"/proc/self/exe", wrong + "version"}}),
		"its guest is gone":                newer(map[string][]string{from.Engine: {"/nowhere/ringd", verb}}),
	} {
		out, err := e.Run(t.Context(), r, plain)
		if !errors.Is(err, executors.ErrEngine) || !strings.Contains(err.Error(), from.Engine) ||
			out.State == executors.StateDone {
			t.Errorf("%s: %s %v", name, out.State, err)
		}
	}
	e := newer(map[string][]string{from.Engine: self})
	for range 2 {
		out, err := e.Run(t.Context(), r, plain)
		if err != nil || string(out.Value) != "42" || out.Engine != from.Engine {
			t.Errorf("%s %s of %s: %v", out.State, out.Value, out.Engine, err)
		}
	}
	fresh := program("1 + 1")
	fresh.Limits.WallMillis = ptr(50) // its guests say nothing
	if out, err := e.Run(t.Context(), fresh, plain); err != nil || out.Engine == from.Engine {
		t.Errorf("a fresh run was given the older engine: %s %+v %v", out.State, out.Error, err)
	}
	if _, err := js.New(js.Config{Launcher: launcher(t), Argv: self, Go: func(f func()) {}, Now: time.Now,
		Engines: map[string][]string{"d": nil}}); err == nil {
		t.Error("an engine without a guest was taken")
	}
}

// Hostile guests, as processes: snapshots that nobody asked for, without end, or
// not there at all.
func TestHostileSnapshots(t *testing.T) {
	for how, want := range map[string]string{
		"unasked": "nobody asked for",
		"endless": fmt.Sprintf("over %d bytes", executors.MaxSnapshotBytes),
		"missing": "paused without a snapshot",
	} {
		t.Run(how, func(t *testing.T) {
			e := executor(t, func(c *js.Config) { c.Argv = []string{"/proc/self/exe", wrong + how} })
			r := program("1", "echo")
			out, from, err := executorstest.Stopped(t.Context(), e, r, &executorstest.Gate{})
			if err != nil || from != nil || out.State != executors.StateFailed || out.Snapshot != nil ||
				!strings.Contains(out.Error.Message, want) {
				t.Errorf("%s %+v %v, want %q", out.State, out.Error, err, want)
			}
		})
	}
}

// What a session keeps are names, functions and modules of all its programs, and
// the lines of each.
func TestSession(t *testing.T) {
	e := cold(t)
	n := &notebook{t: t, e: e}
	run := func(file, source string) executors.Outcome { t.Helper(); return n.run(file, source, nil) }
	value := func(want string, out executors.Outcome) {
		t.Helper()
		if out.State != executors.StateDone || string(out.Value) != want || out.Snapshot == nil {
			t.Errorf("%s %s %+v %s, want %s", out.State, out.Value, out.Error, out.Unkept, want)
		}
	}
	value("1", run("a.js", "globalThis.boom = (o) => {\n  return o.p.q\n}\nawait echo(1)"))
	value("2", run("a.js", "const n = 'policy:counter'; globalThis.count = await import(n); count.next(); count.next()"))
	value("3", run("b.ts", "enum E { A = 3 }\n;(globalThis as any).typed = (o: any): number => {\n  return o.p.q\n}\n"+
		"E.A"))
	value("[3,4]", run("a.js", "const m = 'policy:counter'; [(await import(m)).next(), await echo(4)]"))

	frames := func(out executors.Outcome) []executors.Frame {
		t.Helper()
		if out.State != executors.StateFailed || out.Error.Name != "TypeError" || out.Snapshot == nil {
			t.Fatalf("%s %s %+v %s", out.State, out.Value, out.Error, out.Unkept)
		}
		return out.Error.Frames
	}
	want := []executors.Frame{{File: "a.js", Line: 2, Column: 10}, {File: "a.js", Line: 3, Column: 1}}
	if d := cmp.Diff(want, frames(run("a.js", "\n\nboom({})"))); d != "" {
		t.Error(d)
	}
	// The typed one's own lines are not known any more, those of the caller are.
	want = []executors.Frame{{File: "c.ts", Line: 2, Column: 22}}
	if d := cmp.Diff(want, frames(run("c.ts", "type T = 1\n;(globalThis as any).typed({})"))); d != "" {
		t.Error(d)
	}

	// Names may be declared again, by either language, and are there for the next.
	value("1", run("a.js", "const again = 1; let { x } = { x: 2 }; class C { one() { return 1 } }; again"))
	value("4", run("a.js", "const again = await echo(3); again + new C().one()"))
	value("9", run("b.ts", "import { seven } from 'policy:typed'\nconst again: number = seven(x)\nexport default again"))
	value("11", run("a.js", "let x = again + 2; x"))

	// A program that did not begin or did not end keeps nothing; what was kept stands.
	for source, state := range map[string]executors.State{
		"import x from 'policy:base'; let = = 1": executors.StateFailed,
		"import x from 'requests'; x":            executors.StateDenied,
		"globalThis.count = 0; for (;;);":        executors.StateLimit,
		"globalThis.count = 0; echo(1); 2":       executors.StateFailed,
	} {
		r := program(source, "echo")
		addModules(&r)
		r.Session, r.Resume = true, n.in
		r.Limits.CPUMillis = ptr(200)
		out, err := e.Run(t.Context(), r, plain)
		if err != nil || out.State != state || out.Snapshot != nil || out.Unkept == "" {
			t.Errorf("%s: %s %+v %q %v", source, out.State, out.Error, out.Unkept, err)
		}
	}
	value("4", run("a.js", "count.next()"))

	// A run of a session pauses as any other.
	r := program("globalThis.late = await echo(5); await echo(6); late", "echo")
	addModules(&r)
	r.Session, r.Resume = true, n.in
	out, hops, err := executorstest.Hop(t.Context(), e, firstPart(t, e, r), ask)
	if err != nil || hops != 1 {
		t.Fatalf("%d pauses, %v", hops, err)
	}
	value("5", out)
	n.in = &executors.Resume{Engine: out.Engine, Snapshot: out.Snapshot, Session: true}
	value("10", run("a.js", "late + count.next()"))

	// A module is one for the session, and keeps its insides to itself.
	value("5", run("a.js", "let base = 5; base"))
	value("[42,6]", run("b.ts", "import { answer } from 'policy:math'\nimport * as counter from 'policy:counter'\n"+
		"export default [answer(), counter.next()]"))
	value("[5,7]", run("a.js", "import { next } from 'policy:counter'\n;[base, next()]"))
	want = []executors.Frame{{File: "b.ts", Line: 3, Column: 1}}
	if d := cmp.Diff(want, frames(
		run("b.ts", "import { answer } from 'policy:math'\ntype T = number\nnull.x, answer()"))); d != "" {
		t.Error(d)
	}

	// The last program of a session is one of it, and keeps its lines over a pause.
	last := program("import { next } from 'policy:counter'\nlet late: any = next()\nawait echo(late)\nlate.p.q", "echo")
	last.Program.Name = "b.ts"
	addModules(&last)
	last.Resume = n.in
	last = firstPart(t, e, last)
	out, err = e.Run(t.Context(), last, plain)
	want = []executors.Frame{{File: "b.ts", Line: 4, Column: 1}}
	if err != nil || out.State != executors.StateFailed || out.Snapshot != nil ||
		cmp.Diff(want, out.Error.Frames) != "" {
		t.Errorf("%s %+v %v", out.State, out.Error, err)
	}
}

// firstPart runs r to its pause and returns the run that goes on.
func firstPart(t *testing.T, e executors.Executor, r executors.Run) executors.Run {
	t.Helper()
	out, from, err := executorstest.Stopped(t.Context(), e, r, &executorstest.Gate{})
	if err != nil || from == nil {
		t.Fatalf("%s %+v %v", out.State, out.Error, err)
	}
	r.Resume = from
	return r
}

// playPause is the part of playWrong that meets a Pause or a Restore.
func playPause(how string, s *executors.Stream) int {
	part := executors.Part{Bytes: make([]byte, executors.PartBytes)}
	stop := executors.Result{End: executors.End{State: executors.StatePaused}}
	switch how {
	case "unasked":
		_ = s.Send(part)
	case "restore":
		return 5
	default:
		_ = s.Put(executors.Ask{Call: 1, Bridge: "echo", Args: []byte("[1]")})
		_ = s.Send(executors.Idle{})
		if _, err := s.Read(); err != nil { // Pause
			return 0
		}
		for how == "endless" && s.Send(part) == nil {
		}
		_ = s.Send(stop)
	}
	_, _ = s.Read()
	return 0
}
