package kernel_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// held is what this process has of the kernel.
type held struct{ descriptors, goroutines, threads, children int }

func holds(t testing.TB) held {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return held{descriptors(t), runtime.NumGoroutine(), len(tasks), len(children(t))}
}

// nothingLeft waits until this process has no more than before. Threads stay with
// the Go runtime: those are few, whatever was started.
func nothingLeft(t testing.TB, before held) {
	t.Helper()
	var now held
	eventually(t, "what launches have taken to be given back", func() bool {
		now = holds(t)
		return now.descriptors <= before.descriptors && now.goroutines <= before.goroutines &&
			now.children <= before.children
	})
	if now.threads > before.threads+32 {
		t.Errorf("%d threads, %d before", now.threads, before.threads)
	}
}

// failing are launches that end at every step on the way to a program.
func failing(t testing.TB) map[string]executors.Spec {
	t.Helper()
	ok := program("/usr/bin/true")
	change := func(f func(*executors.Spec)) executors.Spec {
		s := ok
		f(&s)
		return s
	}
	return map[string]executors.Spec{
		"no program":         change(func(s *executors.Spec) { s.Argv = []string{"/usr/bin/no-such-program"} }),
		"no folder":          change(func(s *executors.Spec) { s.Dir = "/no/such/folder" }),
		"a path that is not": change(func(s *executors.Spec) { s.Kernel.Read = granted("/no/such/file") }),
		"too little memory":  change(func(s *executors.Spec) { s.Kernel.MemoryBytes = 4096 }),
		"an argument of NUL": change(func(s *executors.Spec) { s.Argv = []string{"/usr/bin/true", "a\x00b"} }),
		"a long argument":    change(func(s *executors.Spec) { s.Argv = []string{"/usr/bin/true", strings.Repeat("a", 8<<20)} }),
		"a tier too high":    change(func(s *executors.Spec) { s.MinTier = "vm" }),
	}
}

