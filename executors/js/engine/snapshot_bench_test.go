//go:build unix

package engine_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/js/engine"
)

// processor reports the processor time of an operation: on a busy machine it says
// more than the wall clock.
func processor(b *testing.B) func() {
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := now()
	return func() { b.ReportMetric(float64(now()-began)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkSnapshot(b *testing.B) {
	e := newEngine(b)
	for _, h := range heaps() {
		b.Run(h.name, func(b *testing.B) {
			vm, _ := paused(b, e, large(), h.source)
			var n int
			defer processor(b)()
			for b.Loop() {
				n = len(takeSnapshot(b, vm))
			}
			b.ReportMetric(float64(n), "snapshot-B")
			b.ReportMetric(float64(vm.Usage().PeakBytes), "memory-B")
		})
	}
}

// BenchmarkRestore restores a VM, settles its call and runs to the end.
func BenchmarkRestore(b *testing.B) {
	e := newEngine(b)
	for _, h := range heaps() {
		b.Run(h.name, func(b *testing.B) {
			_, text := paused(b, e, large(), h.source)
			defer processor(b)()
			for b.Loop() {
				vm := restored(b, e, text, large())
				if s := answer(b, vm, 1, `1`); s.Status != engine.StatusDone {
					b.Fatal(s)
				}
				vm.Close(b.Context())
			}
		})
	}
}
