package js_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
)

// Runs of several actors and revisions at once, some cancelled at their first
// call, some over their limit, while revisions are dropped and blank guests
// come: every run gets its own end, and Close leaves no process and no
// descriptor.
func TestHammer(t *testing.T) {
	before := descriptors(t)
	l := launcher(t)
	var wg sync.WaitGroup
	e, err := js.New(js.Config{
		Launcher: l, Argv: []string{"/proc/self/exe", verb}, CacheDir: cacheDir, Go: func(f func()) { wg.Go(f) },
		Now:   time.Now,
		Blank: 2, Idle: 4, PerKey: 2, Reuse: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	var runs sync.WaitGroup
	for w := range 6 {
		runs.Go(func() {
			for i := range 12 {
				if err := oneOf(t.Context(), e, w, i); err != nil {
					t.Errorf("worker %d, run %d: %v", w, i, err)
				}
				if i%4 == 3 {
					e.Drop(fmt.Sprintf("rev%d", i))
				}
			}
		})
	}
	runs.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if left := children(t); len(left) > 0 {
		t.Errorf("guests left behind: %v", left)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func oneOf(ctx context.Context, e *js.Executor, w, i int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := program(fmt.Sprintf("const [a] = await echo(%d)\na + 1", w*1000+i), "echo")
	r.Actor, r.Revision = fmt.Sprint("actor", w%3), fmt.Sprint("rev", i/4)
	want, h := fmt.Sprint(executors.StateDone, " ", w*1000+i+1), host{}
	switch (w + i) % 4 {
	case 1:
		h.ask = func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
			cancel()
			<-ctx.Done()
			return executors.Answer{}, ctx.Err()
		}
		want = string(executors.StateCancelled)
	case 2:
		r.Program.Source = "for (;;) {}"
		r.Limits.CPUMillis = ptr(20)
		want = string(executors.StateLimit)
	}
	out, err := e.Run(ctx, r, h)
	if err != nil {
		return err
	}
	if strings.TrimSpace(fmt.Sprint(out.State, " ", string(out.Value))) != want {
		return fmt.Errorf("%s %s %+v, want %s", out.State, out.Value, out.Error, want)
	}
	return nil
}

// Answers and wishes to pause come in every order, from several runs at once. A
// run comes to its own end with each answer seen once, or it fails closed; no
// call that was answered is ever asked again.
func TestHammerPauses(t *testing.T) {
	e := executor(t, func(c *js.Config) { c.Blank, c.Reuse = 1, 5 })
	var runs sync.WaitGroup
	var ends [3]atomic.Int64 // done, paused on the way, failed closed
	for w := range uint64(4) {
		runs.Go(func() {
			random := rand.New(rand.NewPCG(w, 7))
			for i := range 15 {
				done, pauses, err := wild(t.Context(), e, random)
				if err != nil {
					t.Errorf("worker %d, run %d: %v", w, i, err)
				}
				ends[1].Add(pauses)
				if done {
					ends[0].Add(1)
				} else {
					ends[2].Add(1)
				}
			}
		})
	}
	runs.Wait()
	t.Logf("%d done, %d pauses, %d failed closed", ends[0].Load(), ends[1].Load(), ends[2].Load())
	if ends[0].Load() == 0 || ends[1].Load() == 0 {
		t.Error("not every end was met")
	}
}

// wild runs one program to its end over as many pauses as come.
func wild(ctx context.Context, e *js.Executor, random *rand.Rand) (done bool, pauses int64, err error) {
	r := program("const out = []; for (let i = 0; i < 4; i++) out.push(...await Promise.all([echo(i), echo(i + "+
		"10)])); out.join()", "echo")
	var mu sync.Mutex
	answered := map[string]bool{}
	var twice []string
	for {
		wish := make(chan struct{}, 1)
		waits := map[string]executors.Question{}
		h := host{ask: func(ctx context.Context, q executors.Question) (executors.Answer, error) {
			mu.Lock()
			how := random.IntN(40)
			if answered[q.Call] {
				twice = append(twice, q.Call)
			}
			mu.Unlock()
			if how < 10 {
				select {
				case wish <- struct{}{}:
				default:
				}
			}
			if how == 0 { // too late
				<-ctx.Done()
			} else if how < 5 || ctx.Err() != nil {
				mu.Lock()
				waits[q.Call] = q
				mu.Unlock()
				<-ctx.Done()
				return executors.Answer{}, context.Cause(ctx)
			}
			mu.Lock()
			defer mu.Unlock()
			answered[q.Call] = true
			return ask(q), nil
		}}
		r.Pause = wish
		out, err := e.Run(ctx, r, h)
		switch {
		case len(twice) > 0:
			return false, pauses, fmt.Errorf("asked again after their answer: %v", twice)
		case err != nil && strings.Contains(err.Error(), "was answered meanwhile"):
			return false, pauses, nil
		case err != nil:
			return false, pauses, err
		case out.State == executors.StateDone:
			if got := string(out.Value); got != `"0,10,1,11,2,12,3,13"` {
				return false, pauses, fmt.Errorf("got %s", got)
			}
			return true, pauses, nil
		case out.State != executors.StatePaused:
			return false, pauses, fmt.Errorf("%s %+v", out.State, out.Error)
		}
		pauses++
		r.Resume = &executors.Resume{Engine: out.Engine, Snapshot: out.Snapshot,
			Open: slices.Collect(maps.Values(waits))}
	}
}

// descriptors is how many this process has open, without those of the runtime.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range list {
		if to, err := os.Readlink(f); err == nil && !strings.HasPrefix(to, "anon_inode:") {
			n++
		}
	}
	return n
}

// children are the guests among the children of this process, zombies included.
func children(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range tasks {
		b, err := os.ReadFile(f)
		if err == nil { // else the thread has ended
			out = append(out, strings.Fields(string(b))...)
		}
	}
	return out
}