// Starts that fail, at any step and at any moment, leave nothing behind.
func TestFailedLaunchesLeaveNothing(t *testing.T) {
	r := pooled(t, 2)
	all := failing(t)
	one := func(ctx context.Context, s executors.Spec) error {
		g, err := r.Launch(ctx, s)
		if err != nil {
			return err
		}
		return errors.Join(g.Kill(), abandoned(g))
	}
	for name, s := range all { // caches are warm
		err := one(t.Context(), s)
		t.Log(name, err)
		if err == nil && name != "too little memory" {
			t.Errorf("%s: it started", name)
		}
	}
	runs(t, r, program("/usr/bin/true"))
	settled(t, r)
	before := holds(t)
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	some := rand.New(rand.NewPCG(1, 7))
	for range rounds {
		for _, s := range all {
			_ = one(t.Context(), s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(some.IntN(20_000))*time.Microsecond)
		_ = one(ctx, program("/usr/bin/true"))
		cancel()
	}
	settled(t, r)
	nothingLeft(t, before)
}

// abandoned closes what the caller has of a guest.
func abandoned(g executors.Guest) error {
	err := g.Conn().Close()
	if s, ok := g.(executors.Streamer); ok {
		err = errors.Join(err, s.Stdin().Close())
	}
	return err
}

// Two hundred starts at once all end, and while they begin pushes change what is
// prepared.
func TestManyLaunchesAtOnce(t *testing.T) {
	r := pooled(t, 4)
	wide, narrow := shellAgent(64<<20, t.TempDir()), shellAgent(64<<20)
	apply(t, r, setOf(wide))
	k, _ := narrow.Kernel(profiles.ExecutorShell)
	s := program("/usr/bin/true")
	s.Agent, s.Kernel = "a", k
	runs(t, r, s)
	settled(t, r)
	before := holds(t)
	n := 200
	if testing.Short() {
		n = 40
	}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			g, err := r.Launch(t.Context(), s)
			if err != nil {
				t.Error(err)
				return
			}
			_, e := end(t, g)
			if e.Code != 0 || e.Signal != 0 {
				t.Errorf("%+v", e)
			}
			if err := errors.Join(g.Kill(), abandoned(g)); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 20 {
		apply(t, r, setOf([]profiles.Agent{wide, narrow}[i%2]))
	}
	wg.Wait()
	settled(t, r)
	nothingLeft(t, before)
	if live := r.Status(); len(live) != 0 {
		t.Errorf("%d live", len(live))
	}
}

// Close while guests begin ends each of them.
func TestCloseDuringLaunches(t *testing.T) {
	before := holds(t)
	for range 5 {
		r := pooled(t, 4)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				g, err := r.Launch(t.Context(), program("/usr/bin/sleep", "600"))
				switch {
				case errors.Is(err, kernel.ErrClosed):
				case err != nil:
					t.Error(err)
				default:
					_, err = g.(executors.Streamer).Wait(t.Context())
					if err = errors.Join(err, g.Kill(), abandoned(g)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		runtime.Gosched()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
	nothingLeft(t, before)
}

// A push that takes a right away ends a guest whose program is about to begin, and
// does not wait until it has begun.
func TestPushEndsWhatBegins(t *testing.T) {
	needNamespaces(t)
	r := liar(t)
	a := shellAgent(64<<20, t.TempDir())
	s := named(t, "stays")
	s.Agent = "a"
	s.Kernel = waits(t, a).Kernel
	apply(t, r, setOf(a))
	answer := make(chan error, 1)
	go func() {
		g, err := r.Launch(t.Context(), s)
		if g != nil {
			err = errors.Join(errors.New("it has started"), g.Kill(), abandoned(g))
		}
		answer <- err
	}()
	eventually(t, "a guest that begins", func() bool { return len(r.Status()) == 1 || len(answer) > 0 })
	apply(t, r, &profiles.Set{})
	if err := <-answer; !errors.Is(err, executors.ErrRevoked) {
		t.Error(err)
	}
	if n := len(r.Status()); n != 0 {
		t.Errorf("%d live", n)
	}
}

// Guests that end at once are not live for ever, with the layers and without.
func TestShortGuestsAreForgotten(t *testing.T) {
	for _, r := range []*kernel.Ring{bare(t), pooled(t, 2)} {
		s := program("/usr/bin/true")
		s.MinTier = profiles.TierProcess
		for range 50 {
			g, err := r.Launch(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.(executors.Streamer).Wait(t.Context()); err != nil {
				t.Error(err)
			}
			if err := abandoned(g); err != nil {
				t.Error(err)
			}
		}
		// The mounts of the last one may still be taken down.
		eventually(t, "none live", func() bool { return len(r.Status()) == 0 })
	}
}

// Who kills a guest that another is killing has to wait for it too: nothing of it is
// live when either returns.
func TestKillsBesideEachOther(t *testing.T) {
	for _, r := range []*kernel.Ring{bare(t), pooled(t, 2)} {
		s := program("/usr/bin/sleep", "600")
		s.MinTier = profiles.TierProcess
		for range 20 {
			g, err := r.Launch(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if err := g.Kill(); err != nil {
						t.Error(err)
					}
					if n := len(r.Status()); n != 0 {
						t.Errorf("%d live after a kill", n)
					}
				})
			}
			wg.Wait()
			if err := abandoned(g); err != nil {
				t.Error(err)
			}
		}
	}
}

// Pushes and starts race: what lives at the end has what the last push grants.
func TestPushesRaceLaunches(t *testing.T) {
	r := pooled(t, 2)
	a := shellAgent(64<<20, t.TempDir())
	s := waits(t, a)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		apply(t, r, setOf(a))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				g, err := r.Launch(t.Context(), s)
				if err == nil {
					_, err = g.(executors.Streamer).Wait(t.Context())
					if failed := errors.Join(g.Kill(), abandoned(g)); failed != nil {
						t.Error(failed)
					}
				}
				if !errors.Is(err, executors.ErrRevoked) {
					t.Errorf("it ended with %v", err)
				}
			})
		}
		runtime.Gosched()
		apply(t, r, &profiles.Set{})
		wg.Wait()
	}
}
