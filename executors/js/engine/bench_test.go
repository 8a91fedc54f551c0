package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/js/engine"
)

func BenchmarkNewCold(b *testing.B) {
	newEngine(b)
	for b.Loop() {
		e, err := engine.New(b.Context(), engine.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewCached(b *testing.B) {
	newEngine(b)
	for b.Loop() {
		e, err := engine.New(b.Context(), engine.Config{CacheDir: cacheDir(b)})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFresh restores a VM, evaluates 1+1 and reads the result.
func BenchmarkFresh(b *testing.B) {
	for _, tt := range []struct {
		name    string
		copying bool
	}{{"cow", false}, {"copy", true}} {
		b.Run(tt.name, func(b *testing.B) {
			e, err := engine.New(b.Context(), engine.Config{CacheDir: cacheDir(b), CopyRestore: tt.copying})
			if err != nil {
				b.Skip(err)
			}
			defer e.Close(b.Context())
			o := options()
			o.Bridges = []string{"tools.search", "spawnSubagent", "readFile"}
			for b.Loop() {
				vm, err := e.Start(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				if s := eval(b, vm, "1+1"); string(s.Value) != "2" {
					b.Fatal(s)
				}
				vm.Close(b.Context())
			}
		})
	}
}

func BenchmarkEvalLive(b *testing.B) {
	vm := start(b, newEngine(b), unlimited())
	for b.Loop() {
		if s := eval(b, vm, "1+1"); string(s.Value) != "2" {
			b.Fatal(s)
		}
	}
}

// BenchmarkCall opens a call, takes it, settles it and runs the jobs.
func BenchmarkCall(b *testing.B) {
	o := unlimited()
	o.Bridges = []string{"search"}
	vm := start(b, newEngine(b), o)
	err := vm.Eval(b.Context(),
		engine.Program{Source: `for (;;) { const r = await search({ q: "what is it", n: 3 }); if (!r.hits) throw r }`})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		calls := vm.TakeCalls()
		if len(calls) != 1 {
			b.Fatal(vm.State(b.Context()))
		}
		if err := vm.Settle(b.Context(), calls[0].ID, engine.Answer{
			Value: json.RawMessage(`{"hits":[1,2,3],"more":false}`)}); err != nil {
			b.Fatal(err)
		}
		if _, err := vm.RunJobs(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(vm.Usage().Fuel)/float64(vm.Usage().Calls), "fuel/op")
}

func BenchmarkCompute(b *testing.B) {
	e := newEngine(b)
	for _, tt := range []struct{ name, source string }{
		{"fib25", `(function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) })(25)`},
		{"sort1e5", `const a = []; for (let i = 0, x = 1; i < 1e5; i++) { x = (x * 48271) % 2147483647; a.push(x) } a.sort((p, q) => p - q); a[0] < a[1]`},
		{"json", `const o = []; for (let i = 0; i < 20000; i++) o.push({ id: i, name: "n" + i, tags: ["a", "b"] }); JSON.parse(JSON.stringify(o)).length`},
		{"loop3e6", `let s = 0; for (let i = 0; i < 3e6; i++) s += i & 7; s`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				vm := start(b, e, unlimited())
				if s := eval(b, vm, tt.source); s.Status != engine.StatusDone {
					b.Fatal(s.Exception)
				}
				vm.Close(b.Context())
			}
		})
	}
}

// BenchmarkResult encodes 10,000 small objects.
func BenchmarkResult(b *testing.B) {
	e := newEngine(b)
	for b.Loop() {
		vm := start(b, e, unlimited())
		s := eval(b, vm, `const o = []; for (let i = 0; i < 10000; i++) o.push({ id: i, name: "n" + i, on: true }); o`)
		if s.Status != engine.StatusDone {
			b.Fatal(s.Exception)
		}
		b.SetBytes(int64(len(s.Value)))
		vm.Close(b.Context())
	}
}

func unlimited() engine.Options {
	o := options()
	o.Fuel = 0
	o.CPU = 1000 * time.Hour
	return o
}
