package js_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
		Launcher: l, Argv: []string{"/proc/self/exe", verb}, CacheDir: cacheDir, Go: func(f func()) { wg.Go(f) }, Now: time.Now,
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
