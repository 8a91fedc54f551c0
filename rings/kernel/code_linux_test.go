package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// attempts is what a guest with a folder of code tries. Each is one line of output.
const attempts = `
import os, sys, ctypes, mmap
folder, other, loader, rest = sys.argv[1:5]
def one(name, f):
    try: print(name, f(), sep="\t", flush=True)
    except OSError as e: print(name, "refused" if e.errno in (1, 13, 30) else e, sep="\t", flush=True)
def load(p): return "loaded" if ctypes.CDLL(p) else ""
def write(p):
    with open(p, "ab") as f: f.write(b"x")
    return "written"
def start(*argv):
    pid = os.fork()
    if not pid:
        try: os.execv(argv[0], argv)
        except OSError as e: os._exit(200 + e.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code > 200: raise OSError(code - 200, "exec")
    return "started"
def copied(to):
    with open(folder + "/libtinfo.so.6", "rb") as f, open(to, "wb") as g: g.write(f.read())
    os.chmod(to, 0o755)
    return to
one("load", lambda: load(folder + "/libtinfo.so.6"))
one("write", lambda: write(folder + "/libtinfo.so.6"))
one("make", lambda: write(folder + "/new.so"))
one("chmod", lambda: os.chmod(folder + "/libtinfo.so.6", 0o777))
one("start", lambda: start(folder + "/true"))
one("loader", lambda: start(loader, folder + "/true"))
one("itself", lambda: start("/proc/self/exe", "-c", ""))
one("itself by its loader", lambda: start(loader, "/proc/self/exe", "-c", ""))
one("load outside", lambda: load(other + "/libtinfo.so.6"))
one("load from tmp", lambda: load(copied("/tmp/l.so")))
one("load from the workspace", lambda: load(copied("/workspace/l.so")))
print("end", rest, sep="\t")
`

// unmapped is what the loader says of an object that may not be mapped.
const unmapped = "failed to map segment from shared object"

// python is a guest of Debian's interpreter, with its library.
func python(t *testing.T) (s executors.Spec, found bool) {
	t.Helper()
	at, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		return s, false
	}
	stdlib := "/usr/lib/" + filepath.Base(at)
	if len(exists(stdlib+"/os.py", stdlib+"/lib-dynload")) != 2 {
		return s, false
	}
	s = program(at, "-I", "-S", "-B", "-c", attempts)
	s.Kernel.TempBytes, s.Kernel.Scratch, s.Kernel.FileBytes, s.Kernel.WallMillis = 16<<20, true, 16<<20, 60_000
	s.FileBytes = 16 << 20
	s.Own, s.Code = granted(stdlib), granted(stdlib+"/lib-dynload")
	return s, true
}

