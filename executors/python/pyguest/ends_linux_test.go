package pyguest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// TestEnds shows how programs end, as the host is told.
func TestEnds(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, c := range map[string]struct {
			program string
			state   executors.State
			code    int
			errName string // of the error, and behind a space how its message begins
			value   string
			repr    bool
		}{
			"no value":          {"x = 1", executors.StateDone, 0, "", "null", false},
			"empty":             {"", executors.StateDone, 0, "", "null", false},
			"comment":           {"# nothing", executors.StateDone, 0, "", "null", false},
			"json":              {"{'a': [1, 2.5, None, True, 'ä']}", executors.StateDone, 0, "", `{"a":[1,2.5,null,true,"\u00e4"]}`, false},
			"last only":         {"1\n2\nif 1:\n    3", executors.StateDone, 0, "", "null", false},
			"many lines":        {"x = 1\nmax(\n  x,\n  2\n)\n", executors.StateDone, 0, "", "2", false},
			"lines of text":     {"x = 1\n\"\"\"a\nb\"\"\"\n", executors.StateDone, 0, "", `"a\nb"`, false},
			"star":              {"x = [1]\n*x, 2", executors.StateDone, 0, "", "[1,2]", false},
			"otherwise":         {"if 0:\n    1\nelse:\n    2", executors.StateDone, 0, "", "null", false},
			"assigned":          {"y = 3\nx = y", executors.StateDone, 0, "", "null", false},
			"joined":            {"x = 1 + \\\n2\nx", executors.StateDone, 0, "", "3", false},
			"semicolon":         {"x = 4; x", executors.StateDone, 0, "", "4", false},
			"repr":              {"1j", executors.StateDone, 0, "", `"1j"`, true},
			"repr of members":   {"[1, object]", executors.StateDone, 0, "", `"[1, <class 'object'>]"`, true},
			"broken repr":       {"class C:\n    def __repr__(self): 1/0\nC()", executors.StateDone, 0, "", `"<repr of a C failed: ZeroDivisionError>"`, true},
			"long repr":         {"class C:\n    def __repr__(self): return '\\ud800' * 10000\nC()", executors.StateDone, 0, "", `"` + strings.Repeat("?", 8190) + `"`, true},
			"named tuple":       {"import collections\ncollections.namedtuple('P', 'x y')(1, 2)", executors.StateDone, 0, "", "[1,2]", false},
			"own dict":          {"class D(dict):\n    def items(self): 1/0\nD(a=1)", executors.StateDone, 0, "", `{"a":1}`, false},
			"own text":          {"class S(str):\n    def __str__(self): 1/0\nS('x')", executors.StateDone, 0, "", `"x"`, false},
			"too large":         {"'x' * 20000", executors.StateLimit, 0, "ResultTooLarge the result is larger than 8192 bytes", "", false},
			"too many":          {"[0] * 5000", executors.StateLimit, 0, "ResultTooLarge", "", false},
			"exit":              {"exit_code = 7\nraise SystemExit(exit_code)", executors.StateFailed, 7, "SystemExit the program ended with exit code 7", "", false},
			"exit zero":         {"raise SystemExit(0)", executors.StateDone, 0, "", "null", false},
			"exit negative":     {"raise SystemExit(-1)", executors.StateFailed, 255, "SystemExit", "", false},
			"exit text":         {"raise SystemExit('bye')", executors.StateFailed, 1, "SystemExit", "", false},
			"exit true":         {"raise SystemExit(True)", executors.StateFailed, 1, "SystemExit", "", false},
			"interrupt":         {"raise KeyboardInterrupt", executors.StateFailed, 130, "KeyboardInterrupt", "", false},
			"recursion":         {"def f(): f()\nf()", executors.StateFailed, 1, "RecursionError", "", false},
			"small stack":       {"import sys\nsys.setrecursionlimit(40)\ndef f(): f()\nf()", executors.StateFailed, 1, "RecursionError", "", false},
			"syntax":            {"x = 1\ndef", executors.StateFailed, 1, "SyntaxError", "", false},
			"zero byte":         {"x = 1\x00", executors.StateFailed, 1, "", "", false},
			"not utf-8":         {"x = '\xff'", executors.StateFailed, 1, "SyntaxError", "", false},
			"coding":            {"# -*- coding: latin-1 -*-\n'\xe4'", executors.StateDone, 0, "", `"\u00e4"`, false},
			"deep source":       {strings.Repeat("(", 5000), executors.StateFailed, 1, "", "", false},
			"host error":        {"import ringd\nringd.call('deny')", executors.StateFailed, 1, "CapabilityDenied not today", "", false},
			"unknown error":     {"import ringd\nringd.call('new')", executors.StateFailed, 1, "Unheard of", "", false},
			"broken str":        {"class E(Exception):\n    def __str__(self): 1/0\nraise E", executors.StateFailed, 1, "E <str of a E failed: ZeroDivisionError>", "", false},
			"name is no text":   {"import ringd\ne = ringd.Error('x')\ne.name = 5\nraise e", executors.StateFailed, 1, "Error x", "", false},
			"surrogate":         {"raise ValueError('\\ud800')", executors.StateFailed, 1, "ValueError ?", "", false},
			"closed streams":    {"import sys\nsys.stdout.close()\nsys.stderr.close()\n5", executors.StateDone, 0, "", "5", false},
			"closed fds":        {"import os\nos.close(0)\nos.close(1)\nos.close(2)\n6", executors.StateDone, 0, "", "6", false},
			"lost streams":      {"import sys\nsys.stdout = sys.stderr = None\n7", executors.StateDone, 0, "", "7", false},
			"bad stream":        {"import sys\nsys.stderr = 5\n1/0", executors.StateFailed, 1, "ZeroDivisionError", "", false},
			"threads go on":     {"import threading, time\ndef f():\n    time.sleep(0.05)\n    print('thread')\nthreading.Thread(target=f).start()\n8", executors.StateDone, 0, "", "8", false},
			"daemons do not":    {"import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n9", executors.StateDone, 0, "", "9", false},
			"pool not shut":     {"from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(2)\np.submit(int).result()", executors.StateDone, 0, "", "0", false},
			"main module":       {"import sys\nimport pickle\nclass C: pass\n(pickle.loads(pickle.dumps(C())).__class__ is C, sys.modules['__main__'].C is C, __name__, __file__, sys.argv)", executors.StateDone, 0, "", `[true,true,"__main__","main.py",["main.py"]]`, false},
			"dataclass":         {"from dataclasses import dataclass, asdict\n@dataclass\nclass P:\n    x: 'int' = 1\nasdict(P())", executors.StateDone, 0, "", `{"x":1}`, false},
			"annotations":       {"from __future__ import annotations\nx: nothing = 1\n__annotations__", executors.StateDone, 0, "", `{"x":"nothing"}`, false},
			"source":            {"import inspect\ndef f():\n    return 1\nclass C:\n    y = 2\ninspect.getsource(f), inspect.getsource(C)", executors.StateDone, 0, "", `["def f():\n    return 1\n","class C:\n    y = 2\n"]`, false},
			"traceback":         {"import traceback\ndef f(): 1/0\ntry: f()\nexcept Exception: r = traceback.format_exc().splitlines()\n[l for l in r if 'File' in l or 'def f' in l]", executors.StateDone, 0, "", `["  File \"main.py\", line 3, in <module>","  File \"main.py\", line 2, in f","    def f(): 1/0"]`, false},
			"own module":        {"open('helper.py', 'w').write('x = 41')\nimport helper, sys\n[helper.x, helper.__builtins__ is vars(__builtins__), sys.path.count(sys.path[-1])]", executors.StateDone, 0, "", "[41,true,1]", false},
			"no shadow":         {"open('colorsys.py', 'w').write('x = 1')\nimport colorsys\nhasattr(colorsys, 'x')", executors.StateDone, 0, "", "false", false},
			"builtins":          {"type(__builtins__).__name__, __builtins__.len('ab'), eval('len', {'__builtins__': __builtins__}) is len", executors.StateDone, 0, "", `["module",2,true]`, false},
			"path":              {"import sys\n[p for p in sys.path if not p or p.endswith('.zip') or not p.startswith('/')]", executors.StateDone, 0, "", "[]", false},
			"no frames of ours": {"import sys\nf = sys._getframe()\nn = []\nwhile f:\n    n += [k for k in f.f_globals if k not in globals() and k != '__builtins__']\n    f = f.f_back\nn", executors.StateDone, 0, "", "[]", false},
		} {
			t.Run(name, func(t *testing.T) {
				o := options(t)
				o.ResultBytes = 8192
				h := &executorstest.Host{Answer: func(_ context.Context, q executors.Question) (
					executors.Answer, error) {
					if q.Bridge == "new" {
						return executors.Answer{Error: &executors.GuestError{Name: "Unheard", Message: "of"}}, nil
					}
					return executors.Answer{Error: &executors.GuestError{
						Name: "CapabilityDenied", Message: "not today"}}, nil
				}}
				out := run(t, python, o, c.program, h)
				errName, message, _ := strings.Cut(c.errName, " ")
				if out.State != c.state || out.ExitCode != c.code || string(out.Value) != c.value ||
					out.Repr != c.repr {
					t.Errorf("%s %d %.200s %v %+v\nstderr: %s", out.State, out.ExitCode, out.Value, out.Repr, out.Error,
						out.stderr)
				}
				if errName != "" && (out.Error == nil || out.Error.Name != errName ||
					!strings.HasPrefix(out.Error.Message, message)) {
					t.Errorf("error %+v, want %q", out.Error, c.errName)
				}
				if out.again {
					t.Error("it may run another program")
				}
			})
		}
	})
}

