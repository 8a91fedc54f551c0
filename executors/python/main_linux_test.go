package python_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// interpreter is the one that most tests run on.
const interpreter = "/usr/bin/python3"

// launcher is the real one, closed with the test. Hosts that do not give the
// layers skip: nothing of this executor runs there.
func launcher(t testing.TB, change func(*kernel.Config)) *kernel.Ring {
	t.Helper()
	var wg sync.WaitGroup
	c := kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader,
		Executors: []string{profiles.ExecutorPython}}
	if change != nil {
		change(&c)
	}
	r, err := kernel.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	a := r.Attestation(t.Context(), profiles.ExecutorPython)
	if a.Layers["mounts"] == "enforced" {
		return r
	}
	if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
		t.Fatalf("this host gives no kernel ring: %v", a.Layers)
	}
	t.Skipf("this host gives no kernel ring: %v", a.Layers)
	return nil
}

// fixed has every agent on one interpreter and its standard library.
type fixed struct {
	pyproto.Environment
	of func(*profiles.Agent) pyproto.Environment // nil: that one
}

func (f fixed) Of(_ context.Context, a *profiles.Agent) (pyproto.Environment, error) {
	if f.of != nil {
		return f.of(a), nil
	}
	return f.Environment, nil
}

// environment is that of an interpreter of this host; the test skips without.
func environment(t testing.TB, path string) pyproto.Environment {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Skipf("no interpreter: %v", err)
	}
	version := strings.TrimPrefix(filepath.Base(real), "python")
	library := filepath.Join(filepath.Dir(filepath.Dir(real)), "lib", "python"+version)
	return pyproto.Environment{
		Interpreter: real, Version: version, Own: []profiles.PathRule{{Path: library}},
		Code: []profiles.PathRule{{Path: filepath.Join(library, "lib-dynload")}}, Digest: real,
	}
}

// executor is a python executor over real guests, closed with the test.
func executor(t testing.TB, change func(*python.Config)) *python.Executor {
	t.Helper()
	return executorOver(t, launcher(t, nil), change)
}

func executorOver(t testing.TB, l executors.Launcher, change func(*python.Config)) *python.Executor {
	t.Helper()
	var wg sync.WaitGroup
	c := python.Config{
		Launcher: l, Environments: fixed{Environment: environment(t, interpreter)}, Go: func(f func()) { wg.Go(f) },
		Now:    time.Now,
		Random: rand.Reader, Sessions: 4,
	}
	if change != nil {
		change(&c)
	}
	e, err := python.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return e
}

func ptr(n int64) *int64 { return &n }

// limits are generous: what a test is about it sets itself.
func limits() profiles.Limits {
	return profiles.Limits{
		CPUMillis: ptr(20_000), WallMillis: ptr(60_000), MemoryBytes: ptr(512 << 20), OutputBytes: ptr(1 << 20),
		ResultBytes: ptr(1 << 20), StackBytes: ptr(8 << 20), Processes: ptr(16), Files: ptr(64), RefusedCalls: ptr(64),
	}
}

// agent grants the python executor with the default set of modules.
func agent(change ...func(*profiles.Python)) *profiles.Agent {
	a := &profiles.Agent{
		Name: "default", MinTier: profiles.TierOS, Bridges: map[string]profiles.Bridge{"echo": {Name: "echo"}},
		Limits:   limits(),
		Python:   &profiles.Python{Limits: limits(), Imports: profiles.Imports{Default: true}},
		Sessions: &profiles.Sessions{AgeMillis: 3_600_000, Bytes: 1 << 20},
	}
	for _, f := range change {
		f(a.Python)
	}
	return a
}

func run(a *profiles.Agent, source string) executors.Run {
	return executors.Run{
		ID: "r1", Actor: "me", Agent: a, Revision: "sha256:1", Limits: limits(),
		Program: executors.Program{Name: "plan.py", Language: "python", Source: source},
	}
}

// echo answers every call with its arguments, and keeps what was printed.
type echo struct {
	answer func(context.Context, executors.Question) (executors.Answer, error) // nil: echo
	line   func(executors.ConsoleEntry)

	mu      sync.Mutex
	asked   []executors.Question
	console []executors.ConsoleEntry
}

func (d *echo) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	d.mu.Lock()
	d.asked = append(d.asked, q)
	d.mu.Unlock()
	if d.answer != nil {
		return d.answer(ctx, q)
	}
	return executors.Answer{Value: q.Args}, nil
}

func (d *echo) Console(e executors.ConsoleEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.console = append(d.console, e)
	if d.line != nil {
		d.line(e)
	}
}

func (d *echo) Idle([]string) {}

// printed is what a program wrote to one of its streams.
func printed(o executors.Outcome, level string) string {
	var b strings.Builder
	for _, e := range o.Console {
		if e.Level == level {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// play runs a program to its end.
func play(t testing.TB, e *python.Executor, r executors.Run) executors.Outcome {
	t.Helper()
	o, err := e.Run(t.Context(), r, &echo{})
	if err != nil {
		t.Fatalf("%s: %v", r.Program.Source, err)
	}
	return o
}

func brief(o executors.Outcome) string {
	b, _ := json.Marshal(o)
	return string(b[:min(len(b), 4000)])
}