// TestCode: shared objects in a folder of code are loaded, and nothing there is
// changed or started; nothing elsewhere is loaded.
func TestCode(t *testing.T) {
	r, tried := recording(t)
	needKernel(t, r)
	s, found := python(t)
	if !found {
		t.Skip("no python3 of this system's packages")
	}
	truth, object := mustRead(t, "/usr/bin/true"), mustRead(t, tinfo())
	dir := under(t, map[string]string{"code/true": truth, "code/libtinfo.so.6": object, "read/libtinfo.so.6": object})
	for _, p := range []string{"code", "code/true", "code/libtinfo.so.6", "read"} {
		if err := os.Chmod(filepath.Join(dir, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	argv := append(s.Argv, dir+"/code", dir+"/read", loader(), "0")
	run := func(t *testing.T, r *kernel.Ring, change func(*executors.Spec)) map[string]string {
		t.Helper()
		s := s
		s.Argv, s.Code, s.Own = argv, append(granted(dir+"/code"), s.Code...), append(granted(dir+"/read"), s.Own...)
		change(&s)
		out, e := end(t, launch(t, r, s).Guest)
		said := map[string]string{}
		for line := range strings.Lines(out) {
			name, how, _ := strings.Cut(strings.TrimSpace(line), "\t")
			said[name] = how
		}
		if said["end"] != "0" {
			t.Fatalf("%q, %+v", out, e)
		}
		return said
	}
	want := map[string]string{
		"load": "loaded", "write": "refused", "make": "refused", "chmod": "refused", "start": "refused", "loader": "refused", "itself": "refused",
		"itself by its loader": "refused", "load outside": unmapped, "load from tmp": unmapped, "load from the workspace": unmapped,
	}
	check := func(t *testing.T, got, want map[string]string) {
		t.Helper()
		for name, w := range want {
			if !strings.Contains(got[name], w) {
				t.Errorf("%s: %q, want %q", name, got[name], w)
			}
		}
	}
	none := func(*executors.Spec) {}
	t.Run("reported", func(t *testing.T) {
		check(t, run(t, r, none), want)
		if got := tried.take(); strings.Count(got, "exec: execve") != 3 { // the loader's twice in one
			t.Errorf("on record: %q", got)
		}
	})
	t.Run("without a listener", func(t *testing.T) { check(t, run(t, pooled(t, 1), none), want) })
	t.Run("pre-started", func(t *testing.T) {
		p := pooled(t, 2)
		for range 3 {
			check(t, run(t, p, none), want)
		}
	})
	t.Run("what is read becomes code", func(t *testing.T) { // so that not its content was refused
		got := run(t, r, func(s *executors.Spec) { s.Code = append(s.Code, granted(dir+"/read")...) })
		check(t, got, map[string]string{"load outside": "loaded", "load": "loaded"})
	})
	t.Run("without code, its program starts again", func(t *testing.T) { // so that the key refuses it, and nothing else
		got := run(t, r, func(s *executors.Spec) {
			s.Kernel.Libraries, s.Code = granted("/usr/lib/"+filepath.Base(s.Argv[0])+"/lib-dynload"), nil
			s.Own = append(s.Own, granted(dir+"/code")...)
		})
		check(t, got, map[string]string{"itself": "started", "load": unmapped, "start": "refused"})
	})
}

// TestCodeAlone: what goes not together with code is refused.
func TestCodeAlone(t *testing.T) {
	r, _ := recording(t)
	needKernel(t, r)
	dir := under(t, map[string]string{"a": ""})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*executors.Spec){
		"programs": func(s *executors.Spec) { s.Kernel.Exec = granted("/usr/bin/true") },
		"helpers":  func(s *executors.Spec) { s.Kernel.Helpers = granted("/usr/bin/true") },
		"a seal":   func(s *executors.Spec) { s.Seals, s.Streams = true, false },
	} {
		t.Run(name, func(t *testing.T) {
			s := program("/usr/bin/true")
			s.Code = []profiles.PathRule{{Path: dir}}
			change(&s)
			if g, err := r.Launch(t.Context(), s); err == nil || !strings.Contains(err.Error(), "loads code") {
				t.Errorf("%v, %v", g, err)
			}
		})
	}
}

// TestList: of a folder that it may list a guest sees what it has in it, by import
// too; without that it finds nothing there.
func TestList(t *testing.T) {
	r, _ := recording(t)
	needKernel(t, r)
	s, found := python(t)
	if !found {
		t.Skip("no python3 of this system's packages")
	}
	dir := under(t, map[string]string{"given.py": "x = 1", "kept.py": "x = 2", "pkg/__init__.py": "", "open/x": "",
		"open/inner/y": ""})
	s.Argv = append(s.Argv[:len(s.Argv)-1], `
import os, sys
sys.path.append(sys.argv[1])
def one(name, f):
    try: print(name, f())
    except (OSError, ImportError) as e: print(name, type(e).__name__)
one("list", lambda: sorted(os.listdir(sys.argv[1])))
one("given", lambda: __import__("given").x)
one("pkg", lambda: __import__("pkg").__name__)
one("kept", lambda: __import__("kept").x)
one("above", lambda: os.listdir(os.path.dirname(sys.argv[1])))
one("write", lambda: open(sys.argv[1] + "/x", "w"))
`, dir)
	s.Kernel.TempBytes, s.Kernel.Scratch = 0, false // the guest's own /tmp is listed anyway
	s.Own = append(s.Own, granted(dir+"/given.py", dir+"/pkg")...)
	for _, tt := range []struct {
		name string
		list []profiles.PathRule
		want string
	}{
		{"listed", granted(dir), "list ['given.py', 'pkg']\ngiven 1\npkg pkg\nkept ModuleNotFoundError\nabove PermissionError\nwrite OSError\n"},
		{"not listed", nil, "list PermissionError\ngiven ModuleNotFoundError\npkg ModuleNotFoundError\nkept ModuleNotFoundError\nabove PermissionError\nwrite OSError\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := s
			s.List = tt.list
			if out, e := end(t, launch(t, r, s).Guest); out != tt.want {
				t.Errorf("%q, %+v", out, e)
			}
		})
	}
}

func mustRead(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
