package python_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// TestRun runs on every interpreter: its own places come out right although its
// program stands nowhere.
func TestRun(t *testing.T) {
	l := launcher(t, nil)
	const program = `import sys, json, os, decimal, hashlib
print('out')
print('err', file=sys.stderr)
[1+1, json.dumps({}), sys.executable, sys.prefix == sys.base_prefix, os.getcwd(), os.path.exists(os.__file__), os.path.exists(sys.executable)]`
	for _, path := range interpreters(t) {
		t.Run(path, func(t *testing.T) {
			env := environment(t, path)
			e := executorOver(t, l, func(c *python.Config) { c.Environments = fixed{Environment: env} })
			o := play(t, e, run(agent(), program))
			want := `[2,"{}","` + env.Interpreter + `",true,"/workspace",true,false]`
			if o.State != executors.StateDone || string(o.Value) != want ||
				printed(o, executors.LevelStdout) != "out\n" ||
				printed(o, executors.LevelStderr) != "err\n" || o.Attestation.Tier != profiles.TierOS {
				t.Error(brief(o))
			}
			if !strings.HasPrefix(o.Engine, "python/1 cpython-"+env.Version) {
				t.Errorf("engine %q", o.Engine)
			}
		})
	}
}

// TestEnds: each way to end is told from the others.
func TestEnds(t *testing.T) {
	e := executor(t, func(c *python.Config) { c.Blank = 1 })
	for _, tt := range []struct {
		name, program string
		state         executors.State
		error         string // name
		exit          int
		change        func(*profiles.Limits)
	}{
		{"exit", "import sys\nsys.exit(3)", executors.StateFailed, "SystemExit", 3, nil},
		{"os._exit", "import os\nprint('x', flush=True)\nos._exit(5)", executors.StateFailed, "Exited", 5, nil},
		{"os._exit 0", "import os\nos._exit(0)", executors.StateFailed, "Exited", 0, nil},
		{"abort", "import os\nprint('x', flush=True)\nos.abort()", executors.StateFailed, "Crashed", 134, nil},
		{"kills itself", "import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)", executors.StateFailed, "Killed", 137, nil},
		{"loop", "while True: pass", executors.StateLimit, "Timeout", 137, func(l *profiles.Limits) { l.CPUMillis = ptr(300) }},
		{"sleep", "import time\ntime.sleep(60)", executors.StateLimit, "Timeout", 137, func(l *profiles.Limits) { l.WallMillis = ptr(300) }},
		{"catastrophe", "import re\nre.match('(a+)+b', 'a'*40)", executors.StateLimit, "Timeout", 137, func(l *profiles.Limits) { l.CPUMillis = ptr(300) }},
		{"deaf loop", "import signal\nfor s in range(1, 32):\n  try: signal.signal(s, signal.SIG_IGN)\n  except Exception: pass\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass",
			executors.StateLimit, "Timeout", 137, func(l *profiles.Limits) { l.CPUMillis = ptr(300) }},
		{"memory", "x = []\nwhile True: x.append(bytearray(10 << 20))", executors.StateFailed, "MemoryError", 1, func(l *profiles.Limits) { l.MemoryBytes = ptr(64 << 20) }},
		{"one large piece", "bytearray(1 << 40)", executors.StateFailed, "MemoryError", 1, nil},
		{"recursion", "def f(): return f()\nf()", executors.StateFailed, "RecursionError", 1, nil},
		{"flood", "while True: print('x' * 1000)", executors.StateLimit, "OutputTooLarge", 137, nil},
		{"flood of errors", "import sys\nwhile True: sys.stderr.write('x' * 1000)", executors.StateLimit, "OutputTooLarge", 137, nil},
		{"flood of bytes", "import os\nwhile True: os.write(1, b'x')", executors.StateLimit, "OutputTooLarge", 137, func(l *profiles.Limits) { l.OutputBytes = ptr(2000) }},
		{"large value", "'x' * (4 << 20)", executors.StateLimit, "ResultTooLarge", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if o := play(t, e, run(agent(), "1")); tt.name == "memory" &&
				o.Attestation.Layers["rlimits"] == "unavailable" {
				t.Skip("with the race detector the memory of a guest cannot be limited")
			}
			r := run(agent(), tt.program)
			if tt.change != nil {
				tt.change(&r.Limits)
				tt.change(&r.Agent.Python.Limits)
			}
			o := play(t, e, r)
			if o.State != tt.state || o.ExitCode != tt.exit || o.Error == nil || tt.error != "" &&
				o.Error.Name != tt.error {
				t.Error(brief(o))
			}
			if size := int64(len(printed(o, executors.LevelStdout)) +
				len(printed(o, executors.LevelStderr))); size > *r.Limits.OutputBytes {
				t.Errorf("%d bytes of output", size)
			}
		})
	}
}