// TestFrames shows the frames of an error: the program's own, innermost first.
func TestFrames(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		columns := !strings.Contains(python, "3.10")
		for name, c := range map[string]struct {
			program string
			want    []executors.Frame
		}{
			"own":     {"def f(x):\n    y = 1\n    return y / x\nf(0)", []executors.Frame{{Function: "f", File: "main.py", Line: 3, Column: 12}, {Function: "<module>", File: "main.py", Line: 4, Column: 1}}},
			"library": {"import json\nx = json.loads('{')", []executors.Frame{{Function: "<module>", File: "main.py", Line: 2, Column: 5}}},
			"call":    {"import ringd\nringd.call(lambda: 1)", []executors.Frame{{Function: "<module>", File: "main.py", Line: 2, Column: 1}}},
			"import":  {"def f():\n    import nothing_of_that_name\nf()", []executors.Frame{{Function: "f", File: "main.py", Line: 2, Column: 5}, {Function: "<module>", File: "main.py", Line: 3, Column: 1}}},
			"syntax":  {"x = 1\nif x\n    y", []executors.Frame{{Function: "<module>", File: "main.py", Line: 2, Column: 5}}},
			"end":     {"class C:\n    pass\nassert not C", []executors.Frame{{Function: "<module>", File: "main.py", Line: 3, Column: 8}}},
		} {
			t.Run(name, func(t *testing.T) {
				out := run(t, python, options(t), c.program, nil)
				if out.Error == nil {
					t.Fatalf("%s", out.State)
				}
				got := out.Error.Frames
				for i := range c.want {
					if !columns && name != "syntax" {
						c.want[i].Column = 0
					}
					if name == "end" && i < len(got) { // versions differ
						got[i].Column = c.want[i].Column
					}
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			})
		}
	})
}

