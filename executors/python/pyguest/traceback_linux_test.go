package pyguest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTraceback compares what a guest writes to standard error with what the
// interpreter writes for the same file.
func TestTraceback(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, program := range map[string]string{
			"plain":       "def f(x):\n    return 1 / x\n\nf(0)\n",
			"library":     "import json\njson.loads('{')\n",
			"subscript":   "a = {'b': [1]}\nprint(a['b'][0], a['b'][7])\n",
			"operator":    "def f():\n    return 'ä' * 2 + 1\nf()\n",
			"call":        "x = (int('1'),\n     int('b'))\n",
			"long line":   "print(1, 2, len([]), max(1, 2, int('x')), 5)\n",
			"cause":       "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('a') from e\n",
			"context":     "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError('a')\n",
			"suppressed":  "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError('a') from None\n",
			"cycle":       "a = ValueError(1)\nb = ValueError(2)\na.__cause__ = b\nb.__cause__ = a\nraise a\n",
			"own class":   "class Oops(Exception): pass\nraise Oops('x', 1)\n",
			"no text":     "raise ValueError\n",
			"text lines":  "raise ValueError('a\\nb')\n",
			"nested name": "def f():\n    class E(Exception): pass\n    return E\nraise f()('x')\n",
			"module name": "import json\nraise json.JSONDecodeError('a', 'b', 0)\n",
			"recursion":   "import sys\nsys.setrecursionlimit(60)\ndef f(n):\n    f(n + 1)\nf(0)\n",
			"two in turn": "def f(n):\n    if n: g(n - 1)\n    else: 1/0\ndef g(n): f(n)\nf(5)\n",
			"broken str":  "class E(Exception):\n    def __str__(self): 1/0\nraise E\n",
			"syntax":      "x = 1\nif x\n    print(1)\n",
			"syntax two":  "print('a'\nprint('b')\n",
			"syntax text": "x = 'abc\n",
			"syntax in":   "compile('a b', 'inner.py', 'exec')\n",
			"indent":      "if 1:\nprint(1)\n",
			"bad call":    "f(a=1, 2)\n",
			"bytes":       "x = b'ä'\n",
			"exec":        "exec('1/0')\n",
			"lambda":      "(lambda: [1 for x in [0] if 1 / x])()\n",
			"exit text":   "import sys\nsys.exit('bye')\n",
			"interrupt":   "raise KeyboardInterrupt\n",
			"assert":      "assert 1 == 2, 'no'\n",
			"attribute":   "import json\njson.lods\n",
			"name":        "lenght = 1\nprint(length)\n",
			"import":      "from json import lods\n",
			"no module":   "import nothing_of_that_name\n",
			"note":        "e = ValueError('x')\nif hasattr(e, 'add_note'): e.add_note('one\\ntwo')\nraise e\n",
			"hook":        "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__, file=sys.stderr)\n1/0\n",
			"atexit":      "import atexit\natexit.register(print, 'bye')\nprint('hi')\n",
			"decorated":   "def d(f): return f\n@d\ndef g():\n    raise ValueError(\n        'a' +\n        'b')\ng()\n",
			"group": "try: E = ExceptionGroup\nexcept NameError: raise SystemExit\ndef f(x):\n    try: raise ValueError(x)\n    except ValueError as e: return e\n" +
				"def g():\n    raise E('many', [f(1), E('inner', [f(2), TypeError('t')]), KeyError('k')])\ng()\n",
			"group cause": "try: E = ExceptionGroup\nexcept NameError: raise SystemExit\ntry: 1/0\nexcept ZeroDivisionError as z: raise E('many', [ValueError(1)]) from z\n",
		} {
			t.Run(name, func(t *testing.T) {
				got := run(t, python, options(t), program, nil)
				plain, code := plainly(t, python, program)
				if d := cmp.Diff(counted(plain), counted(got.stderr)); d != "" {
					t.Error(d)
				}
				if got.ExitCode != code {
					t.Errorf("exit code %d, want %d", got.ExitCode, code)
				}
			})
		}
	})
}

// counted takes away how deep a stack was: a guest's has frames of its own.
func counted(s string) string {
	return regexp.MustCompile(`repeated \d+ more`).ReplaceAllString(s, "repeated N more")
}

// plainly runs a file with nothing around it, and returns what it writes to standard
// error.
func plainly(t *testing.T, python, program string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.py"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-I", "-S", "-B", "-X", "utf8", "main.py")
	cmd.Dir, cmd.Env = dir, []string{}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if code == -1 {
		code = 130 // it ends by the signal that it was interrupted by
	}
	return strings.ReplaceAll(stderr.String(), dir+"/", ""), code
}