// TestMemory: an interpreter without memory cannot always say so; the host does then.
func TestMemory(t *testing.T) {
	e := executor(t, nil)
	for _, program := range []string{
		"x = {}\nwhile True: x[len(x)] = [x]", "x = []\nwhile True:\n  try: x.append('y' * len(x))\n  except MemoryError: pass", "import os\nx = b'x' * (100 << 20)\nos._exit(1)",
	} {
		a := agent()
		a.Python.Limits.MemoryBytes = ptr(64 << 20)
		r := run(a, program)
		r.Limits.CPUMillis, r.Limits.MemoryBytes = ptr(2000), ptr(64<<20)
		o := play(t, e, r)
		switch {
		case o.State == executors.StateFailed && o.Error.Name == "MemoryError":
		case o.State == executors.StateLimit && (o.Error.Name == "OutOfMemory" || o.Error.Name == "Timeout") &&
			o.ExitCode == 137:
		default:
			t.Error(brief(o))
		}
	}
}

// TestLocks: a program that takes memory of the kernel by locks of files ends at its
// limit of memory, and is told what it held; one with some comes to its end.
func TestLocks(t *testing.T) {
	e := executor(t, nil)
	const program = "import fcntl, time\nf = open('held', 'w')\nfor i in range(%[1]d, 0, -1): fcntl.lockf(f, " +
		"fcntl.LOCK_EX, 1, 2 * i)\nif %[1]d > 10000: time.sleep(1000)\n%[1]d"
	o := play(t, e, run(agent(), fmt.Sprintf(program, 12_000)))
	if o.State != executors.StateLimit || o.Error == nil || o.Error.Name != "OutOfMemory" || o.ExitCode != 137 ||
		!strings.Contains(o.Error.Message, "held 10000 locks of files or more") {
		t.Error(brief(o))
	}
	if o := play(t, e, run(agent(), fmt.Sprintf(program, 2000))); o.State != executors.StateDone ||
		string(o.Value) != "2000" {
		t.Errorf("a program with some locks: %s", brief(o))
	}
}

// TestPeak: the memory of a program is its own, however much the process has that
// started its guest: one that crashes has not run out of it.
func TestPeak(t *testing.T) {
	ballast := bytes.Repeat([]byte{1}, 256<<20)
	e := executor(t, nil)
	if o := play(t, e, run(agent(), "1")); o.Usage.PeakBytes <= 0 || o.Usage.PeakBytes > int64(len(ballast))/2 {
		t.Errorf("%d bytes", o.Usage.PeakBytes)
	}
	r := run(agent(), "import os\nos.kill(os.getpid(), 11)")
	r.Limits.MemoryBytes = ptr(128 << 20)
	if o := play(t, e, r); o.State != executors.StateFailed || o.Error.Name != "Crashed" {
		t.Error(brief(o))
	}
	runtime.KeepAlive(ballast)
}

// TestProcesses: no program starts another one, nor a second of its own.
func TestProcesses(t *testing.T) {
	e := executor(t, func(c *python.Config) { c.Blank = 1 })
	for name, program := range map[string]string{
		"fork":        "import os\nos.fork()",
		"fork bomb":   "import os\nfor i in range(2000):\n  try: os.fork()\n  except OSError as err: pass\nraise OSError('none')",
		"exec":        "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
		"spawn":       "import os, sys\nos.posix_spawn('/bin/sh', ['sh'], {})",
		"system":      "import os\nif os.system('true') != 0: raise OSError('none')",
		"subprocess":  "import asyncio.base_events as b\nb.subprocess.Popen(['/bin/true'])",
		"exec itself": "import os\nos.execv('/proc/self/exe', ['python3', '-c', 'print(1)'])",
	} {
		for _, unguarded := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				at := e
				if unguarded {
					at = executor(t, func(c *python.Config) { c.Unguarded = true })
					if name == "fork" || name == "fork bomb" {
						t.Skip("a process of its own is none of another program's: the ring bounds how many")
					}
				}
				o := play(t, at, run(agent(), program))
				if o.State == executors.StateDone || strings.Contains(printed(o, executors.LevelStdout), "1") {
					t.Error(brief(o))
				}
			})
		}
	}
}

