package python_test

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/profiles"
)

// importing grants modules by name, beside the default set.
func importing(allow, deny string) *profiles.Agent {
	return agent(func(p *profiles.Python) {
		for i, n := range strings.Fields(allow) {
			p.Imports.Allow = append(p.Imports.Allow, profiles.ImportRule{
				Name: n, Rule: profiles.Rule{File: "policy.yaml", Line: 10 + i}})
		}
		for i, n := range strings.Fields(deny) {
			p.Imports.Deny = append(p.Imports.Deny, profiles.ImportRule{
				Name: n, Rule: profiles.Rule{File: "policy.yaml", Line: 20 + i}})
		}
	})
}

func needDebian(t *testing.T, packages ...string) {
	t.Helper()
	for _, p := range packages {
		if _, err := os.Stat("/usr/lib/python3/dist-packages/" + p); err != nil {
			t.Skipf("%s of Debian is not installed", p)
		}
	}
}

// What is denied to libraries as well is not there for them because it was imported
// before the program: a pre-started interpreter has imported nothing then.
func TestDeniedToLibraries(t *testing.T) {
	needDebian(t, "pandas", "numpy")
	l := launcher(t, nil)
	const program = "try:\n  import pandas\n  r = 'imported'\nexcept ImportError as e:\n  r = str(e)\nr"
	free := importing("pandas numpy", "")
	bound := importing("pandas numpy", "")
	bound.Python.Imports.Process = []profiles.ImportRule{
		{Name: "ctypes", Rule: profiles.Rule{File: "policy.yaml", Line: 30}}}
	e := executorOver(t, l, func(c *python.Config) { c.Environments = environments(t, "") })
	for _, tt := range []struct {
		a    *profiles.Agent
		want string
	}{{free, "imported"}, {bound, "ctypes"}, {free, "imported"}} { // one after the other, from the pool of one executor
		if o := play(t, e, run(tt.a, program)); !strings.Contains(string(o.Value), tt.want) {
			t.Errorf("want %s: %s", tt.want, brief(o))
		}
	}
	cfg := python.Config{Launcher: l, Environments: environments(t, ""), Go: func(f func()) { go f() }, Now: time.Now,
		Random: rand.Reader}
	broken, err := python.Probe(t.Context(), cfg, bound, []string{"pandas"})
	if err != nil || len(broken) != 1 || broken[0].Needs != "ctypes" || broken[0].Denied == nil {
		t.Errorf("probe: %+v, %v", broken, err)
	}
}