// TestOutput shows that what was printed comes before the end, all of it.
func TestOutput(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		out := run(t, python, options(t), "import sys, os\nfor i in range(200000): print(i)\nprint('e' * 100000, "+
			"file=sys.stderr)\nprint('no newline', end='')", nil)
		if !strings.HasPrefix(out.stdout, "0\n1\n") || !strings.HasSuffix(out.stdout, "199999\nno newline") ||
			len(out.stderr) != 100001 {
			t.Errorf("%d bytes end with %q, %d", len(out.stdout), out.stdout[max(0, len(out.stdout)-30):],
				len(out.stderr))
		}
		l, p := dial(t, python, pyproto.Settings{})
		seen := ""
		h := &executorstest.Host{Answer: func(context.Context, executors.Question) (executors.Answer, error) {
			for range 1000 { // the pipe is read beside this
				if seen = p.stdout.String(); seen != "" {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return executors.Answer{}, nil
		}}
		if _, _, err := l.Run(t.Context(), work(t, options(t), "import ringd\nprint('before')\nringd.call('x')"),
			h); err != nil {
			t.Fatal(err)
		}
		if seen != "before\n" {
			t.Errorf("at the call %q was printed", seen)
		}
	})
}

// TestFiles shows that a file which a program leaves open is written.
func TestFiles(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, program := range map[string]string{
			"global":   "f = open('x', 'w')\nf.write('all of it')",
			"raised":   "def f():\n    g = open('x', 'w')\n    g.write('all of it')\n    1/0\nf()",
			"exit":     "f = open('x', 'w')\nf.write('all of it')\nexit(3)",
			"module":   "open('m.py', 'w').write('f = open(\"x\", \"w\")')\nimport sys\nsys.path.append('.')\nimport m\nm.f.write('all of it')",
			"atexit":   "import atexit\nf = open('x', 'w')\natexit.register(lambda: f.write('all of it'))",
			"finalize": "f = open('x', 'w')\nclass C:\n    def __del__(self): self.f.write('all of it')\nc = C()\nc.f = f",
		} {
			t.Run(name, func(t *testing.T) {
				o := options(t)
				o.Profile.Write = append(o.Profile.Write, o.Dir)
				out := run(t, python, o, program, nil)
				got, err := os.ReadFile(filepath.Join(o.Dir, "x"))
				if err != nil || string(got) != "all of it" {
					t.Errorf("%v, it holds %q: %+v\n%s", err, got, out.Error, out.stderr)
				}
			})
		}
	})
}

