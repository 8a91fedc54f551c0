package pace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringd/ringd/rings/kernel/pace"
)

func buckets(t *testing.T, every time.Duration, burst int) *pace.Buckets[int] {
	t.Helper()
	b, err := pace.New[int](pace.Config{Now: time.Now, Every: every, Burst: burst})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// times takes n tokens of a key, and says how long that took by the clock of the
// bubble.
func times(t *testing.T, b *pace.Buckets[int], key, n int) time.Duration {
	t.Helper()
	began := time.Now()
	for range n {
		if err := b.Wait(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(began)
}

// TestTake: tokens are taken all or not at all, and Empty takes none.
func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := buckets(t, 10*time.Millisecond, 100)
		for i, c := range []struct {
			key, n int
			want   time.Duration
		}{{1, 100, 0}, {1, 1, 10 * time.Millisecond}, {1, 30, 300 * time.Millisecond}, {2, 60, 0},
			{2, 50, 100 * time.Millisecond}, {2, 40, 0}, {3, 101, 1010 * time.Millisecond}} {
			if got := b.Take(c.key, c.n); got != c.want {
				t.Errorf("%d: %d tokens of %d come in %s, want %s", i, c.n, c.key, got, c.want)
			}
		}
		if got := b.Empty(1); got != 10*time.Millisecond {
			t.Errorf("empty for %s", got)
		}
		time.Sleep(10 * time.Millisecond)
		if got := b.Empty(1); got != 0 || b.Take(1, 1) != 0 {
			t.Errorf("a token came, and it is empty for %s", got)
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := buckets(t, 10*time.Millisecond, 1000)
		for _, c := range []struct {
			name   string
			key, n int
			want   time.Duration
		}{
			{"within the burst", 1, 200, 0},
			{"the rest of the burst, and 100 beyond it", 1, 900, time.Second},
			{"another key", 2, 1000, 0},
		} {
			if took := times(t, b, c.key, c.n); took != c.want {
				t.Errorf("%s: %d tokens took %v, want %v", c.name, c.n, took, c.want)
			}
		}
	})
}

// TestWaitN: what one caller takes at once, or owes, the next one waits for; who gives up
// leaves its tokens to the next.
func TestWaitN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := buckets(t, 10*time.Millisecond, 100)
		began := time.Now()
		takes := func(what string, ctx context.Context, n int, want error, after time.Duration) {
			t.Helper()
			if err := b.WaitN(ctx, 1, n); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
			if took := time.Since(began); took != after {
				t.Errorf("%s: after %s, want %s", what, took, after)
			}
		}
		takes("a full bucket", t.Context(), 100, nil, 0)
		takes("30 more", t.Context(), 30, nil, 300*time.Millisecond)
		b.Owe(1, 50)
		takes("behind what is owed", t.Context(), 20, nil, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		takes("given up", ctx, 100, context.Canceled, 1100*time.Millisecond)
		takes("what was left", t.Context(), 30, nil, 1300*time.Millisecond)
		takes("more than a bucket has", t.Context(), 1000, nil, 2300*time.Millisecond)
		b.Owe(1, 1000)
		takes("behind more than a bucket has", t.Context(), 1, nil, 3310*time.Millisecond)
	})
}

// A caller whose deadline comes before its token waits for the deadline, and takes
// nothing from those who come after it.
func TestWaitDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := buckets(t, time.Minute, 1)
		times(t, b, 1, 1)
		began := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := b.Wait(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the context", err)
			}
			cancel()
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the callers were held back for %v, want 3s", took)
		}
		if took := times(t, b, 1, 1); took != 57*time.Second {
			t.Errorf("the next token came after %v, want 57s", took)
		}
	})
}

func TestWaitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := buckets(t, time.Hour, 1)
		times(t, b, 1, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Wait(ctx, 1) }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("a token beyond the burst came at once: %v", err)
		default:
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	})
}

func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := buckets(t, time.Millisecond, 2)
		for key := range 10_000 {
			if err := b.Wait(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := b.Len(); n > 1024 {
			t.Errorf("%d buckets are kept, want 1024 at most", n)
		}
	})
}

func TestNew(t *testing.T) {
	for _, cfg := range []pace.Config{
		{Every: 1, Burst: 1}, {Now: time.Now, Burst: 1}, {Now: time.Now, Every: 1}, {Now: time.Now, Every: -1, Burst: 1}, {Now: time.Now, Every: 1, Burst: -1},
	} {
		if _, err := pace.New[int](cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
		if _, err := pace.NewShared[int, string](cfg); err == nil {
			t.Errorf("%+v is taken to be shared", cfg)
		}
	}
}
