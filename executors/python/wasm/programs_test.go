package wasm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/wasm"
	"github.com/ringd/ringd/profiles"
)

// printed is what a run wrote to one of its streams.
func printed(out executors.Outcome, level string) string {
	var b strings.Builder
	for _, e := range out.Console {
		if e.Level == level {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func lines(l ...string) string { return strings.Join(l, "\n") }

// want is what a test says of an outcome; what is zero is not looked at, but for state
// and error.
type want struct {
	state  executors.State
	err    string // name of the error
	value  string
	stdout string
	stderr string // is in it
	line   int    // of the error
	exit   int
	repr   bool
}

func (w want) check(t *testing.T, out executors.Outcome, err error) {
	t.Helper()
	name, line := "", 0
	if out.Error != nil {
		name = out.Error.Name
		if len(out.Error.Frames) > 0 {
			line = out.Error.Frames[0].Line
			if file := out.Error.Frames[0].File; w.line > 0 && file != "main.py" {
				t.Errorf("file %q", file)
			}
		}
	}
	if err != nil || out.State != w.state || name != w.err {
		t.Fatalf("%s %+v %v\n%s", out.State, out.Error, err, printed(out, executors.LevelStderr))
	}
	if w.value != "" && string(out.Value) != w.value || out.Repr != w.repr {
		t.Errorf("value %s, repr %v, want %s", out.Value, out.Repr, w.value)
	}
	if got := printed(out, executors.LevelStdout); got != w.stdout {
		t.Errorf("stdout %q, want %q", got, w.stdout)
	}
	if got := printed(out, executors.LevelStderr); !strings.Contains(got, w.stderr) {
		t.Errorf("stderr %q, want %q in it", got, w.stderr)
	}
	if w.line != 0 && line != w.line || out.ExitCode != w.exit {
		t.Errorf("line %d, exit code %d, want %d and %d", line, out.ExitCode, w.line, w.exit)
	}
}

func TestPrograms(t *testing.T) {
	e := executor(t, nil)
	for _, tt := range []struct {
		name, source string
		want         want
	}{
		{"value", "x = {'a': [1, None, 2.5]}\nx", want{state: "done", value: `{"a":[1,null,2.5]}`}},
		{"value that is not JSON", "object", want{state: "done", value: `"<class 'object'>"`, repr: true}},
		{"no value", "x = 1", want{state: "done", value: "null"}},
		{"streams", "import sys\nprint('out é')\nprint('err', file=sys.stderr)", want{state: "done", stdout: "out é\n", stderr: "err\n"}},
		{"standard input", "input() + input()", want{state: "done", value: `"onetwo"`}},
		{"exception", "def f():\n    1 / 0\nf()", want{state: "failed", err: "ZeroDivisionError", line: 2, exit: 1, stderr: "ZeroDivisionError"}},
		{"syntax", "x = 1\ny = (", want{state: "failed", err: "SyntaxError", exit: 1, stderr: "SyntaxError"}},
		{"exit code", "import sys\nsys.exit(3)", want{state: "failed", err: "SystemExit", exit: 3}},
		{"os._exit", "import os\nos._exit(4)", want{state: "failed", err: "Exited", exit: 4}},
		{"inputs and a call", "import ringd\nringd.call('tools.echo', ringd.inputs['n'], 2)", want{state: "done", value: "[41,2]"}},
		{"tools", "import ringd\nringd.tools.echo(1)", want{state: "done", value: "[1]"}},
		{"tasks", lines("import asyncio, ringd", "async def one(n):", "    await asyncio.sleep(0.001 * n)",
			"    return await ringd.aio.call('tools.echo', n)", "async def all():", "    return await asyncio.gather(*map(one, range(4)))",
			"asyncio.run(all())"), want{state: "done", value: "[[0],[1],[2],[3]]"}},
		{"tasks that wait for each other", lines("import asyncio", "async def f():", "    await asyncio.Event().wait()", "asyncio.run(f())"),
			want{state: "failed", err: "RuntimeError", line: 4, exit: 1, stderr: "nothing else can wake one"}},
		{"sleep", lines("import time", "t = time.monotonic()", "time.sleep(0.05)", "time.monotonic() - t >= 0.05"), want{state: "done", value: "true"}},
		{"sleep of no time", lines("import time", "try:", "    time.sleep(-1)", "except ValueError as e:", "    r = str(e)", "r"),
			want{state: "done", value: `"sleep length must be non-negative"`}},
		{"threads", lines("import threading", "threading.Thread(target=print).start()"),
			want{state: "failed", err: "RuntimeError", line: 2, exit: 1, stderr: "can't start new thread"}},
		{"files in its folder", lines("import os, tempfile, pathlib", "with tempfile.TemporaryDirectory() as d:", "    p = pathlib.Path(d, 'a')",
			"    p.write_text('hi'); p.rename(d + '/b')", "    r = os.listdir(d), open(d + '/b').read()", "r"), want{state: "done", value: `[["b"],"hi"]`}},
		{"sqlite", lines("import sqlite3", "db = sqlite3.connect('x.db')", "db.execute('create table t (n)')", "db.execute('insert into t values (7)')",
			"db.commit()", "db.execute('select n from t').fetchone()[0]"), want{state: "done", value: "7"}},
		{"a denied module", "import subprocess", want{state: "denied", err: "ModuleNotFoundError", line: 1, exit: 1, stderr: `import of "subprocess" is not allowed`}},
		{"a third-party module", "import requests", want{state: "denied", err: "ModuleNotFoundError", line: 1, exit: 1, stderr: "requests"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(tt.source)
			r.Program.Stdin = []byte("one\ntwo\n")
			r.Inputs = map[string]json.RawMessage{"n": json.RawMessage("41")}
			r.Agent.Bridges = map[string]profiles.Bridge{"tools.echo": {}}
			out, err := e.Run(t.Context(), r, &executorstest.Host{})
			tt.want.check(t, out, err)
		})
	}
}

// The host's limits hold whatever the program does, and what was printed before is there.
func TestLimits(t *testing.T) {
	e := executor(t, nil)
	for _, tt := range []struct {
		name, source string
		change       func(*profiles.Limits)
		want         want
	}{
		{"processor time", "print('on', flush=True)\nwhile True: pass", func(l *profiles.Limits) { l.CPUMillis = ptr[int64](300) },
			want{state: "limit", err: "Timeout", stdout: "on\n"}},
		{"wall time", "import time\ntime.sleep(1000)", func(l *profiles.Limits) { l.WallMillis = ptr[int64](300) }, want{state: "limit", err: "Timeout"}},
		{"one call of C", "x = 9 ** 9 ** 9", func(l *profiles.Limits) { l.CPUMillis = ptr[int64](300) }, want{state: "limit", err: "Timeout"}},
		{"memory", "x = []\nwhile True: x.append(bytearray(1 << 20))", nil, want{state: "limit", err: "OutOfMemory", exit: 1, stderr: "MemoryError"}},
		{"memory that is caught", lines("try:", "    x = bytearray(1 << 30)", "except MemoryError:", "    x = 7", "x"), nil, want{state: "done", value: "7"}},
		{"files", lines("n = 0", "try:", "    with open('f', 'wb', buffering=0) as f:", "        while True: n += f.write(bytes(1 << 20))",
			"except OSError:", "    pass", "n >> 20"), nil, want{state: "done", value: "32"}},
		{"output", "while True: print('x' * 1000)", func(l *profiles.Limits) { l.OutputBytes = ptr[int64](10) },
			want{state: "limit", err: "OutputTooLarge", stdout: "xxxxxxxxx"}},
		{"result", "'x' * (1 << 21)", nil, want{state: "limit", err: "ResultTooLarge"}},
		{"recursion", "def f(): f()\nf()", nil, want{state: "failed", err: "RecursionError", line: 1, exit: 1, stderr: "RecursionError"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(tt.source)
			if tt.change != nil {
				tt.change(&r.Limits)
			}
			out, err := e.Run(t.Context(), r, &executorstest.Host{})
			tt.want.check(t, out, err)
		})
	}
}

// The interpreter's own stack is that of WebAssembly: what fills it ends the program,
// and nothing else.
func TestDeepStack(t *testing.T) {
	e := executor(t, nil)
	out, err := e.Run(t.Context(),
		run(lines("import sys", "sys.setrecursionlimit(10 ** 7)", "x = []", "for _ in range(10 ** 6): x = [x]",
			"repr(x)")), &executorstest.Host{})
	if err != nil || out.State == executors.StateDone || out.State == executors.StateUnknown {
		t.Errorf("%s %+v %v", out.State, out.Error, err)
	}
	want{state: "done", value: "2"}.again(t, e)
}

func (w want) again(t *testing.T, e *wasm.Executor) {
	t.Helper()
	out, err := e.Run(t.Context(), run("1 + 1"), &executorstest.Host{})
	w.check(t, out, err)
}

func TestCancel(t *testing.T) {
	e := executor(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	out, err := e.Run(ctx, run("print('on', flush=True)\nwhile True: pass"), &executorstest.Host{Line: cancel})
	want{state: "cancelled", err: "Cancelled", stdout: "on\n"}.check(t, out, err)
}

// What this engine does not have is refused before anything runs.
func TestRefuses(t *testing.T) {
	e := executor(t, nil)
	none := run("1")
	none.Agent = &profiles.Agent{Name: "a"}
	kept := run("1")
	kept.Session = true
	for name, tt := range map[string]struct {
		run  executors.Run
		code profiles.Code
	}{"not granted": {none, profiles.CodeExecutorNotGranted}, "a session": {kept, profiles.CodeExecutorUnavailable}} {
		var denial *profiles.Denial
		if _, err := e.Run(t.Context(), tt.run, &executorstest.Host{}); !errors.As(err, &denial) ||
			denial.Decision.Code != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	resumed := run("1")
	resumed.Resume = &executors.Resume{Session: true}
	if _, err := e.Run(t.Context(), resumed, &executorstest.Host{}); !errors.Is(err, executors.ErrSnapshot) {
		t.Error(err)
	}
}