// TestMany: programs that run at once share nothing.
func TestMany(t *testing.T) {
	l := launcher(t, nil)
	e := executorOver(t, l, func(c *python.Config) { c.Blank = 2 })
	a := agent()
	var wg sync.WaitGroup
	values := make([]string, 20)
	for i := range values {
		wg.Go(func() {
			r := run(a, "import os, tempfile\nopen('f', 'x').close()\nopen('/tmp/f', 'x').close()\nprint('line')\n"+
				"import ringd\n"+
				"[ringd.call('echo', ringd.inputs[\"n\"]), hash('a'), os.listdir('/workspace')]")
			r.Inputs = map[string]json.RawMessage{"n": json.RawMessage(itoa(i))}
			o, err := e.Run(t.Context(), r, &echo{})
			if err != nil || o.State != executors.StateDone || printed(o, executors.LevelStdout) != "line\n" {
				t.Errorf("%d: %v %s", i, err, brief(o))
				return
			}
			values[i] = string(o.Value)
		})
	}
	wg.Wait()
	hashes := map[string]bool{}
	for i, v := range values {
		var got []any
		if err := json.Unmarshal([]byte(v), &got); err != nil || len(got) != 3 {
			t.Fatalf("%d: %s", i, v)
		}
		if n, _ := json.Marshal(got[0]); string(n) != "["+itoa(i)+"]" {
			t.Errorf("%d: %s", i, v)
		}
		h, _ := json.Marshal(got[1])
		hashes[string(h)] = true
	}
	if len(hashes) != len(values) {
		t.Errorf("%d hash secrets of %d interpreters", len(hashes), len(values))
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// TestKilled: a guest that is killed half way is told as such, and the executor goes on.
func TestKilled(t *testing.T) {
	l := &kept{Launcher: launcher(t, nil)}
	e := executorOver(t, l, nil)
	begun := make(chan struct{})
	h := &echo{line: func(executors.ConsoleEntry) { close(begun) }}
	go func() {
		<-begun
		_ = l.kill()
	}()
	o, err := e.Run(t.Context(), run(agent(), "print('x', flush=True)\nwhile True: pass"), h)
	if err != nil || o.State != executors.StateFailed || o.Error.Name != "Killed" {
		t.Error(err, brief(o))
	}
	if o := play(t, e, run(agent(), "1")); o.State != executors.StateDone {
		t.Error(brief(o))
	}
}

// TestGoneWhileItWaited: a ready guest that has died costs a run nothing but time.
func TestGoneWhileItWaited(t *testing.T) {
	l := &kept{Launcher: launcher(t, nil)}
	e := executorOver(t, l, func(c *python.Config) { c.Blank = 1 })
	if err := e.Warm(t.Context(), agent(), "sha256:1"); err != nil {
		t.Fatal(err)
	}
	if err := l.kill(); err != nil {
		t.Fatal(err)
	}
	if o := play(t, e, run(agent(), "1")); o.State != executors.StateDone {
		t.Error(brief(o))
	}
}

// TestAllGoneWhileTheyWaited: however many of those that waited are none any more, the
// program has one of its own.
func TestAllGoneWhileTheyWaited(t *testing.T) {
	l := &kept{Launcher: launcher(t, nil)}
	const many = 5
	e := executorOver(t, l, func(c *python.Config) { c.Blank, c.Max = many, many })
	for range many {
		if err := e.Warm(t.Context(), agent(), "sha256:1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.kill(); err != nil {
		t.Fatal(err)
	}
	if o := play(t, e, run(agent(), "1")); o.State != executors.StateDone {
		t.Error(brief(o))
	}
}

// TestClose: programs under way end with their contexts, and Close waits for them.
func TestClose(t *testing.T) {
	l := launcher(t, nil)
	e := executorOver(t, l, func(c *python.Config) { c.Blank = 1 })
	begin(t, e, agent(), "x = 1")
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	over := make(chan executors.Outcome, 1)
	go func() {
		o, _ := e.Run(ctx, run(agent(), "print('x', flush=True)\nwhile True: pass"),
			&echo{line: func(executors.ConsoleEntry) { close(begun) }})
		over <- o
	}()
	<-begun
	cancel()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if o := <-over; o.State != executors.StateCancelled {
		t.Error(brief(o))
	}
	if live := l.Status(); len(live) > 0 {
		t.Errorf("left behind: %+v", live)
	}
	if _, err := e.Run(t.Context(), run(agent(), "1"), &echo{}); !errors.Is(err, pool.ErrClosed) {
		t.Error(err)
	}
}

// TestLeaks: runs and sessions leave no guest and no descriptor.
func TestLeaks(t *testing.T) {
	l := launcher(t, nil)
	e := executorOver(t, l, func(c *python.Config) { c.Sessions = 2 })
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	round := func() {
		play(t, e, run(agent(), "1"))
		play(t, e, run(agent(), "import os\nos._exit(1)"))
		r := run(agent(), "while True: print('x' * 1000)")
		play(t, e, r)
		o := begin(t, e, agent(), "x = 1")
		play(t, e, from(o, agent(), "import os\nos._exit(1)"))
	}
	round()
	before := descriptors()
	for range 5 {
		round()
	}
	if live := l.Status(); len(live) > 0 {
		t.Errorf("guests left behind: %+v", live)
	}
	if after := descriptors(); after > before {
		t.Errorf("%d descriptors, and %d before", after, before)
	}
}

// TestStart: what cannot start is a refusal that says why.
func TestStart(t *testing.T) {
	e := executor(t, nil)
	a := agent()
	a.Python = nil
	var denial *profiles.Denial
	if _, err := e.Run(t.Context(), run(a, "1"), &echo{}); !errors.As(err, &denial) ||
		denial.Decision.Code != profiles.CodeExecutorNotGranted {
		t.Error(err)
	}
	if _, err := e.Run(t.Context(), executors.Run{}, &echo{}); !errors.As(err, &denial) {
		t.Error(err)
	}
	strong := agent()
	strong.MinTier = profiles.TierMicroVM
	if _, err := e.Run(t.Context(), run(strong, "1"), &echo{}); !errors.As(err, &denial) ||
		denial.Decision.Code != profiles.CodeTierUnavailable {
		t.Error(err)
	}
	wrong := executor(t, func(c *python.Config) {
		env := environment(t, interpreter)
		env.Version = "3.1"
		c.Environments = fixed{Environment: env}
	})
	if _, err := wrong.Run(t.Context(), run(agent(), "1"), &echo{}); err == nil ||
		!strings.Contains(err.Error(), "answered, not") {
		t.Error(err)
	}
	none := executor(t, func(c *python.Config) {
		env := environment(t, interpreter)
		env.Own = slices.Delete(slices.Clone(env.Own), 0, 1)
		env.Code = nil
		c.Environments = fixed{Environment: env}
	})
	if _, err := none.Run(t.Context(), run(agent(), "1"), &echo{}); err == nil ||
		!strings.Contains(err.Error(), "the interpreter said") {
		t.Error(err)
	}
	missing := executor(t, func(c *python.Config) { c.Environments = unavailable{} })
	if _, err := missing.Run(t.Context(), run(agent(), "1"), &echo{}); !errors.As(err, &denial) ||
		denial.Decision.Code != profiles.CodeExecutorUnavailable {
		t.Error(err)
	}
	if _, err := python.New(python.Config{}); err == nil {
		t.Error("an executor of nothing")
	}
}

type unavailable struct{ fixed }

func (unavailable) Of(context.Context, *profiles.Agent) (env pyproto.Environment, err error) {
	return env, &executors.Unavailable{Text: "there is none", Fix: "install it"}
}
