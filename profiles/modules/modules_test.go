package modules_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/modules"
)

// TestTablesSorted: a lookup in a table that is not sorted misses.
func TestTablesSorted(t *testing.T) {
	names, without := modules.DefaultNames()
	for what, list := range map[string][]string{"standard": modules.StandardNames(), "never": modules.NeverNames(),
		"default": names, "without": without} {
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) || len(list) < 5 {
			t.Errorf("%s: not sorted, or too short: %q", what, list)
		}
	}
	for _, name := range modules.StandardNames() {
		if !modules.Standard(name) {
			t.Errorf("%s is not found", name)
		}
	}
	for _, name := range modules.NeverNames() {
		if !modules.Never(name) || modules.PythonDefault(name) {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestStandardNames holds the table against the interpreters of this host.
func TestStandardNames(t *testing.T) {
	var found []string
	for _, pattern := range []string{"/usr/bin/python3", "/usr/local/bin/python3.*",
		"/root/.pyenv/versions/*/bin/python3"} {
		more, _ := filepath.Glob(pattern)
		found = append(found, more...)
	}
	if len(found) == 0 {
		t.Skip("no interpreter")
	}
	const program = `import sys
assert (3,10) <= sys.version_info[:2] <= (3,14)
print(*sys.stdlib_module_names, *sys.builtin_module_names)`
	for _, python := range found {
		out, err := exec.CommandContext(t.Context(), python, "-I", "-S", "-c", program).Output()
		if err != nil {
			t.Logf("%s: left out: %v", python, err)
			continue
		}
		for name := range strings.FieldsSeq(string(out)) {
			if !modules.Standard(name) && !modules.Never(name) {
				t.Errorf("%s: %s is not in the table", python, name)
			}
		}
	}
}

func TestStandard(t *testing.T) {
	for name, want := range map[string]bool{
		"json": true, "json.decoder": true, "os.path": true, "_io": true, "annotationlib": true, "compression.zstd": true,
		"_sysconfigdata__linux_x86_64-linux-gnu": true, "distutils": true, "asyncore": true, "telnetlib": true,
		"jso": false, "jsonx": false, "js": false, "numpy": false, "requests.adapters": false, "": false, "zzz": false, "AAA": false, "pip": false,
	} {
		if modules.Standard(name) != want {
			t.Errorf("Standard(%q) = %t", name, !want)
		}
	}
}

// TestDefault: an ordinary program finds what it needs, and no module that starts a
// program, opens a connection, reads memory, or steps round the guard is in the set.
func TestDefault(t *testing.T) {
	for name := range strings.FieldsSeq(`
		__future__ abc argparse array ast asyncio asyncio.taskgroups atexit base64 bisect builtins bz2 calendar cmath cmd code codecs
		collections collections.abc colorsys concurrent concurrent.futures concurrent.futures.thread configparser contextlib contextvars copy copyreg csv
		dataclasses datetime dbm dbm.dumb decimal difflib dis doctest email email.mime.text encodings.idna enum errno faulthandler filecmp fileinput fnmatch
		fractions functools gc getopt getpass gettext glob graphlib gzip hashlib heapq hmac html html.parser http http.cookies
		cProfile pstats importlib importlib.metadata importlib.resources importlib.util inspect io ipaddress itertools json json.decoder keyword linecache locale logging
		logging.config logging.handlers lzma mailbox math mimetypes mmap netrc numbers operator optparse os os.path pathlib pickle pickletools
		pkgutil platform plistlib pprint pydoc queue quopri random re reprlib resource sched secrets select selectors shelve shlex shutil signal
		sqlite3 stat statistics string string.templatelib struct symtable sys sysconfig tarfile tempfile textwrap threading time timeit token tokenize tomllib
		traceback tracemalloc types typing unicodedata unittest unittest.mock urllib urllib.error urllib.parse uuid warnings wave weakref
		xml xml.dom.minidom xml.etree.ElementTree xml.sax zipapp zipfile zlib zoneinfo
		_io _operator _codecs _collections_abc _functools _struct _random concurrent.futures._base pathlib._local annotationlib compression.zstd`) {
		if !modules.PythonDefault(name) {
			t.Errorf("%s is not in the default set", name)
		}
	}
	for name := range strings.FieldsSeq(`
		ctypes ctypes.util _ctypes subprocess _posixsubprocess multiprocessing multiprocessing.shared_memory _multiprocessing _posixshmem
		socket _socket socketserver ssl _ssl http.client http.server urllib.request urllib.robotparser ftplib poplib imaplib smtplib smtpd nntplib
		telnetlib xmlrpc xmlrpc.client webbrowser wsgiref.simple_server cgi cgitb pty tty termios posix nt _imp _frozen_importlib
		_frozen_importlib_external imp importlib._bootstrap importlib._bootstrap_external runpy zipimport site ensurepip venv lib2to3 idlelib
		tkinter turtle curses curses.ascii _curses readline syslog spwd pwd grp nis crypt ossaudiodev marshal antigravity bdb pdb trace
		asyncio.subprocess asyncio.unix_events concurrent.futures.process _thread profile _lsprof distutils.spawn pipes asyncore asynchat
		_dbm _gdbm dbm.gnu _interpreters _xxsubinterpreters concurrent.interpreters _testcapi _remote_debugging
		numpy requests sitecustomize usercustomize pip test.support`) {
		if modules.PythonDefault(name) {
			t.Errorf("%s is in the default set", name)
		}
	}
}

func index(allow, deny, everybody []string) *modules.Index[string] {
	x := &modules.Index[string]{Defaults: len(allow) == 0}
	for _, one := range []struct {
		into  *map[string]string
		names []string
	}{{&x.Allow, allow}, {&x.Deny, deny}, {&x.Everybody, everybody}} {
		for _, n := range one.names {
			modules.Put(one.into, n, n)
		}
	}
	x.Ready()
	return x
}

func TestIndex(t *testing.T) {
	lists := index([]string{"pandas", "json", "xml.etree"}, []string{"pandas.io", "requests", "ctypes"},
		[]string{"mmap", "urllib3"})
	for _, tt := range []struct {
		module           string
		program, library modules.Kind
	}{
		{"pandas", modules.Listed, modules.Listed},
		{"pandas.core.frame", modules.Listed, modules.Listed},
		{"pandas.io", modules.Denied, modules.Denied},
		{"pandas.io.sql", modules.Denied, modules.Denied},
		{"requests", modules.Denied, modules.Denied},
		{"ctypes", modules.Denied, modules.Dependency},
		{"ctypes.util", modules.Denied, modules.Dependency},
		{"mmap", modules.Denied, modules.Denied},
		{"urllib3.util", modules.Denied, modules.Denied},
		{"socket", modules.Unlisted, modules.Dependency},
		{"os", modules.Unlisted, modules.Dependency},
		{"dateutil", modules.Unlisted, modules.Dependency},
		{"js", modules.Unlisted, modules.Dependency},
		{"json.decoder", modules.Listed, modules.Dependency},
		{"xml", modules.Unlisted, modules.Dependency},
		{"xml.etree.ElementTree", modules.Listed, modules.Dependency},
		{"__future__", modules.Owned, modules.Dependency},
		{"ringd", modules.Owned, modules.Dependency},
		{"_testcapi", modules.Private, modules.Private},
		{"concurrent.interpreters", modules.Private, modules.Private},
	} {
		if got := lists.Program(tt.module).Kind; got != tt.program {
			t.Errorf("program %s: %d, want %d", tt.module, got, tt.program)
		}
		if got := lists.Library(tt.module).Kind; got != tt.library {
			t.Errorf("library %s: %d, want %d", tt.module, got, tt.library)
		}
	}
}

func TestIndexDefaults(t *testing.T) {
	x := index(nil, []string{"sqlite3", "js"}, nil)
	for module, want := range map[string]modules.Kind{"json": modules.InDefault, "sqlite3.dump": modules.Denied,
		"socket": modules.Beyond,
		"numpy":  modules.Unlisted, "js": modules.Denied, "_interpreters": modules.Private, "__main__": modules.Owned} {
		if got := x.Program(module).Kind; got != want {
			t.Errorf("%s: %d, want %d", module, got, want)
		}
	}
	if got := x.Library("numpy").Kind; got != modules.Unlisted {
		t.Errorf("a library where no package is allowed: %d", got)
	}
	x.Any = true
	for module, want := range map[string]modules.Kind{"json": modules.Whatever, "sqlite3": modules.Denied,
		"socket": modules.Whatever,
		"numpy":  modules.Whatever, "_interpreters": modules.Private} {
		if got := x.Program(module).Kind; got != want {
			t.Errorf("any: %s: %d, want %d", module, got, want)
		}
	}
	x.Only = []string{"json"}
	for module, want := range map[string]modules.Kind{"json.decoder": modules.Whatever, "os": modules.TakenAway,
		"sqlite3": modules.TakenAway, "__future__": modules.Owned} {
		if got := x.Program(module).Kind; got != want {
			t.Errorf("only: %s: %d, want %d", module, got, want)
		}
	}
}

// TestZeroIndex: nothing is allowed by what was never filled in.
func TestZeroIndex(t *testing.T) {
	var x modules.Index[string]
	for _, module := range []string{"json", "numpy", "_testcapi"} {
		if got := x.Program(module).Kind; got > modules.Missing {
			t.Errorf("%s: %d", module, got)
		}
	}
}

func BenchmarkProgram(b *testing.B) {
	x := index(nil, []string{"requests", "urllib3", "ctypes"}, nil)
	for b.Loop() {
		_ = x.Program("xml.etree.ElementTree")
	}
}

// TestNeverIsOutside: what nobody may load is in no default set.
func TestNeverIsOutside(t *testing.T) {
	for _, name := range modules.NeverNames() {
		if modules.Standard(name) && !modules.Outside(name) {
			t.Errorf("%s is standard, and not outside of the default set", name)
		}
	}
}
