package audit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

func BenchmarkAppend(b *testing.B) {
	for _, durability := range []audit.Durability{audit.Written, audit.Synced} {
		for _, writers := range []int{1, 16, 256} {
			name := map[audit.Durability]string{audit.Written: "written", audit.Synced: "synced"}[durability]
			b.Run(fmt.Sprintf("%s/%d", name, writers), func(b *testing.B) {
				ticker := time.NewTicker(50 * time.Millisecond)
				defer ticker.Stop()
				cfg := config(logDir(b))
				cfg.Now, cfg.Ticks = time.Now, ticker.C
				l := mustOpen(b, cfg)
				defer l.Close()
				r := callRecord(1)
				var left atomic.Int64
				left.Store(int64(b.N))
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for range writers {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if _, err := l.Append(b.Context(), r, durability); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			})
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	dir := logDir(b)
	cfg := config(dir)
	l := mustOpen(b, cfg)
	const records = 50_000
	for i := range records {
		mustAppend(b, l, callRecord(i), audit.Written)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		r := mustVerify(b, dir, audit.Check{Key: publicKey()})
		if r.Records != records {
			b.Fatalf("report %+v", r)
		}
	}
	b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
}
