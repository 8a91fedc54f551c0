package engine_test

import (
	"testing"

	"github.com/ringd/ringd/executors/js/engine"
)

// heaps are programs that wait, by what they hold.
func heaps() []struct{ name, source string } {
	return []struct{ name, source string }{
		{"small", `const user = { name: "a", tags: ["x", "y"] }; const seen = new Map(); class A { #n = 1; get() { return this.#n } } const a = new A();
			const found = await gate({ q: "what" }); seen.set(a, found); [user.name, a.get(), seen.size]`},
		{"2MB", `const o = []; for (let i = 0; i < 10000; i++) o.push({ id: i, name: "n" + i, tags: ["a", "b"] }); await gate(1); o.length`},
		{"23MB", `const o = []; for (let i = 0; i < 100000; i++) o.push({ id: i, name: "n" + i, tags: ["a", "b"] }); await gate(1); o.length`},
	}
}

func large() engine.Options {
	o := gated()
	o.HeapBytes = 128 << 20
	return o
}

func BenchmarkSnapshot(b *testing.B) {
	e := newEngine(b)
	for _, h := range heaps() {
		b.Run(h.name, func(b *testing.B) {
			vm, _ := paused(b, e, large(), h.source)
			var n int
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
