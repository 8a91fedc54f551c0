package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// side runs do b.N times over n callers.
func side(b *testing.B, n int, do func(i int64) error) {
	b.Helper()
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func benchStore(b *testing.B) *store.Store {
	b.Helper()
	cfg := config(b)
	cfg.Now = time.Now
	return mustOpen(b, cfg)
}

func BenchmarkStart(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := benchStore(b)
			side(b, callers, func(i int64) error { return s.Start(b.Context(), newRun(fmt.Sprintf("r%d", i))) })
		})
	}
}

func BenchmarkExecute(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := benchStore(b)
			mustStart(b, s, newRun("r1"))
			var wg sync.WaitGroup
			for w := range 64 {
				wg.Go(func() {
					for i := w + 1; i <= b.N; i += 64 {
						mustOpenCall(b, s, pending("r1", fmt.Sprintf("c%d", i), store.ByHost))
					}
				})
			}
			wg.Wait()
			side(b, callers, func(i int64) error {
				_, err := s.Execute(b.Context(), "r1", fmt.Sprintf("c%d", i), store.Head{})
				return err
			})
		})
	}
}

// BenchmarkLife is a run with one call of a host provider: four commits.
func BenchmarkLife(b *testing.B) {
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := benchStore(b)
			side(b, callers, func(i int64) error {
				id := fmt.Sprintf("r%d", i)
				if err := s.Start(b.Context(), newRun(id)); err != nil {
					return err
				}
				if _, err := s.OpenCall(b.Context(), executing(id, "c1")); err != nil {
					return err
				}
				if err := s.CloseCall(b.Context(), id, "c1", store.CallClosed, []byte("ok"), store.Head{}); err != nil {
					return err
				}
				_, err := s.Advance(b.Context(), id, store.Done, store.Change{Outcome: []byte("{}")})
				return err
			})
		})
	}
}
