package pyguest_test

import (
	"encoding/json"
	"testing"

	"github.com/ringd/ringd/executors"
)

func TestProgram(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for _, c := range []struct {
			name, program string
			state         executors.State
			code          int
			value         string
			stdout        string
			errName       string
		}{
			{"value", "1+1", executors.StateDone, 0, "2", "", ""},
			{"nothing", "x = 1\nprint('hello')", executors.StateDone, 0, "null", "hello\n", ""},
			{"name", "print(__name__, __file__)\nimport sys\nsys.argv", executors.StateDone, 0, `["main.py"]`, "__main__ main.py\n", ""},
			{"exit", "import sys\nsys.exit(3)", executors.StateFailed, 3, "", "", "SystemExit"},
			{"clean exit", "raise SystemExit", executors.StateDone, 0, "null", "", ""},
			{"raise", "print('a')\nraise ValueError('x')", executors.StateFailed, 1, "", "a\n", "ValueError"},
			{"syntax", "def f(:\n  pass", executors.StateFailed, 1, "", "", "SyntaxError"},
			{"call", "import ringd\nringd.call('echo', 1, [2])", executors.StateDone, 0, "[1,[2]]", "", ""},
			{"tools", "import ringd\nringd.tools.a.b(x=1)", executors.StateDone, 0, `[{"x":1}]`, "", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				out := run(t, python, options(t), c.program, nil)
				if out.State != c.state || out.ExitCode != c.code || string(out.Value) != c.value ||
					out.stdout != c.stdout {
					b, _ := json.Marshal(out.Outcome)
					t.Fatalf("%s\nstdout %q\nstderr %s", b, out.stdout, out.stderr)
				}
				if c.errName != "" && (out.Error == nil || out.Error.Name != c.errName) {
					t.Errorf("error %+v", out.Error)
				}
			})
		}
	})
}
