package python_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/profiles"
)

// begin starts a session.
func begin(t testing.TB, e *python.Executor, a *profiles.Agent, source string) executors.Outcome {
	t.Helper()
	r := run(a, source)
	r.Session = true
	o := play(t, e, r)
	if o.Snapshot == nil {
		t.Fatalf("no session: %q, %s", o.Unkept, brief(o))
	}
	return o
}

// from is a run that goes on from what a run left.
func from(o executors.Outcome, a *profiles.Agent, source string) executors.Run {
	r := run(a, source)
	r.Session = true
	r.Resume = &executors.Resume{Engine: o.Engine, Snapshot: o.Snapshot, Session: true}
	return r
}

func TestSession(t *testing.T) {
	e := executor(t, func(c *python.Config) { c.Blank = 1 })
	a := agent()
	first := begin(t, e, a, "import json\nx = [1]\nprint('one')")
	second := play(t, e, from(first, a, "x.append(2)\nprint('two')\njson.dumps(x)"))
	if string(second.Value) != `"[1, 2]"` || printed(second, executors.LevelStdout) != "two\n" {
		t.Error(brief(second))
	}
	third := play(t, e, from(second, a, "y = 1\nraise ValueError(x)"))
	if third.State != executors.StateFailed || third.Snapshot == nil {
		t.Fatal(brief(third))
	}
	if o := play(t, e, from(third, a, "[x, y]")); string(o.Value) != "[[1,2],1]" {
		t.Error(brief(o))
	}
	if !e.HasEngine(first.Engine) || bytes.Equal(first.Snapshot, second.Snapshot) {
		t.Error("a token twice, or of no engine")
	}
}

