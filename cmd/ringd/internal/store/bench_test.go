package store_test

import (
	"fmt"
	"math/rand/v2"
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

// paused makes n runs that wait for one call of the harness.
func paused(b *testing.B, s *store.Store, n, size int) {
	b.Helper()
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := w + 1; i <= n; i += 32 {
				id := fmt.Sprintf("r%d", i)
				mustStart(b, s, newRun(id))
				mustOpenCall(b, s, pending(id, "c1", store.ByHarness))
				if size == 0 {
					continue
				}
				if _, err := s.PutPause(b.Context(), sized(id, 1, size), store.Change{}); err != nil {
					b.Error(err)
				}
				if _, err := s.Answer(b.Context(), id, "c1", store.Reply{By: "uid:5"}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// sized is a pause whose record has size bytes that nothing makes smaller.
func sized(run string, seq int64, size int) store.Pause {
	p := newPause(run, seq)
	body := make([]byte, size)
	var seed [32]byte
	copy(seed[:], fmt.Sprintf("%s/%d", run, seq))
	_, _ = rand.NewChaCha8(seed).Read(body)
	p.Sealed = body
	return p
}

func BenchmarkPutPause(b *testing.B) {
	for _, size := range []int{10 << 10, 300 << 10, 5 << 20} {
		for _, callers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%dK/%d", size>>10, callers), func(b *testing.B) {
				s := benchStore(b)
				paused(b, s, b.N, 0)
				p := sized("", 1, size)
				side(b, callers, func(i int64) error {
					own := p
					own.Run = fmt.Sprintf("r%d", i)
					_, err := s.PutPause(b.Context(), own, store.Change{Outcome: []byte("{}")})
					return err
				})
			})
		}
	}
}

func BenchmarkClaim(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := benchStore(b)
			paused(b, s, b.N, 200)
			side(b, callers, func(i int64) error {
				_, _, err := s.Claim(b.Context(), fmt.Sprintf("r%d", i), 1, "host")
				return err
			})
		})
	}
}

// BenchmarkCycle is one life of a pause: put, answer, claim, begin, and the end,
// which deletes it.
func BenchmarkCycle(b *testing.B) {
	for _, size := range []int{10 << 10, 300 << 10, 5 << 20} {
		b.Run(fmt.Sprintf("%dK/4", size>>10), func(b *testing.B) {
			s := benchStore(b)
			paused(b, s, b.N, 0)
			p := sized("", 1, size)
			side(b, 4, func(i int64) error {
				id := fmt.Sprintf("r%d", i)
				own := p
				own.Run = id
				if _, err := s.PutPause(b.Context(), own, store.Change{}); err != nil {
					return err
				}
				if _, err := s.Answer(b.Context(), id, "c1", store.Reply{By: "uid:5"}); err != nil {
					return err
				}
				if _, _, err := s.Claim(b.Context(), id, 1, "host"); err != nil {
					return err
				}
				if _, err := s.Begin(b.Context(), id, 1, "host", store.Change{}); err != nil {
					return err
				}
				_, err := s.Advance(b.Context(), id, store.Done, store.Change{Outcome: []byte("{}")})
				return err
			})
		})
	}
}