// TestPandas: pandas and numpy work with requests denied, and with the guard off what
// is denied is not there: its files are no part of the guest's view. With nothing
// denied and all allowed the same import works, so that it is the denial that stops it.
func TestPandas(t *testing.T) {
	needDebian(t, "pandas", "numpy", "requests")
	l := launcher(t, nil)
	const sum = "import pandas, numpy\nnumpy.linalg.inv(numpy.eye(2))\nint(pandas.DataFrame({'a': [1, 2, 3]}).a.sum())"
	const attempt = "r = []\nfor n in ('requests', 'urllib3', 'collibra_client'):\n  try: __import__(n); " +
		"r.append('imported')\n  except ImportError as e: r.append(type(e).__name__)\nr"
	for _, tt := range []struct {
		name      string
		unguarded bool
		agent     *profiles.Agent
		want      string
	}{
		{"guarded", false, importing("pandas numpy", "requests urllib3"), `["ModuleNotFoundError","ModuleNotFoundError","ModuleNotFoundError"]`},
		{"the ring alone", true, importing("pandas numpy", "requests urllib3"), `["ModuleNotFoundError","ModuleNotFoundError","ModuleNotFoundError"]`},
		{"the ring alone, not listed", true, importing("pandas numpy", ""), `["ModuleNotFoundError","ModuleNotFoundError","ModuleNotFoundError"]`},
		{"allowed", true, importing("pandas numpy requests", ""), `["imported","imported","ModuleNotFoundError"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := executorOver(t, l, func(c *python.Config) {
				c.Environments, c.Unguarded = environments(t, ""), tt.unguarded
			})
			if o := play(t, e, run(tt.agent, sum)); string(o.Value) != "6" {
				t.Errorf("pandas: %s %s", brief(o), printed(o, executors.LevelStderr))
			}
			if o := play(t, e, run(tt.agent, attempt)); string(o.Value) != tt.want {
				t.Errorf("%s, want %s", brief(o), tt.want)
			}
		})
	}
}

// TestMovedPackage: byte code that was compiled where its package does not lie any
// more, as pip install --target leaves it, is a library's all the same.
func TestMovedPackage(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "moved") // what is in /tmp is of programs
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, text := range map[string]string{
		"moved/__init__.py":            "def f():\n    import ctypes\n    return f.__code__.co_filename\n",
		"moved-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: moved\nVersion: 1.0\n",
		"moved-1.0.dist-info/RECORD":   "moved/__init__.py,,\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "moved/__init__.py")
	const compile = "import py_compile, sys; py_compile.compile(sys.argv[1], dfile='/elsewhere/moved/__init__.py', " +
		"doraise=True)"
	if out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", compile,
		file).CombinedOutput(); err != nil {
		t.Skipf("no python3 that compiles: %v %s", err, out)
	}
	a := importing("moved", "ctypes")
	a.Python.Environments = []profiles.PythonEnvironment{{Path: dir}}
	e := executorOver(t, launcher(t, nil), func(c *python.Config) {
		c.Environments = environments(t, "/usr/bin/python3")
	})
	if o := play(t, e, run(a, "import moved\nmoved.f()")); string(o.Value) != `"`+file+`"` {
		t.Errorf("%s %s", brief(o), printed(o, executors.LevelStderr))
	}
}

// With all allowed, nine hundred packages are one mount; with one of them denied they
// are more than a guest may have, and the run says so.
func TestManyPackages(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "many")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // a guest may be another user
		t.Fatal(err)
	}
	for i := range 900 {
		name := filepath.Join(dir, "fake"+strconv.Itoa(i))
		err = errors.Join(err, os.MkdirAll(name+"-1.dist-info", 0o755), os.Mkdir(name, 0o755),
			os.WriteFile(name+"/__init__.py", []byte("number = "+strconv.Itoa(i)+"\n"), 0o644),
			os.WriteFile(name+"-1.dist-info/METADATA", []byte(
				"Metadata-Version: 2.1\nName: fake"+strconv.Itoa(i)+"\nVersion: 1\n"), 0o644),
			os.WriteFile(name+"-1.dist-info/RECORD", []byte("fake"+strconv.Itoa(i)+"/__init__.py,,\n"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	e := executorOver(t, launcher(t, nil), func(c *python.Config) { c.Environments = environments(t, "") })
	const program = "import fake0, fake899\nfake0.number + fake899.number"
	a := importing("", "")
	a.Python.Imports.Any = &profiles.Rule{Line: 1}
	a.Python.Environments = []profiles.PythonEnvironment{{Path: dir}}
	if o := play(t, e, run(a, program)); string(o.Value) != "899" {
		t.Errorf("%s %s", brief(o), printed(o, executors.LevelStderr))
	}
	b := importing("", "fake7")
	b.Python.Imports.Any, b.Python.Environments = a.Python.Imports.Any, a.Python.Environments
	_, err = e.Run(t.Context(), run(b, program), nil)
	var denial *profiles.Denial
	if !errors.As(err, &denial) || denial.Decision.Code != profiles.CodeExecutorUnavailable ||
		!strings.Contains(denial.Decision.Reason, "mounts, and a guest has at most 768: list the packages") {
		t.Errorf("with one of them denied: %v", err)
	}
}

// TestStandardLibraryOfAll: the objects of the standard library load on every
// interpreter, and packages that stand beside it are not there.
func TestStandardLibraryOfAll(t *testing.T) {
	l := launcher(t, nil)
	const program = `import json, math, zlib, bz2, lzma, sqlite3, decimal, hashlib, zoneinfo, mimetypes, datetime
mimetypes.guess_type("a.png")
r = [sqlite3.connect(":memory:").execute("select 1").fetchone()[0], zoneinfo.ZoneInfo("Europe/Berlin").key]
for n in ('pip', 'setuptools'):
  try: __import__(n); r.append(n)
  except ImportError: pass
r`
	for _, path := range interpreters(t) {
		t.Run(path, func(t *testing.T) {
			if _, err := os.Stat(path); err != nil {
				t.Skip("it is not installed")
			}
			e := executorOver(t, l, func(c *python.Config) {
				c.Environments, c.Unguarded = environments(t, path), true
			})
			if o := play(t, e, run(agent(), program)); string(o.Value) != `[1,"Europe/Berlin"]` {
				t.Errorf("%s %s", brief(o), printed(o, executors.LevelStderr))
			}
		})
	}
}

// TestProbe: a profile that breaks a package is told, by what it needs and the rule.
func TestProbe(t *testing.T) {
	needDebian(t, "pandas", "numpy", "requests", "urllib3")
	cfg := python.Config{
		Launcher: launcher(t, nil), Environments: environments(t, ""), Go: func(f func()) { go f() }, Now: time.Now,
		Random: strings.NewReader(strings.Repeat("x", 1<<12)),
	}
	for _, tt := range []struct {
		agent   *profiles.Agent
		modules []string
		want    string
	}{
		{importing("pandas numpy", "requests"), []string{"pandas", "numpy"}, ""},
		{importing("requests pandas", "urllib3"), []string{"pandas", "requests"},
			`requests cannot be imported, because it needs urllib3: import of urllib3 is denied (policy.yaml:20)`},
		{importing("pandas", "numpy"), []string{"pandas"}, "pandas cannot be imported, because it needs numpy: import of numpy is denied (policy.yaml:20)"},
		{importing("pandas", ""), nil, ""},
	} {
		broken, err := python.Probe(t.Context(), cfg, tt.agent, tt.modules)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, b := range broken {
			said = append(said, b.String())
		}
		if got := strings.Join(said, "; "); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