func TestStdin(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, c := range map[string]struct {
			stdin   string
			program string
			want    string
		}{
			"line": {"one\ntwo\n", "import sys\n[input(), sys.stdin.read()]", `["one","two\n"]`},
			"none": {"", "import sys\ntry: input()\nexcept EOFError: r = sys.stdin.read()\nr", `""`},
		} {
			t.Run(name, func(t *testing.T) {
				l, p := dial(t, python, pyproto.Settings{})
				o := options(t)
				o.Stdin = c.stdin != ""
				if o.Stdin {
					if _, err := p.stdin.Write([]byte(c.stdin)); err != nil {
						t.Fatal(err)
					}
					_ = p.stdin.Close()
				}
				out, _, err := l.Run(t.Context(), work(t, o, c.program), quickHost{})
				if err != nil || string(out.Value) != c.want {
					t.Errorf("%v %s %+v, want %s", err, out.Value, out.Error, c.want)
				}
			})
		}
	})
}

func TestEnvironment(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, preload := range map[string][]string{"cold": nil,
			"loaded": {"os", "random", "tempfile", "no_such_module"}} {
			l, _ := dial(t, python, pyproto.Settings{Preload: preload, Sites: []string{"/nowhere"}})
			o := options(t)
			o.Env = []string{"A=b=c", "Ä=ö", "TMPDIR=" + o.Dir}
			dir, err := json.Marshal(o.Dir)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := l.Run(t.Context(), work(t, o, "import os, sys, tempfile\n[dict(os.environ), os.getcwd(), "+
				"tempfile.gettempdir(), sys.path[-2:]]"), quickHost{})
			want := `[{"HOME":` + string(dir) + `,"TMPDIR":` + string(dir) + `,"A":"b=c","\u00c4":"\u00f6"},` +
				string(dir) + `,` + string(dir) + `,["/nowhere",` + string(dir) + `]]`
			if err != nil || string(out.Value) != want {
				t.Errorf("%s: %v %s %+v, want %s", name, err, out.Value, out.Error, want)
			}
		}
	})
}

// TestDenied shows that a refusal which nobody catches makes a run denied, and that a
// program cannot make itself denied.
func TestDenied(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		o := options(t)
		if err := json.Unmarshal(denying("json", "xml"), o.Profile); err != nil {
			t.Fatal(err)
		}
		o.Denials = 2
		out := run(t, python, o, "import csv\nfor m in 'xml', 'xml.dom', 'xml':\n    try: __import__(m)\n    except "+
			"ImportError: pass\nimport json", nil)
		if out.State != executors.StateDenied || out.ExitCode != 1 || out.Error == nil ||
			out.Error.Name != "ModuleNotFoundError" || !strings.Contains(out.Error.Message, "policy.cue:3:4") {
			t.Errorf("%s %d %+v", out.State, out.ExitCode, out.Error)
		}
		if len(out.Denials) != 2 || out.Denials[0].Code != "import.denied" {
			t.Errorf("denials %+v", out.Denials)
		}
		if d := cmp.Diff([]string{"csv"}, out.Imports); d != "" {
			t.Error(d)
		}
		out = run(t, python, o, "raise ModuleNotFoundError('import of \"json\" is denied')", nil)
		if out.State != executors.StateFailed {
			t.Errorf("%s", out.State)
		}
		o.Unguarded = true
		want(t, run(t, python, o, "import json\njson.dumps(1)", nil), `"1"`)
	})
}

