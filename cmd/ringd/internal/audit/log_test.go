package audit_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
)

func testKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func publicKey() ed25519.PublicKey { return testKey().Public().(ed25519.PublicKey) }

// clock is a hand-driven clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func config(dir string) audit.Config {
	return audit.Config{Dir: dir, Key: testKey(), Now: newClock().Now, Ticks: make(chan time.Time)}
}

func logDir(t testing.TB) string { t.Helper(); return filepath.Join(t.TempDir(), "audit") }

func mustOpen(t testing.TB, cfg audit.Config) *audit.Log {
	t.Helper()
	l, err := audit.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustClose(t testing.TB, l *audit.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustAppend(t testing.TB, l *audit.Log, r audit.Record, d audit.Durability) audit.Head {
	t.Helper()
	h, err := l.Append(t.Context(), r, d)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func callRecord(n int) audit.Record {
	return audit.Record{
		Kind: audit.CallDecided, Generation: 4, Revision: "sha256:aa", Actor: "uid:1000", Agent: "default",
		Run: "r1", Call: fmt.Sprintf("c%d", n), Capability: "bridge:spawnSubagent",
		Digest: audit.Digest([]byte(`{"task":"x"}`)),
		Decision: &audit.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Reason: "granted",
			Rule: &profiles.Rule{File: "policy.yaml", Line: 12, Column: 5, Path: "spec.bridges[0]"}},
	}
}

func mustVerify(t testing.TB, dir string, c audit.Check) audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), dir, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func all(t testing.TB, dir string, f audit.Filter) []audit.Entry {
	t.Helper()
	var out []audit.Entry
	for e, err := range audit.Query(t.Context(), dir, f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestAppendKeepsWholeRecord(t *testing.T) {
	dir := logDir(t)
	l := mustOpen(t, config(dir))
	full := callRecord(1)
	full.Time = time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC)
	full.State = "executing"
	full.Full = json.RawMessage(`{"task":"x"}`)
	full.Fault = &audit.Fault{ID: "e1", Text: "open /etc/x: permission denied\n\x00\"}"}
	full.Detail = map[string]string{"why": "line\nbreak"}
	h1 := mustAppend(t, l, full, audit.Synced)
	h2 := mustAppend(t, l, audit.Record{Kind: audit.RunEnded}, audit.Written)
	mustClose(t, l)

	want := []audit.Entry{
		{Head: h1, Record: full},
		{Head: h2, Record: audit.Record{Kind: audit.RunEnded, Time: newClock().Now()}},
	}
	if diff := cmp.Diff(want, all(t, dir, audit.Filter{})); diff != "" {
		t.Error(diff)
	}
	r := mustVerify(t, dir, audit.Check{Key: publicKey(), Least: h2})
	if r.Head != h2 || r.Signed != 2 || r.Records != 2 || r.Torn != nil {
		t.Errorf("report %+v", r)
	}
}

func TestAppendRefuses(t *testing.T) {
	l := mustOpen(t, config(logDir(t)))
	defer l.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		rec  audit.Record
		want error
	}{
		{"no kind", t.Context(), audit.Record{}, audit.ErrRecord},
		{"unknown kind", t.Context(), audit.Record{Kind: "run_exploded"}, audit.ErrRecord},
		{"too large", t.Context(), audit.Record{Kind: audit.RunAsked, Agent: strings.Repeat("x", audit.MaxRecord)}, audit.ErrRecord},
		{"full is not JSON", t.Context(), audit.Record{Kind: audit.RunAsked, Full: json.RawMessage(`{"a":1}}`)}, audit.ErrRecord},
		{"caller is gone", gone, audit.Record{Kind: audit.RunAsked}, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := l.Append(tt.ctx, tt.rec, audit.Written); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	// A refused record takes no place, and the log is well.
	if h := mustAppend(t, l, audit.Record{Kind: audit.RunAsked}, audit.Synced); h.Seq != 1 {
		t.Errorf("sequence %d, want 1", h.Seq)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(t *testing.T, c *audit.Config)
		want string
	}{
		{"no folder", func(_ *testing.T, c *audit.Config) { c.Dir = "" }, "no folder"},
		{"no key", func(_ *testing.T, c *audit.Config) { c.Key = nil }, "no key"},
		{"no clock", func(_ *testing.T, c *audit.Config) { c.Now = nil }, "no clock"},
		{"no ticks", func(_ *testing.T, c *audit.Config) { c.Ticks = nil }, "never be synced"},
		{"tiny segments", func(_ *testing.T, c *audit.Config) { c.SegmentBytes = 100 }, "at least"},
		{"folder is open to others", func(t *testing.T, c *audit.Config) {
			if err := os.MkdirAll(c.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "chmod 700"},
		{"stray segment name", func(t *testing.T, c *audit.Config) {
			write(t, filepath.Join(c.Dir, "audit-1.jsonl"), nil)
		}, "not a segment"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(logDir(t))
			tt.edit(t, &cfg)
			l, err := audit.Open(t.Context(), cfg)
			if err == nil {
				l.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want %q in it", err, tt.want)
			}
		})
	}
	t.Run("in use", func(t *testing.T) {
		cfg := config(logDir(t))
		l := mustOpen(t, cfg)
		if _, err := audit.Open(t.Context(), cfg); !errors.Is(err, audit.ErrInUse) {
			t.Errorf("error %v, want ErrInUse", err)
		}
		mustClose(t, l)
		mustClose(t, mustOpen(t, cfg))
	})
	t.Run("another key", func(t *testing.T) {
		cfg := config(logDir(t))
		mustClose(t, mustOpen(t, cfg))
		cfg.Key = ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
		if _, err := audit.Open(t.Context(), cfg); !errors.Is(err, audit.ErrKey) {
			t.Errorf("error %v, want ErrKey", err)
		}
	})
}

func TestReopenCarriesChain(t *testing.T) {
	cfg := config(logDir(t))
	cfg.SegmentBytes = 4 << 10
	var last audit.Head
	for round := range 6 {
		cfg.Least = last
		l := mustOpen(t, cfg)
		if l.Head() != last || l.SyncedHead() != last {
			t.Fatalf("round %d: head %v, want %v", round, l.Head(), last)
		}
		for i := range 7 {
			last = mustAppend(t, l, callRecord(i), audit.Durability(i%2))
		}
		mustClose(t, l)
	}
	r := mustVerify(t, cfg.Dir, audit.Check{Key: publicKey(), Least: last})
	if r.Records != 42 || r.Segments < 3 || r.Signed != 42 || r.Head != last {
		t.Errorf("report %+v", r)
	}
}

func TestClosedLogRefuses(t *testing.T) {
	l := mustOpen(t, config(logDir(t)))
	mustClose(t, l)
	mustClose(t, l)
	if _, err := l.Append(t.Context(), callRecord(1), audit.Written); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if !errors.Is(l.Err(), audit.ErrClosed) {
		t.Errorf("Err is %v", l.Err())
	}
	select {
	case <-l.Failed():
		t.Error("an orderly Close counts as a failure")
	default:
	}
}

func TestSignsAtMostOnceASecond(t *testing.T) {
	cfg := config(logDir(t))
	c := newClock()
	cfg.Now = c.Now
	l := mustOpen(t, cfg)
	for range 10 {
		mustAppend(t, l, callRecord(1), audit.Synced)
	}
	signatures := func() int { return strings.Count(read(t, cfg.Dir, 1), `"sig"`) }
	if n := signatures(); n != 1 {
		t.Errorf("%d signatures within a second, want 1", n)
	}
	c.Add(time.Second)
	mustAppend(t, l, callRecord(1), audit.Synced)
	if n := signatures(); n != 2 {
		t.Errorf("%d signatures after a second, want 2", n)
	}
	mustAppend(t, l, callRecord(1), audit.Synced)
	mustClose(t, l)
	if n := signatures(); n != 3 {
		t.Errorf("%d signatures after Close, want 3", n)
	}
}

func TestHammer(t *testing.T) {
	cfg := config(logDir(t))
	cfg.SegmentBytes = 16 << 10
	ticks := make(chan time.Time)
	cfg.Ticks = ticks
	l := mustOpen(t, cfg)
	const writers, each = 16, 60
	heads := make([][]audit.Head, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				h, err := l.Append(t.Context(), callRecord(i), audit.Durability((w+i)%2))
				if err != nil {
					t.Error(err)
					return
				}
				if l.Head().Seq < h.Seq {
					t.Errorf("head %d after the append of %d", l.Head().Seq, h.Seq)
				}
				heads[w] = append(heads[w], h)
			}
		})
	}
	stop := make(chan struct{})
	ticked := make(chan struct{})
	go func() {
		defer close(ticked)
		for {
			select {
			case ticks <- time.Time{}:
			case <-stop:
				return
			}
		}
	}()
	wg.Wait()
	close(stop)
	<-ticked
	mustClose(t, l)

	got := map[int64]audit.Hash{}
	for _, e := range all(t, cfg.Dir, audit.Filter{}) {
		got[e.Seq] = e.Hash
	}
	for _, hs := range heads {
		for i, h := range hs {
			if got[h.Seq] != h.Hash {
				t.Errorf("record %d is not the one acknowledged", h.Seq)
			}
			if i > 0 && h.Seq <= hs[i-1].Seq {
				t.Errorf("one caller's records out of order: %d after %d", h.Seq, hs[i-1].Seq)
			}
		}
	}
	if r := mustVerify(t, cfg.Dir, audit.Check{Key: publicKey()}); r.Records != writers*each || r.Segments < 5 {
		t.Errorf("report %+v", r)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, dir string, segment int64) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, audit.SegmentName(segment)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
