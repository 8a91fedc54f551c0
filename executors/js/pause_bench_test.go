package js_test

import (
	"context"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
)

// Programs of the benchmarks: one that holds nothing, one that holds 23 MB.
const (
	small = "const a = [1, 2, 3]; await echo(1); await echo(2); a.length"
	large = "const a = []; for (let i = 0; i < 100000; i++) a.push({ i, name: 'object ' + i, list: [i, i + 1] }); " +
		"await echo(1); await echo(2); a.length"
)

// benchmarkPause is from the wish to the outcome with the snapshot, in a guest
// that waits.
func benchmarkPause(b *testing.B, source string) {
	e := executor(b, nil)
	r := program(source, "echo")
	r.Limits.MemoryBytes, r.Limits.CPUMillis = ptr(96<<20), ptr(60000)
	var took []time.Duration
	var size int
	for b.Loop() {
		wish := make(chan struct{}, 1)
		var began time.Time
		r.Pause = wish
		out, err := e.Run(b.Context(), r, &executorstest.Gate{Stop: func() {
			began = time.Now()
			wish <- struct{}{}
		}})
		took = append(took, time.Since(began))
		if err != nil || out.State != executors.StatePaused {
			b.Fatalf("%s %+v %v", out.State, out.Error, err)
		}
		size = len(out.Snapshot)
	}
	median(b, "pause", took)
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkPause(b *testing.B)      { benchmarkPause(b, small) }
func BenchmarkPauseLarge(b *testing.B) { benchmarkPause(b, large) }

// benchmarkResume is from the snapshot to the next question of the program, in a
// guest that served the key before, or in one that has to be started.
func benchmarkResume(b *testing.B, source string, warm bool) {
	e := executor(b, nil)
	r := program(source, "echo")
	r.Limits.MemoryBytes, r.Limits.CPUMillis = ptr(96<<20), ptr(60000)
	_, from, err := executorstest.Stopped(b.Context(), e, r, &executorstest.Gate{})
	if err != nil || from == nil {
		b.Fatal(err)
	}
	r.Resume = from
	var took []time.Duration
	for b.Loop() {
		if !warm {
			e.Drop("another revision")
		}
		began := time.Now()
		h := host{ask: func(_ context.Context, q executors.Question) (executors.Answer, error) {
			if q.Call == "c2" {
				took = append(took, time.Since(began))
			}
			return executors.Answer{Value: q.Args}, nil
		}}
		if out, err := e.Run(b.Context(), r, h); err != nil || out.State != executors.StateDone {
			b.Fatalf("%s %+v %v", out.State, out.Error, err)
		}
	}
	median(b, "resume", took)
}

func BenchmarkResume(b *testing.B)      { benchmarkResume(b, small, true) }
func BenchmarkResumeCold(b *testing.B)  { benchmarkResume(b, small, false) }
func BenchmarkResumeLarge(b *testing.B) { benchmarkResume(b, large, true) }