// TestRefusalsOfTheEnded: a program that ends its interpreter, or has it ended, does not
// take back what it was refused: each refusal is told before the program goes on.
func TestRefusalsOfTheEnded(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		tries := "import os, signal, threading, time\nfor m in 'xml', 'json', 'xml':\n    try: __import__(m)\n    " +
			"except ImportError: pass\n"
		for name, end := range map[string]string{
			"leaves":    "os._exit(0)",
			"kills":     "os.kill(os.getpid(), signal.SIGKILL)",
			"computes":  "while True: pass",
			"crashes":   "os.kill(os.getpid(), signal.SIGSEGV)",
			"hangs up":  "os.close(4), time.sleep(1), os._exit(0)",
			"in thread": "threading.Thread(target=lambda: (__import__('os')._exit(0))).start(); time.sleep(20)",
		} {
			t.Run(name, func(t *testing.T) {
				o := options(t)
				if err := json.Unmarshal(denying("json", "xml"), o.Profile); err != nil {
					t.Fatal(err)
				}
				l, _ := dial(t, python, pyproto.Settings{})
				w := work(t, o, tries+end)
				w.Budget.Wall = 3 * time.Second
				out, again, err := l.Run(t.Context(), w, quickHost{})
				if again {
					t.Error("it is there for another program")
				}
				if name != "computes" && err == nil {
					t.Errorf("its end is known: %+v", out)
				}
				got := map[string]bool{}
				for _, d := range out.Denials {
					if d.Code == profiles.CodeImportDenied && d.Evidence != nil {
						got[d.Evidence.Argv[0]] = true
					}
				}
				if len(out.Denials) != 2 || !got["xml"] || !got["json"] {
					t.Errorf("told of %+v", out.Denials)
				}
			})
		}
	})
}

// TestSession runs programs one after another in one interpreter.
func TestSession(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		l, p := dial(t, python, pyproto.Settings{})
		for i, c := range []struct{ program, want string }{
			{"x = 20\ndef f():\n    return x / 0\nx + 1", "21"},
			{"_ + x", "41"},
			{"_", "41"},
			{"None", "null"},
			{"_", "41"},
			{"import ringd\nringd.call('echo', ringd.inputs['n'])[0]", "5"},
			{"1/0", "ZeroDivisionError"},
			{"f()", "ZeroDivisionError"},
			{"def", "SyntaxError"},
			{"import sys\nsys.exit(4)", "SystemExit"},
			{"__file__, sys.argv", `["main.py#11",["main.py#11"]]`},
			{"import inspect\ninspect.getsource(f)", `"def f():\n    return x / 0\n"`},
			{"import threading, time\nthreading.Thread(target=lambda: time.sleep(0.01)).start()\n1", "1"},
			{"import signal\nsignal.signal(signal.SIGALRM, lambda *a: 1/0)\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\n2", "2"},
			{"input()", "EOFError"},
			{"ringd.call('echo', 2)[0]", "2"},
		} {
			o := options(t)
			o.Session, o.Inputs = true, inputs(t, map[string]any{"n": i})
			out, again, err := l.Run(t.Context(), work(t, o, c.program), quickHost{})
			if err != nil || !again {
				t.Fatalf("%q: %v %v\n%s", c.program, again, err, p.stderr)
			}
			if out.Usage.PeakBytes < 1<<20 {
				t.Errorf("peak %d", out.Usage.PeakBytes)
			}
			got := string(out.Value)
			if out.Error != nil {
				got = out.Error.Name
			}
			if got != c.want {
				t.Errorf("%q: %s %+v, want %s", c.program, got, out.Error, c.want)
			}
		}
		if got := p.stderr.String(); strings.Contains(got, "<ringd") ||
			!strings.Contains(got, "  File \"main.py\", line 3, in f\n    return x / 0\n") {
			t.Error(got)
		}
	})
}

// TestSessionEnds shows that a session does not go on behind a limit, and that it does
// behind a refusal that nobody caught, which is an error as any.
func TestSessionEnds(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for program, state := range map[string]executors.State{
			"'x' * 10000000": executors.StateLimit, "import json": executors.StateDenied} {
			l, _ := dial(t, python, pyproto.Settings{})
			o := options(t)
			o.Session = true
			if err := json.Unmarshal(denying("json"), o.Profile); err != nil {
				t.Fatal(err)
			}
			out, again, err := l.Run(t.Context(), work(t, o, program), quickHost{})
			if err != nil || again != (state == executors.StateDenied) || out.State != state {
				t.Errorf("%q: %s %v %v", program, out.State, again, err)
			}
		}
	})
}
