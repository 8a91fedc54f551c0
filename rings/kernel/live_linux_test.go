package kernel_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// shellAgent is an agent with a shell and nothing else.
func shellAgent(memory int64, read ...string) profiles.Agent {
	n := func(v int64) *int64 { return &v }
	a := profiles.Agent{
		MinTier: profiles.TierOS, Shell: &profiles.Shell{},
		Limits: profiles.Limits{
			CPUMillis: n(20_000), WallMillis: n(60_000), MemoryBytes: n(memory), OutputBytes: n(1 << 16),
			Processes: n(16), Files: n(32),
		},
	}
	for i, p := range read {
		a.Files.Read = append(a.Files.Read, profiles.PathRule{
			Path: p, Rule: profiles.Rule{File: "policy.yaml", Line: 7 + i, Path: fmt.Sprintf("files.read[%d]", i)}})
	}
	return a
}

func apply(t testing.TB, r *kernel.Ring, s *profiles.Set) {
	t.Helper()
	commit, err := r.Prepare(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	commit()
}

func setOf(a profiles.Agent) *profiles.Set {
	return &profiles.Set{Agents: map[string]profiles.Agent{"a": a}}
}

// waits is a program of agent a that does nothing for long.
func waits(t testing.TB, a profiles.Agent) executors.Spec {
	t.Helper()
	k, ok := a.Kernel(profiles.ExecutorShell)
	if !ok {
		t.Fatal("the agent has no shell")
	}
	s := program("/usr/bin/sleep", "600")
	s.Agent, s.Kernel = "a", k
	return s
}

func TestNarrowerPolicyEndsGuest(t *testing.T) {
	r := pooled(t, 0)
	dir, other := t.TempDir(), t.TempDir()
	wide := shellAgent(64<<20, dir, other)
	for _, tt := range []struct {
		name    string
		set     *profiles.Set
		ends    bool
		restart bool
	}{
		{"the same", setOf(wide), false, false},
		{"another agent", &profiles.Set{Agents: map[string]profiles.Agent{"a": wide, "b": shellAgent(1 << 20)}}, false, false},
		{"more", setOf(shellAgent(128<<20, dir, other)), false, true},
		{"a folder less", setOf(shellAgent(64<<20, dir)), true, false},
		{"less memory", setOf(shellAgent(63<<20, dir, other)), true, false},
		{"one more, one less", setOf(shellAgent(128<<20, dir)), true, false},
		{"no such executor", setOf(profiles.Agent{MinTier: profiles.TierOS}), true, false},
		{"no such agent", &profiles.Set{}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apply(t, r, setOf(wide))
			g := launch(t, r, waits(t, wide))
			pid := kernel.PID(g.Guest)
			apply(t, r, tt.set)
			if !tt.ends {
				if s := r.Status(); len(s) != 1 || s[0].Restart != tt.restart || s[0].Agent != "a" || !alive(pid) {
					t.Errorf("%+v, alive %v", s, alive(pid))
				}
				return
			}
			if b, err := io.ReadAll(g.Conn()); !errors.Is(err, executors.ErrRevoked) || len(b) > 0 {
				t.Errorf("its connection: %q %v", b, err)
			}
			if e, err := g.Guest.(executors.Streamer).Wait(t.Context()); !errors.Is(err, executors.ErrRevoked) {
				t.Errorf("its end: %+v %v", e, err)
			}
			if s := r.Status(); len(s) != 0 || alive(pid) {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestLaunchAsksForNoMoreThanIsInForce(t *testing.T) {
	r := pooled(t, 1)
	dir := t.TempDir()
	wide := shellAgent(64<<20, dir)
	apply(t, r, setOf(wide))
	launch(t, r, waits(t, wide)) // fills the pool
	settled(t, r)
	apply(t, r, setOf(shellAgent(64<<20)))
	g, err := r.Launch(t.Context(), waits(t, wide))
	if g != nil || !errors.Is(err, executors.ErrRevoked) {
		t.Errorf("%v, %v", g, err)
	}
	eventually(t, "the end of the guest before", func() bool { return len(r.Status()) == 0 })
	nobody := waits(t, wide)
	nobody.Agent = ""
	g, err = r.Launch(t.Context(), nobody)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = g.Kill(), g.Conn().Close() }()
	apply(t, r, setOf(wide))
	if _, err := io.ReadAll(g.Conn()); !errors.Is(err, executors.ErrRevoked) {
		t.Errorf("nobody's guest keeps a grant over a push: %v", err)
	}
}

func TestPrepareNamesTheLine(t *testing.T) {
	r := pooled(t, 0)
	apply(t, r, setOf(shellAgent(64<<20)))
	gone := filepath.Join(t.TempDir(), "gone")
	_, err := r.Prepare(t.Context(), setOf(shellAgent(64<<20, t.TempDir(), gone)))
	var named interface{ Executor() string }
	if !errors.As(err, &named) || named.Executor() != profiles.ExecutorShell {
		t.Fatalf("%v names no executor", err)
	}
	for _, want := range []string{gone, "policy.yaml:8", "files.read[1]", "agent a"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if g := launch(t, r, waits(t, shellAgent(64<<20))); !alive(kernel.PID(g.Guest)) {
		t.Error("a set that was refused changed something")
	}
}

// replace puts another folder in place of dir.
func replace(t *testing.T, dir string) {
	t.Helper()
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// What a guest may have put in place of a grant is not granted.
func TestSwappedGrantIsRefused(t *testing.T) {
	r := pooled(t, 1)
	written := t.TempDir()
	dir := filepath.Join(written, "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a, writer := shellAgent(64<<20, dir), shellAgent(64<<20)
	writer.Files.Write = []profiles.PathRule{{Path: written}}
	set := &profiles.Set{Agents: map[string]profiles.Agent{"a": a, "writer": writer}}
	apply(t, r, set)
	launch(t, r, waits(t, a))
	settled(t, r)
	replace(t, dir)
	for range 2 {
		if g, err := r.Launch(t.Context(), waits(t, a)); g != nil || err == nil ||
			!strings.Contains(err.Error(), "replaced in a folder that guests may write") {
			t.Errorf("%v, %v", g, err)
		}
	}
	narrowed := waits(t, a) // of a run that has less than its agent
	narrowed.Kernel.MemoryBytes /= 2
	if g, err := r.Launch(t.Context(), narrowed); g != nil || err == nil ||
		!strings.Contains(err.Error(), "replaced in a folder that guests may write") {
		t.Errorf("%v, %v", g, err)
	}
	apply(t, r, set)
	launch(t, r, waits(t, a))
}

// What an upgrade has put in place of a grant is granted, after every check, and
// prepared guests that have the old are not given.
func TestUpgradedGrantHeals(t *testing.T) {
	r := pooled(t, 1)
	top := t.TempDir()
	tool := func(version string) string { return filepath.Join(top, "tool-"+version) }
	for _, version := range []string{"1", "2"} {
		if err := os.MkdirAll(tool(version), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	current, other := filepath.Join(top, "tool"), t.TempDir()
	if err := os.Symlink("tool-1", current); err != nil {
		t.Fatal(err)
	}
	wide := shellAgent(64<<20, current, other)
	set := &profiles.Set{Agents: map[string]profiles.Agent{"a": shellAgent(64<<20, current), "b": wide,
		"gone": shellAgent(64<<20, tool("1"))}}
	apply(t, r, set)
	b := waits(t, wide)
	b.Agent = "b"
	old := launch(t, r, b)
	lives := launch(t, r, waits(t, shellAgent(64<<20)))
	settled(t, r)
	waited := kernel.Waiting(r)

	if err := errors.Join(os.Remove(current), os.Symlink("tool-2", current), os.RemoveAll(tool("1"))); err != nil {
		t.Fatal(err)
	}
	launch(t, r, waits(t, shellAgent(64<<20, current)))
	if now := launch(t, r, b); slices.Contains(waited, kernel.PID(now.Guest)) {
		t.Error("a guest that was prepared before the upgrade was given")
	}
	if _, err := io.ReadAll(old.Conn()); !errors.Is(err, executors.ErrRevoked) {
		t.Errorf("a guest keeps what the set no longer names: %v", err)
	}
	if !alive(kernel.PID(lives.Guest)) {
		t.Error("a guest that has nothing of it was ended")
	}
	gone := waits(t, shellAgent(64<<20, tool("1")))
	gone.Agent = "gone"
	if g, err := r.Launch(t.Context(), gone); g != nil || err == nil ||
		!strings.Contains(err.Error(), "policy.yaml:7") {
		t.Errorf("%v, %v", g, err)
	}
	// A link to what nobody may have is refused as a push would refuse it.
	if err := errors.Join(os.Remove(current), os.Symlink("/proc", current)); err != nil {
		t.Fatal(err)
	}
	if g, err := r.Launch(t.Context(), waits(t, shellAgent(64<<20, current))); g != nil || err == nil ||
		!strings.Contains(err.Error(), "policy.yaml:7") {
		t.Errorf("%v, %v", g, err)
	}
}

// A program that was replaced, as an upgrade does, is looked at again.
func TestReplacedProgramRuns(t *testing.T) {
	r := pooled(t, 0)
	s := named(t, "tool")
	runs(t, r, s)
	b, err := os.ReadFile(s.Argv[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Argv[0]+".new", b, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.Argv[0]+".new", s.Argv[0]); err != nil {
		t.Fatal(err)
	}
	runs(t, r, s)
}

// Whatever the order of pushes and starts, no guest that lives has a right that
// the set in force lacks.
func TestNoLiveGuestHasMoreThanTheSet(t *testing.T) {
	r := pooled(t, 1)
	dirs := []string{t.TempDir(), t.TempDir()}
	some := rand.New(rand.NewPCG(4, 2))
	agent := func() profiles.Agent {
		var read []string
		for _, d := range dirs {
			if some.IntN(2) == 0 {
				read = append(read, d)
			}
		}
		return shellAgent(int64(1+some.IntN(3))<<24, read...)
	}
	type running struct {
		g     executors.Guest
		agent profiles.Agent
	}
	var all []running
	current := agent()
	apply(t, r, setOf(current))
	ended, kept := 0, 0
	for range 40 {
		a := current
		if some.IntN(3) == 0 {
			a = agent() // an executor that has not heard of the push
		}
		g, err := r.Launch(t.Context(), waits(t, a))
		switch {
		case err == nil:
			all = append(all, running{g, a})
		case !errors.Is(err, executors.ErrRevoked):
			t.Fatal(err)
		}
		if some.IntN(2) == 0 {
			current = agent()
			apply(t, r, setOf(current))
		}
		now, _ := current.Kernel(profiles.ExecutorShell)
		live := all[:0]
		for _, x := range all {
			has, _ := x.agent.Kernel(profiles.ExecutorShell)
			if has.Within(now) {
				if kept++; !alive(kernel.PID(x.g)) {
					t.Fatal("a guest with no more than the set was ended")
				}
				live = append(live, x)
				continue
			}
			ended++
			if _, err := io.ReadAll(x.g.Conn()); !errors.Is(err, executors.ErrRevoked) {
				t.Fatalf("a guest has more than the set in force: %v", err)
			}
			if err := errors.Join(x.g.Kill(), x.g.Conn().Close()); err != nil {
				t.Fatal(err)
			}
		}
		all = live
	}
	if ended == 0 || kept == 0 {
		t.Errorf("%d ended, %d kept: nothing was shown", ended, kept)
	}
	for _, x := range all {
		if err := errors.Join(x.g.Kill(), x.g.Conn().Close()); err != nil {
			t.Fatal(err)
		}
	}
}
