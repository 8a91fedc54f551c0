package python_test

import (
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/profiles"
)

func TestConformance(t *testing.T) {
	l := launcher(t, nil)
	executorstest.Run(t, executorstest.Suite{
		New: func(t testing.TB) executors.Executor {
			return executorOver(t, l, func(c *python.Config) { c.Blank = 1 })
		},
		Agent:    func() profiles.Agent { return *agent() },
		Language: "python",
		Streams:  true,
		Programs: executorstest.Programs{
			Two:  "1 + 1",
			Echo: "import ringd\nringd.call('echo', 41) + 1",
			Order: "import asyncio, ringd\nasync def all():\n  return await asyncio.gather(*[ringd.aio.call('echo', " +
				"n) for n in range(10)])\n" +
				"asyncio.run(all())",
			Catch: "import ringd\ntry:\n  ringd.call('echo', 1)\n  n = 'none'\nexcept ringd.Error as e:\n  n = " +
				"e.name\nn",
			Result: "import ringd\nringd.call('echo', 1)",
			Kind: "import ringd\nr = ringd.call('echo', 1)\nhasattr(object(), 'polluted') or hasattr(r, " +
				"'polluted')",
			Uncaught: "# line 1\nclass Oops(Exception): pass\nraise Oops('here')",
			Ambient: `import os, sys, errno
found = []
for name, reach in {
    "password file": lambda: open("/etc/passwd"),
    "home": lambda: os.listdir("/root"),
    "other processes": lambda: [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 64] or 1 / 0,
    "variables": lambda: [k for k, v in os.environ.items() if {"PATH": "/run/ringd/bin", "USER": "agent", "LOGNAME": "agent"}.get(k) != v
        and k not in ("HOME", "TMPDIR", "LANG", "LC_ALL")] or 1 / 0,
    "fork": lambda: os.fork(),
    "program": lambda: os.system("true") and 1 / 0,
    "socket": lambda: __import__("socket"),
    "ctypes": lambda: __import__("ctypes"),
    "connection": lambda: os.write(4, b""),
}.items():
    try:
        reach()
        found.append(name)
    except (OSError, ImportError, ZeroDivisionError):
        pass
[f for f in found if f != "connection"]`,
			Loop:  "while True: pass",
			Busy:  "print('busy', flush=True)\nwhile True: pass",
			Wait:  "import ringd\nringd.call('echo', 1)",
			Flood: "for i in range(100000): print('x', flush=True)\n1",
			Lines: "print('one')\nprint('two')\n1",
			Huge:  "'x' * (1 << 20)",
		},
	})
}