// A token opens one session once, for whoever began it.
func TestSessionTokens(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	first := begin(t, e, a, "x = 1")
	other := agent()
	other.Name = "other"
	forged := first
	forged.Snapshot = bytes.Clone(first.Snapshot)
	forged.Snapshot[len(forged.Snapshot)-1] ^= 1
	somebody := from(first, a, "x")
	somebody.Actor = "you"
	pause := from(first, a, "x")
	pause.Resume.Session = false
	for name, r := range map[string]executors.Run{
		"another agent": from(first, other, "x"), "another actor": somebody, "forged": from(forged, a, "x"), "a pause": pause,
		"empty": from(executors.Outcome{Engine: first.Engine}, a, "x"),
	} {
		if _, err := e.Run(t.Context(), r, &echo{}); !errors.Is(err, executors.ErrSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	play(t, e, from(first, a, "x"))
	if _, err := e.Run(t.Context(), from(first, a, "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "has already continued it") {
		t.Errorf("a token twice: %v", err)
	}
}

// A refusal that nobody catches is an error of the program, and its session goes on; one
// that a run ends says so to the next.
func TestSessionRefused(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	o := play(t, e, from(begin(t, e, a, "x = 41"), a, "x += 1\nimport subprocess"))
	if o.State != executors.StateDenied || o.Snapshot == nil {
		t.Fatal(brief(o))
	}
	if o = play(t, e, from(o, a, "x")); string(o.Value) != "42" {
		t.Fatal(brief(o))
	}
	left := o
	if o = play(t, e, from(o, a, "import os\nos._exit(3)")); o.Snapshot != nil ||
		!strings.Contains(o.Unkept, "ended as failed") {
		t.Fatal(brief(o))
	}
	if _, err := e.Run(t.Context(), from(left, a, "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "ended with its last run: the run ended as failed") {
		t.Error(err)
	}
}

func TestSessionBounds(t *testing.T) {
	l := launcher(t, nil)
	e := executorOver(t, l, func(c *python.Config) { c.Sessions = 2 })
	a := agent()
	first, second := begin(t, e, a, "x = 1"), begin(t, e, a, "x = 2")
	begin(t, e, a, "x = 3")
	if _, err := e.Run(t.Context(), from(first, a, "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "keeps 2 sessions") {
		t.Errorf("the oldest of three: %v", err)
	}
	if o := play(t, e, from(second, a, "x")); string(o.Value) != "2" {
		t.Error(brief(o))
	}

	none := executorOver(t, l, func(c *python.Config) { c.Sessions = 0 })
	r := run(a, "1")
	r.Session = true
	if o := play(t, none, r); o.State != executors.StateDone || o.Snapshot != nil || o.Unkept == "" {
		t.Error(brief(o))
	}
	small := executorOver(t, l, func(c *python.Config) { c.SessionBytes = 64 << 20 })
	r.Program.Source = "x = bytearray(100 << 20)"
	if o := play(t, small, r); o.Snapshot != nil || !strings.Contains(o.Unkept, "memory") {
		t.Error(brief(o))
	}
}

// Sessions of one agent do not end the session of another, or of another actor.
func TestSessionsAreFair(t *testing.T) {
	e := executor(t, func(c *python.Config) { c.Sessions = 3 })
	greedy, benign := agent(), agent()
	benign.Name = "benign"
	other := begin(t, e, benign, "x = 'mine'")
	r := run(greedy, "x = 'yours'")
	r.Session, r.Actor = true, "you"
	yours := play(t, e, r)
	first := begin(t, e, greedy, "x = 1")
	var last executors.Outcome
	for range 3 {
		last = begin(t, e, greedy, "x = 2")
	}
	if o := play(t, e, from(other, benign, "x")); string(o.Value) != `"mine"` {
		t.Error(brief(o))
	}
	next := from(yours, greedy, "x")
	next.Actor = "you"
	if o := play(t, e, next); string(o.Value) != `"yours"` {
		t.Error(brief(o))
	}
	if o := play(t, e, from(last, greedy, "x")); string(o.Value) != "2" {
		t.Error(brief(o))
	}
	if _, err := e.Run(t.Context(), from(first, greedy, "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) {
		t.Errorf("the oldest of the agent with the most: %v", err)
	}
}

func TestSessionIdle(t *testing.T) {
	l := launcher(t, nil)
	e := executorOver(t, l, func(c *python.Config) { c.Idle = time.Millisecond })
	a := agent()
	first := begin(t, e, a, "x = 1")
	for len(l.Status()) > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := e.Run(t.Context(), from(first, a, "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "it was not used for 1ms") {
		t.Error(err)
	}
}

// What threads write between two runs is of neither.
func TestSessionStray(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	first := begin(t, e, a, "import threading, time, os\ngo = threading.Event()\ndone = threading.Event()\n"+
		"def f():\n  time.sleep(0.1)\n  os.write(1, b'stray')\n  done.set()\nthreading.Thread(target=f, daemon=True).start()\nos.write(1, b'first')")
	if printed(first, executors.LevelStdout) != "first" {
		t.Error(brief(first))
	}
	time.Sleep(300 * time.Millisecond)
	o := play(t, e, from(first, a, "done.wait()\nprint('second')"))
	if printed(o, executors.LevelStdout) != "second\n" {
		t.Error(brief(o))
	}
}

// A session whose interpreter is killed while it waits is gone, and says so.
func TestSessionKilled(t *testing.T) {
	l := &kept{Launcher: launcher(t, nil)}
	e := executorOver(t, l, nil)
	a := agent()
	first := begin(t, e, a, "x = 1")
	if err := l.kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), from(first, a, "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) {
		t.Error(err)
	}
}

// Nobody pays for what threads compute between two runs, so they may not.
func TestSessionComputes(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	quiet := begin(t, e, a, "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"+
		"x = 1")
	first := begin(t, e, a, "import threading\ndef f():\n  while True: pass\nthreading.Thread(target=f, "+
		"daemon=True).start()")
	for n, _ := e.Living(); n > 1; n, _ = e.Living() {
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := e.Run(t.Context(), from(first, a, "1"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "used the processor while it waited") {
		t.Error(err)
	}
	if o := play(t, e, from(quiet, a, "x")); string(o.Value) != "1" {
		t.Error(brief(o))
	}
}

// kept keeps the guests that were launched.
type kept struct {
	executors.Launcher

	mu  sync.Mutex
	all []executors.Guest
}

func (k *kept) Launch(ctx context.Context, s executors.Spec) (executors.Guest, error) {
	g, err := k.Launcher.Launch(ctx, s)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.all = append(k.all, g)
	}
	return g, err
}

// A session that is forgotten is gone at once, with its memory; no other is.
func TestSessionForgotten(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	first, second := begin(t, e, a, "x = 1"), begin(t, e, a, "x = 2")
	if n, size := e.Living(); n != 2 || size < 1<<20 {
		t.Errorf("%d sessions with %d bytes", n, size)
	}
	e.Forget([]byte("no token"))
	e.Forget(first.Snapshot)
	e.Forget(first.Snapshot)
	if n, _ := e.Living(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	var gone *executors.SessionError
	if _, err := e.Run(t.Context(), from(first, a, "x"), &echo{}); !errors.As(err, &gone) ||
		!errors.Is(err, executors.ErrSnapshot) || !strings.Contains(gone.Why, "it was dropped") {
		t.Errorf("a forgotten session: %v", err)
	}
	if o := play(t, e, from(second, a, "x")); string(o.Value) != "2" {
		t.Error(brief(o))
	}
}

// A session stays no longer than the policy lets it be unused.
func TestSessionAge(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	a.Sessions = &profiles.Sessions{AgeMillis: 1, Bytes: 1 << 20}
	first := begin(t, e, a, "x = 1")
	for n, _ := e.Living(); n > 0; n, _ = e.Living() {
		time.Sleep(time.Millisecond)
	}
	if _, err := e.Run(t.Context(), from(first, a, "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "it was not used for 1ms") {
		t.Errorf("%v", err)
	}
}

// A policy that grants no sessions any more ends those that wait when it comes.
func TestSessionNotGrantedAnyMore(t *testing.T) {
	var said []python.Notice
	e := executor(t, func(c *python.Config) { c.Notice = func(n python.Notice) { said = append(said, n) } })
	a := agent()
	begin(t, e, a, "x = 1")
	next := *a
	next.Sessions = nil
	e.Reload("sha256:2", func(string) *profiles.Agent { return &next })(t.Context())
	if n, _ := e.Living(); n != 0 || len(said) != 1 || !strings.Contains(said[0].Ended, "grants no sessions") {
		t.Errorf("%d sessions, told %+v", n, said)
	}
}

// kill ends them as anybody may on the host.
func (k *kept) kill() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	for _, g := range k.all {
		err = errors.Join(err, g.Kill())
	}
	return err
}

// A run that no interpreter could serve does not cost its session.
func TestSessionWrongRun(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	first := begin(t, e, a, "x = 1")
	wrong := from(first, a, "x")
	wrong.Program.Language = "js"
	if _, err := e.Run(t.Context(), wrong, &echo{}); err == nil {
		t.Error("a program of another language ran")
	}
	if o := play(t, e, from(first, a, "x")); string(o.Value) != "1" {
		t.Error(brief(o))
	}
}
