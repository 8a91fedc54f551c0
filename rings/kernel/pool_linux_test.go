package kernel_test

import (
	"crypto/rand"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// pooled is a ring that keeps guests of the shell prepared.
func pooled(t testing.TB, n int) *kernel.Ring {
	t.Helper()
	return ringOf(t, func(c *kernel.Config) { c.Prepared = map[string]int{profiles.ExecutorShell: n} })
}

// ringOf is a ring for guests of the shell, which leaves no process.
func ringOf(t testing.TB, change func(*kernel.Config)) *kernel.Ring {
	t.Helper()
	var wg sync.WaitGroup
	c := kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader, Executors: []string{profiles.ExecutorShell}}
	change(&c)
	r, err := kernel.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		noChildren(t)
	})
	needKernel(t, r)
	return r
}

func runs(t testing.TB, r *kernel.Ring, s executors.Spec) int {
	t.Helper()
	g := launch(t, r, s)
	pid := kernel.PID(g.Guest)
	if _, e := end(t, g.Guest); e.Code != 0 || e.Signal != 0 {
		t.Fatalf("%+v", e)
	}
	return pid
}

// A spare init serves any kind of guest that stays. What waits is the one process
// that is left when a guest has ended; while it still starts, the next guest has a
// process of its own.
func TestSpareServesTheNext(t *testing.T) {
	r := ringOf(t, func(c *kernel.Config) { c.Spare = true })
	for _, path := range []string{"/usr/bin/true", "/usr/bin/id", "/usr/bin/true"} {
		eventually(t, path+" in a process that waited", func() bool {
			left := children(t)
			return slices.Contains(left, runs(t, r, program(path)))
		})
	}
}

// Without the switch none waits.
func TestNoSpareUnasked(t *testing.T) {
	r := ringOf(t, func(*kernel.Config) {})
	runs(t, r, program("/usr/bin/true"))
	eventually(t, "no process", func() bool { return len(children(t)) == 0 })
}

func TestPoolGivesAndRefills(t *testing.T) {
	r := pooled(t, 2)
	s := program("/usr/bin/true")
	runs(t, r, s)
	settled(t, r)
	before := kernel.Waiting(r)
	if len(before) != 2 {
		t.Fatalf("%d wait, want 2", len(before))
	}
	for i := range 3 {
		s.Env, s.Dir, s.Argv = []string{"A=1"}, "/", []string{"/usr/bin/true", "x"} // these are told with the program
		if pid := runs(t, r, s); i == 0 && !slices.Contains(before, pid) {
			t.Errorf("process %d is none of those that waited: %v", pid, before)
		}
		settled(t, r)
		if n := len(kernel.Waiting(r)); n != 2 {
			t.Errorf("%d wait, want 2", n)
		}
	}
	tighter := s
	tighter.Kernel.MemoryBytes /= 2
	if pid := runs(t, r, tighter); slices.Contains(before, pid) {
		t.Error("a guest of other limits was given")
	}
}

func TestPoolIsBounded(t *testing.T) {
	r := pooled(t, 100)
	s := program("/usr/bin/true")
	for i := range 3 {
		s.Kernel.CPUMillis = int64(10_000 + i)
		runs(t, r, s)
		settled(t, r)
		if n := len(kernel.Waiting(r)); n > 16 {
			t.Fatalf("%d wait", n)
		}
	}
	settled(t, r)
	if n := len(kernel.Waiting(r)); n == 0 {
		t.Error("nothing waits")
	}
}

func TestPoolHandsOutNoDead(t *testing.T) {
	r := pooled(t, 2)
	s := program("/usr/bin/true")
	runs(t, r, s)
	settled(t, r)
	dead := kernel.Waiting(r)
	for _, pid := range dead {
		fd := handle(t, pid)
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitEnd(t, fd)
	}
	if pid := runs(t, r, s); slices.Contains(dead, pid) {
		t.Error("a dead guest was given")
	}
	settled(t, r)
	for _, pid := range kernel.Waiting(r) {
		if !alive(pid) {
			t.Errorf("process %d waits, and is dead", pid)
		}
	}
}

func TestPoolDropsWhatNoPolicyHas(t *testing.T) {
	r := pooled(t, 2)
	set := func(memory int64) *profiles.Set {
		return &profiles.Set{Agents: map[string]profiles.Agent{"a": shellAgent(memory)}}
	}
	first := set(64 << 20)
	apply(t, r, first)
	agent := first.Agents["a"]
	k, _ := agent.Kernel(profiles.ExecutorShell)
	s := program("/usr/bin/true")
	s.Agent, s.Kernel = "a", k
	runs(t, r, s)
	settled(t, r)
	kept := kernel.Waiting(r)
	if len(kept) != 2 {
		t.Fatalf("%d wait, want 2", len(kept))
	}
	same := set(64 << 20)
	b := shellAgent(1 << 20)
	same.Agents["b"] = b
	apply(t, r, same)
	if d := kernel.Waiting(r); len(d) != 2 {
		t.Errorf("what is as it was is gone: %v", d)
	}
	apply(t, r, set(32<<20))
	if d := kernel.Waiting(r); len(d) != 0 {
		t.Errorf("what no policy has waits on: %v", d)
	}
	eventually(t, "the end of what waited", func() bool { return !slices.ContainsFunc(kept, alive) })
}

func TestPoolClose(t *testing.T) {
	r := pooled(t, 4)
	runs(t, r, program("/usr/bin/true")) // some are still on their way
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	noChildren(t)
	if n := len(kernel.Waiting(r)); n != 0 {
		t.Errorf("%d wait in a closed ring", n)
	}
}
