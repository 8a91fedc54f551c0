package wasm_test

import (
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/wasm"
)

func benchmark(b *testing.B, e *wasm.Executor, source string) {
	for b.Loop() {
		out, err := e.Run(b.Context(), run(source), &executorstest.Host{})
		if err != nil || out.State != executors.StateDone {
			b.Fatalf("%+v %v", out, err)
		}
		b.ReportMetric(float64(out.Usage.CPU.Microseconds()), "program-cpu-us")
	}
}

// BenchmarkCold starts a process for each program.
func BenchmarkCold(b *testing.B) { benchmark(b, executor(b, nil), "1 + 1") }

// BenchmarkFib computes as the programs of docs/BENCHMARKS.md do.
func BenchmarkFib(b *testing.B) {
	benchmark(b, executor(b, nil), "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(24)")
}

// BenchmarkCalls makes a thousand calls of a bridge.
func BenchmarkCalls(b *testing.B) {
	benchmark(b, executor(b, nil), "import ringd\nfor i in range(1000): ringd.call('echo', i)")
}
