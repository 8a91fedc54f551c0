package wasm_test

import (
	"testing"

	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/wasm"
	"github.com/ringd/ringd/profiles"
)

// Nothing of the host is behind any call, with the guard switched off too.
func TestAuthority(t *testing.T) {
	e := executor(t, func(c *wasm.Config) { c.Unguarded = true })
	for _, tt := range []struct{ name, source, value string }{
		{"the root", "import posix\nsorted(posix.listdir('/'))", `["dev","python","workspace"]`},
		{"files of the host", lines("import posix", "got = []", "for p in ('/etc/passwd', '/proc/self/status', '/dev/null', '/workspace/../etc/passwd', '//etc/hosts'):",
			"    try:", "        posix.open(p, posix.O_RDONLY); got.append(p)", "    except OSError: pass", "got"), "[]"},
		{"the library cannot be written", lines("import posix", "got = []", "for f in (lambda: posix.unlink('/python/lib/python3.11/os.py'), lambda: posix.open('/python/x', posix.O_WRONLY | posix.O_CREAT),",
			"        lambda: posix.mkdir('/a'), lambda: posix.rename('/python', '/workspace/p')):", "    try:", "        f(); got.append(1)", "    except OSError: pass", "got"), "[]"},
		{"the connection again", lines("import posix", "try:", "    posix.open('/dev/host', posix.O_RDWR); r = 1", "except OSError:", "    r = 0", "r"), "0"},
		{"sockets", lines("import socket", "got = []", "for f in (lambda: socket.socket(), lambda: socket.create_connection(('127.0.0.1', 80)), lambda: socket.socketpair()):",
			"    try:", "        f(); got.append(1)", "    except (OSError, AttributeError): pass", "got"), "[]"},
		{"processes", "import posix\n[n for n in ('fork', 'execv', 'posix_spawn', 'system', 'kill', 'ptrace') if hasattr(posix, n)]", "[]"},
		{"environment", "import os\nsorted(os.environ)", `["HOME","TMPDIR"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(tt.source)
			r.Agent = agent(profiles.Imports{Any: &profiles.Rule{}})
			out, err := e.Run(t.Context(), r, &executorstest.Host{})
			if err != nil || string(out.Value) != tt.value {
				t.Errorf("%s %s %+v %v, want %s", out.State, out.Value, out.Error, err, tt.value)
			}
		})
	}
}
