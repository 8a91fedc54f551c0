package shell_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell"
	"github.com/ringd/ringd/executors/shell/shellguest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

// The test binary is its own guest.
const verb = "shell-guest"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == verb {
		var wg sync.WaitGroup
		os.Exit(shellguest.Main(context.Background(), shellguest.Config{
			Now: time.Now, Go: func(f func()) { wg.Go(f) }, Env: os.Environ(),
		}))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], wrong) {
		os.Exit(playWrong(strings.TrimPrefix(os.Args[1], wrong)))
	}
	// A server of a test is on an internet that is the test's.
	if code, over := proxytest.Enter(); over {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// launcher is the real one, closed with the test. Hosts that do not give the
// layers skip: nothing of this executor runs there.
func launcher(t testing.TB, change func(*kernel.Config)) *kernel.Ring {
	t.Helper()
	var wg sync.WaitGroup
	c := kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader, Executors: []string{profiles.ExecutorShell}}
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
	a := r.Attestation(t.Context(), profiles.ExecutorShell)
	if a.Layers["mounts"] == "enforced" {
		return r
	}
	if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
		t.Fatalf("this host gives no kernel ring: %v", a.Layers)
	}
	t.Skipf("this host gives no kernel ring: %v", a.Layers)
	return nil
}

// executor is a shell executor over real guests, closed with the test.
func executor(t testing.TB, change func(*shell.Config)) *shell.Executor {
	t.Helper()
	return executorOver(t, launcher(t, nil), change)
}

func executorOver(t testing.TB, l executors.Launcher, change func(*shell.Config)) *shell.Executor {
	t.Helper()
	var wg sync.WaitGroup
	c := shell.Config{Launcher: l, Argv: []string{"/proc/self/exe", verb}, Go: func(f func()) { wg.Go(f) },
		Now: time.Now}
	if change != nil {
		change(&c)
	}
	e, err := shell.New(c)
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
		ResultBytes: ptr(1 << 20), StackBytes: ptr(1 << 20), Processes: ptr(64), Files: ptr(256), RefusedCalls: ptr(64),
	}
}

// shells are the shells that a script may name; ringd interprets them.
var shells = []string{"/usr/bin/bash", "/usr/bin/sh"}

// agent grants the shell executor with some programs of /usr/bin.
func agent(programs ...string) *profiles.Agent {
	a := &profiles.Agent{
		Name: "default", MinTier: profiles.TierOS, Bridges: map[string]profiles.Bridge{}, Limits: limits(),
		Shell: &profiles.Shell{Pipes: true, Redirects: true, Substitution: true, Limits: limits()},
	}
	for _, p := range programs {
		if !strings.HasPrefix(p, "/") {
			p = "/usr/bin/" + p
		}
		a.Shell.Binaries = append(a.Shell.Binaries, profiles.Binary{Path: p, Interpreted: slices.Contains(shells, p)})
	}
	return a
}

func run(a *profiles.Agent, script string) executors.Run {
	return executors.Run{
		ID: "r1", Actor: "me", Agent: a, Revision: "sha256:1", Limits: limits(),
		Program: executors.Program{Name: "plan.sh", Language: "shell", Source: script},
	}
}

// daemon decides acts as the interpreter ring does, and keeps what it saw.
type daemon struct {
	agent  *profiles.Agent
	answer func(context.Context, executors.Question) (executors.Answer, error) // nil: by the agent's profile

	mu      sync.Mutex
	asked   []executors.Question
	console []executors.ConsoleEntry
	idle    func([]string)
}

func (d *daemon) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	d.mu.Lock()
	d.asked = append(d.asked, q)
	d.mu.Unlock()
	if d.answer != nil {
		return d.answer(ctx, q)
	}
	return d.decide(q)
}

func (d *daemon) decide(q executors.Question) (executors.Answer, error) {
	by := profiles.NewDecider(*d.agent, "sha256:1", profiles.Environment{})
	dec := by.Decide(*q.Action)
	if f := q.Action.File; f != nil {
		dec, _ = by.Redirect(f.Op, argv.Known(f.Path), "/")
	}
	b, err := json.Marshal(dec)
	return executors.Answer{Value: b}, err
}

func (d *daemon) Console(e executors.ConsoleEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.console = append(d.console, e)
}

func (d *daemon) Idle(open []string) {
	if d.idle != nil {
		d.idle(open)
	}
}

// acts are what was asked, in short.
func (d *daemon) acts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, q := range d.asked {
		switch a := q.Action; {
		case a.Exec != nil:
			out = append(out, "exec "+strings.Join(a.Exec.Argv, " "))
		case a.File != nil:
			out = append(out, a.File.Op+" "+a.File.Path)
		case a.Variable != nil:
			out = append(out, "set "+a.Variable.Name)
		}
	}
	return out
}

// printed is what a script wrote to one of its streams.
func printed(o executors.Outcome, level string) string {
	var b strings.Builder
	for _, e := range o.Console {
		if e.Level == level {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// play runs a script to its end.
func play(t testing.TB, e *shell.Executor, r executors.Run) (executors.Outcome, *daemon) {
	t.Helper()
	d := &daemon{agent: r.Agent}
	o, err := e.Run(t.Context(), r, d)
	if err != nil {
		t.Fatalf("%s: %v", r.Program.Source, err)
	}
	return o, d
}

func brief(o executors.Outcome) string {
	b, _ := json.Marshal(o)
	return string(b[:min(len(b), 4000)])
}
