package js_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
)

// Each benchmark reports the median beside the mean: on a busy machine the mean
// says what the others do.
func median(b *testing.B, unit string, took []time.Duration) {
	b.Helper()
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs/"+unit)
	b.ReportMetric(float64(took[len(took)/10].Microseconds()), "p10-µs/"+unit)
}

func timed(b *testing.B, e *js.Executor, r executors.Run, h executors.Host, want string) time.Duration {
	b.Helper()
	began := time.Now()
	out, err := e.Run(b.Context(), r, h)
	took := time.Since(began)
	if err != nil || string(out.Value) != want {
		b.Fatalf("%s %s %+v %v", out.State, out.Value, out.Error, err)
	}
	return took
}

// BenchmarkWarm is a run in a guest that served the same key before.
func BenchmarkWarm(b *testing.B) {
	e := executor(b, nil)
	timed(b, e, program("1 + 1"), host{}, "2")
	var took []time.Duration
	for b.Loop() {
		took = append(took, timed(b, e, program("1 + 1"), host{}, "2"))
	}
	median(b, "run", took)
}

// BenchmarkWarmTypeScript is the same with a translation.
func BenchmarkWarmTypeScript(b *testing.B) {
	e := executor(b, nil)
	r := program("enum E { A, B }\nconst x: number = E.B\nx + 1")
	r.Program.Name = "plan.ts"
	var took []time.Duration
	for b.Loop() {
		took = append(took, timed(b, e, r, host{}, "2"))
	}
	median(b, "run", took)
}

// BenchmarkCold is the start of a process with the compilation cache, and a run.
func BenchmarkCold(b *testing.B) {
	e := executor(b, func(c *js.Config) { c.Idle, c.PerKey, c.Reuse = 0, 0, 0 })
	timed(b, e, program("1 + 1"), host{}, "2") // fills the cache
	var took []time.Duration
	for b.Loop() {
		took = append(took, timed(b, e, program("1 + 1"), host{}, "2"))
	}
	median(b, "start", took)
}

// BenchmarkCall is one awaited call, host's answer included, from answer to
// answer.
func BenchmarkCall(b *testing.B) {
	e := executor(b, nil)
	const n = 2000
	r := program("for (let i = 0; i < 2000; i++) await echo(i)\n1", "echo")
	r.Limits.CPUMillis, r.Limits.WallMillis = ptr(60000), ptr(120000)
	var took []time.Duration
	var last time.Time
	h := host{ask: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		now := time.Now()
		if !last.IsZero() {
			took = append(took, now.Sub(last))
		}
		last = now
		return executors.Answer{Value: q.Args}, nil
	}}
	var guest time.Duration
	for b.Loop() {
		last = time.Time{}
		out, err := e.Run(b.Context(), r, h)
		if err != nil || string(out.Value) != "1" {
			b.Fatalf("%+v %v", out, err)
		}
		guest += out.Usage.CPU
	}
	median(b, "call", took)
	b.ReportMetric(float64(guest.Microseconds())/float64(b.N)/n, "guest-cpu-µs/call")
}
