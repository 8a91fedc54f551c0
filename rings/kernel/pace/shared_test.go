package pace_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringd/ringd/rings/kernel/pace"
)

func shared(t *testing.T, every time.Duration, burst int) *pace.Shared[int, string] {
	t.Helper()
	s, err := pace.NewShared[int, string](pace.Config{Now: time.Now, Every: every, Burst: burst})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wants has a caller take n tokens at once; got counts those that have come.
func wants(t *testing.T, s *pace.Shared[int, string], key int, caller string, n int) (got func() int) {
	t.Helper()
	var mu sync.Mutex
	have := 0
	for range n {
		go func() {
			if err := s.Wait(t.Context(), key, caller); err != nil {
				return // the test is over
			}
			mu.Lock()
			defer mu.Unlock()
			have++
		}()
	}
	return func() int {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return have
	}
}

// TestSharedTurns: forty callers that want all there is have no more together than the
// bucket gives, and each of them as much; one that comes late, and wants little, has
// its token within one turn of the others.
func TestSharedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(t, 10*time.Millisecond, 100)
		var flood []func() int
		for i := range 40 {
			flood = append(flood, wants(t, s, 1, string(rune('A'+i)), 1000))
		}
		total := func() (n int) {
			for _, got := range flood {
				n += got()
			}
			return n
		}
		if n := total(); n != 100 {
			t.Fatalf("%d tokens came at once, want 100", n)
		}
		before := make([]int, len(flood))
		for i, got := range flood {
			before[i] = got()
		}
		time.Sleep(20 * 40 * 10 * time.Millisecond)
		if n := total(); n != 100+20*40 {
			t.Errorf("%d tokens came, want %d", n, 100+20*40)
		}
		for i, got := range flood {
			if n := got() - before[i]; n < 19 || n > 21 {
				t.Errorf("caller %d had %d tokens, want 20", i, n)
			}
		}
		began := time.Now()
		if err := s.Wait(t.Context(), 1, "late"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 41*10*time.Millisecond {
			t.Errorf("a caller that wants one token waited %s, behind more than one of each other caller", took)
		}
		began = time.Now()
		if err := s.Wait(t.Context(), 2, "late"); err != nil || time.Since(began) != 0 {
			t.Errorf("a token of another key: %v after %s", err, time.Since(began))
		}
	})
}

// TestSharedLeave: a caller that gives up takes no token, and holds nobody up.
func TestSharedLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(t, time.Minute, 1)
		if err := s.Wait(t.Context(), 1, "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Wait(ctx, 1, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		if err := s.Wait(ctx, 1, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v of a context that has ended", err)
		}
		began := time.Now()
		if err := s.Wait(t.Context(), 1, "b"); err != nil || time.Since(began) != 59*time.Second {
			t.Errorf("%v after %s, want a token after 59s", err, time.Since(began))
		}
		other, giveUp := context.WithCancel(t.Context())
		wants(t, s, 1, "a", 3)
		gone := make(chan error, 1)
		go func() { gone <- s.Wait(other, 1, "a") }()
		got := wants(t, s, 1, "b", 1)
		synctest.Wait()
		giveUp()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
		time.Sleep(2 * time.Minute)
		if got() != 1 {
			t.Error("the second caller in turn has no token after two")
		}
	})
}

func TestSharedForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(t, time.Millisecond, 2)
		for key := range 10_000 {
			if err := s.Wait(t.Context(), key, "a"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := s.Len(); n > 1024 {
			t.Errorf("%d buckets are kept, want 1024 at most", n)
		}
	})
}
