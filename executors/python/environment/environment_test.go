package environment_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/environment"
	"github.com/ringd/ringd/profiles"
)

// ask starts an interpreter of this host, as ringd does.
func ask(ctx context.Context, argv []string) ([]byte, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir, c.Env = "/", []string{}
	return c.Output()
}

// told is an interpreter that says this of itself.
func told(version, library string) func(context.Context, []string) ([]byte, error) {
	return func(context.Context, []string) ([]byte, error) {
		return json.Marshal(map[string]any{"implementation": "cpython", "version": version,
			"prefix": filepath.Dir(filepath.Dir(library)), "library": library, "path": []string{library, library + "/lib-dynload"}})
	}
}

func finder(t *testing.T, c environment.Config) *environment.Finder {
	t.Helper()
	if c.Ask == nil {
		c.Ask = ask
	}
	if c.Machine == "" {
		c.Machine = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	}
	f, err := environment.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(to, at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func agent(allow, deny string, envs ...string) *profiles.Agent {
	a := &profiles.Agent{Name: "a", Python: &profiles.Python{}}
	for i, n := range strings.Fields(allow) {
		a.Python.Imports.Allow = append(a.Python.Imports.Allow,
			profiles.ImportRule{Name: n, Rule: profiles.Rule{File: "policy.yaml", Line: 10 + i}})
	}
	for i, n := range strings.Fields(deny) {
		a.Python.Imports.Deny = append(a.Python.Imports.Deny,
			profiles.ImportRule{Name: n, Rule: profiles.Rule{File: "policy.yaml", Line: 20 + i}})
	}
	for i, e := range envs {
		path, digest, _ := strings.Cut(e, " ")
		a.Python.Environments = append(a.Python.Environments,
			profiles.PythonEnvironment{Path: path, Digest: digest,
				Rule: profiles.Rule{File: "policy.yaml", Line: 30 + i}})
	}
	return a
}

func list(rules []profiles.PathRule, below string) (out []string) {
	for _, r := range rules {
		if rel, ok := strings.CutPrefix(r.Path, below+"/"); ok {
			out = append(out, rel)
		} else if r.Path == below {
			out = append(out, ".")
		}
	}
	return out
}

func show(r *environment.Report, below string) string {
	e := r.Environment
	return fmt.Sprintf("own %v code %v list %v", list(e.Own, below), list(e.Code, below), list(e.List, below))
}

// library is a standard library in a folder, with an interpreter.
func library(t *testing.T, more map[string]string) (root string, c environment.Config) {
	t.Helper()
	files := map[string]string{"bin/python3": "\x7fELF", "lib/python3.11/os.py": "",
		"lib/python3.11/lib-dynload/_x.so": ""}
	for k, v := range more {
		files[k] = v
	}
	root = tree(t, files)
	return root, environment.Config{Interpreter: root + "/bin/python3", Ask: told("3.11.4", root+"/lib/python3.11")}
}

func dist(name, requires, _ string) string {
	text := "Name: " + name + "\nVersion: 1\n"
	for _, r := range strings.Fields(requires) {
		text += "Requires-Dist: " + r + "\n"
	}
	return text
}

// packages is a folder of packages, one of which needs two others.
func packages() map[string]string {
	return map[string]string{
		"frame/__init__.py": "", "frame/_c.so": "", "frame/io/web.py": "", "frame/io/__init__.py": "", "frame/io/__pycache__/web.cpython-311.pyc": "",
		"frame-1.dist-info/METADATA": dist("frame", "array", ""), "frame-1.dist-info/RECORD": "frame/__init__.py,,\nframe/_c.so,,\nframe/io/web.py,,\n",
		"array/__init__.py": "", "array.libs/libblas.so": "", "array-1.dist-info/METADATA": dist("array", "wire;extra=='net'", ""),
		"array-1.dist-info/RECORD": "array/__init__.py,,\narray.libs/libblas.so,,\n",
		"wire/__init__.py":         "", "wire-1.dist-info/METADATA": dist("wire", "", ""), "wire-1.dist-info/RECORD": "wire/__init__.py,,\n",
		"other.py": "", "other-1.dist-info/METADATA": dist("other", "wire gone", ""), "other-1.dist-info/RECORD": "other.py,,\n",
		"out": "-> /usr/share", "sitecustomize.py": "",
	}
}

// TestPackages: guests have of a folder what is allowed, with what that needs.
func TestPackages(t *testing.T) {
	_, c := library(t, nil)
	site := tree(t, packages())
	f := finder(t, c)
	for _, tt := range []struct {
		name     string
		agent    *profiles.Agent
		want     string
		library  []string
		modules  []string
		findings string
	}{
		{"one with what it needs", agent("json frame", "", site), "own [array array-1.dist-info frame-1.dist-info] code [array.libs frame] list [.]",
			[]string{"array", "frame"}, []string{"frame"}, ""},
		{"nothing", agent("json", "", site), "own [] code [] list [.]", []string{}, nil, ""},
		{"a submodule", agent("frame.io", "", site), "own [array array-1.dist-info frame-1.dist-info] code [array.libs frame] list [.]",
			[]string{"array", "frame"}, []string{"frame.io"}, ""},
		{"what is denied is not there, though it is needed", agent("other", "wire", site), "own [other-1.dist-info other.py] code [] list [.]",
			[]string{"other"}, []string{"other"},
			"other needs gone, which is not installed here; other needs wire, which is denied (policy.yaml:20): where it imports that, it fails"},
		{"a denied submodule is taken out", agent("frame", "frame.io.web", site),
			"own [array array-1.dist-info frame-1.dist-info frame/__init__.py frame/io/__init__.py] code [array.libs frame/_c.so] list [. frame frame/io frame/io/__pycache__]",
			[]string{"array", "frame"}, []string{"frame"}, ""},
		{"denied wins", agent("wire", "wire", site), "own [] code [] list [.]", []string{}, nil, ""},
		{"what is not installed is told", agent("gone", "", site), "own [] code [] list [.]", []string{}, nil, "gone is allowed and not installed here"},
		{"a link that leads out", agent("out", "", site), "own [] code [] list [.]", []string{"out"}, []string{"out"}, site + "/out leads out of its environment, and guests do not have it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := f.Look(t.Context(), tt.agent)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(r, site); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if !slices.Equal(r.Environment.Library, tt.library) || !slices.Equal(r.Modules, tt.modules) ||
				!slices.Equal(r.Environment.Sites, []string{site}) {
				t.Errorf("library %q, modules %q, sites %q", r.Environment.Library, r.Modules, r.Environment.Sites)
			}
			var said []string
			for _, x := range r.Findings {
				said = append(said, x.Text)
			}
			slices.Sort(said)
			if got := strings.Join(said, "; "); got != tt.findings {
				t.Errorf("findings %s\nwant %s", got, tt.findings)
			}
		})
	}
	t.Run("whatever nothing denies", func(t *testing.T) {
		a := agent("", "wire", site)
		a.Python.Imports.Any = &profiles.Rule{Line: 1}
		r, err := f.Look(t.Context(), a)
		if err != nil || r.Environment.Library != nil || strings.Contains(show(r, site), "wire") ||
			!strings.Contains(show(r, site), "other.py") {
			t.Errorf("%s %v", show(r, site), err)
		}
		a.Python.Imports.Only = []string{"other"}
		a.Python.Imports.Allow = agent("frame other", "").Python.Imports.Allow
		if r, err = f.Look(t.Context(), a); err != nil || strings.Contains(show(r, site), "frame") ||
			!strings.Contains(show(r, site), "other.py") {
			t.Errorf("of a run that has other alone: %s %v", show(r, site), err)
		}
	})
	t.Run("many packages, whatever nothing denies", func(t *testing.T) {
		files := packages()
		for i := range 900 {
			name := fmt.Sprintf("fake%d", i)
			files[name+"/__init__.py"] = ""
			files[name+"-1.dist-info/METADATA"] = dist(name, "", "")
			files[name+"-1.dist-info/RECORD"] = name + "/__init__.py,,\n"
		}
		many := tree(t, files)
		if err := os.Chmod(many, 0o755); err != nil { // the guest may be another user
			t.Fatal(err)
		}
		a := agent("", "else", many)
		a.Python.Imports.Any = &profiles.Rule{Line: 1}
		r, err := f.Look(t.Context(), a)
		if err != nil || show(r, many) != "own [] code [.] list [.]" || len(r.Packages) != 906 {
			t.Errorf("of %d packages: %s %v", len(r.Packages), show(r, many), err)
		}
		a.Python.Imports.Deny = agent("", "fake7").Python.Imports.Deny
		if r, err = f.Look(t.Context(), a); err != nil || strings.Contains(show(r, many), "fake7/") ||
			strings.Contains(show(r, many), "code [.]") || !strings.Contains(show(r, many), "fake8-1") {
			t.Errorf("with one of them denied: %v", err)
		}
		if !slices.ContainsFunc(r.Findings, func(x environment.Finding) bool {
			return x.Refuse && strings.Contains(x.Text, "mounts")
		}) {
			t.Errorf("nothing tells that it is too much: %v", r.Findings)
		}
		a.Python.Imports.Any = &profiles.Rule{File: "p.yaml", Line: 7, Path: "spec.x"}
		_, err = f.Of(t.Context(), a)
		var no *executors.Unavailable
		if !errors.As(err, &no) || !strings.Contains(no.Text,
			"a guest has at most 768 (p.yaml:7: spec.x): list the packages") {
			t.Errorf("a guest is given it: %v", err)
		}
	})
	t.Run("the same is the same, and an upgrade is not", func(t *testing.T) {
		a := agent("frame", "", site)
		x, err := f.Of(t.Context(), a)
		f.Again()
		y, err2 := f.Of(t.Context(), a)
		if err != nil || err2 != nil || x.Digest != y.Digest {
			t.Fatalf("%v %v", err, err2)
		}
		if err := errors.Join(os.RemoveAll(site+"/array"), os.MkdirAll(site+"/array", 0o755)); err != nil {
			t.Fatal(err)
		}
		f.Again()
		if y, err = f.Of(t.Context(), a); err != nil || x.Digest == y.Digest {
			t.Errorf("an array that was installed anew has the same digest: %v", err)
		}
	})
}

// TestStandardLibrary: packages that stand in it are not given with it.
func TestStandardLibrary(t *testing.T) {
	root, c := library(t, map[string]string{"lib/python3.11/site-packages/pip/__init__.py": "",
		"lib/python3.11/json/x.py": ""})
	r, err := finder(t, c).Look(t.Context(), agent("json", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := "own [lib/python3.11/json lib/python3.11/os.py] code [lib/python3.11/lib-dynload] list [lib/python3.11 " +
		"lib/python3.11/site-packages]"
	if got := show(r, root); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	root, c = library(t, nil)
	if r, err = finder(t, c).Look(t.Context(), agent("json", "")); err != nil {
		t.Fatal(err)
	}
	if got := show(r, root); got != "own [lib/python3.11] code [lib/python3.11/lib-dynload] list []" {
		t.Error(got)
	}
}

// TestRefused: what cannot be given is refused with what to do.
func TestRefused(t *testing.T) {
	root, c := library(t, map[string]string{"venv/pyvenv.cfg": "home = /nowhere/bin\nversion = 3.9.1\n", "file": "",
		"private/env/x.py": "", "denied/env/x.py": "", "way": "-> private/env"})
	c.Private, c.Home = []string{root + "/private"}, root
	digest := "sha256:" + strings.Repeat("0", 64)
	denies := agent("x", "", root+"/denied/env")
	denies.Files.Deny = []profiles.PathRule{{Path: "~/denied"}}
	for _, tt := range []struct {
		name  string
		agent *profiles.Agent
		want  string
	}{
		{"no executor", &profiles.Agent{}, "no Python executor"},
		{"not there", agent("x", "", root+"/gone"), "/gone (policy.yaml:30) is not there"},
		{"a file", agent("x", "", root+"/file"), "is no folder"},
		{"everything", agent("x", "", "/"), "no folder of packages"},
		{"belongs to the daemon", agent("x", "", root+"/private/env"), "in a folder of ringd"},
		{"the daemon's own by a link", agent("x", "", root+"/way"), "in a folder of ringd"},
		{"denied", denies, "is in a folder that the policy denies"},
		{"another digest", agent("x", "", root+"/denied "+digest), "and the policy names " + digest},
		{"another version", agent("x", "", root+"/venv"), "is for Python 3.9.1, and programs run on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := finder(t, c).Of(t.Context(), tt.agent)
			var u *executors.Unavailable
			if !errors.As(err, &u) || !strings.Contains(u.Text, tt.want) || u.Fix == "" && tt.name != "no executor" {
				t.Errorf("%v, want %q and a remedy", err, tt.want)
			}
		})
	}
}

// TestDigest: it is of all that runs, and of nothing else.
func TestDigest(t *testing.T) {
	files := map[string]string{"a/b.py": "x", "a/__pycache__/b.pyc": "y", "l": "-> a"}
	one, err := environment.Digest(tree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := environment.Digest(tree(t, files)); err != nil || again != one {
		t.Errorf("the same elsewhere: %s, %s, %v", one, again, err)
	}
	for name, change := range map[string]func(dir string) error{
		"content":   func(d string) error { return os.WriteFile(d+"/a/b.py", []byte("z"), 0o755) },
		"byte code": func(d string) error { return os.WriteFile(d+"/a/__pycache__/b.pyc", []byte("z"), 0o755) },
		"a name":    func(d string) error { return os.Rename(d+"/a/b.py", d+"/a/c.py") },
		"a link":    func(d string) error { return errors.Join(os.Remove(d+"/l"), os.Symlink("b", d+"/l")) },
		"a folder":  func(d string) error { return os.Mkdir(d+"/new", 0o755) },
		"a mode":    func(d string) error { return os.Chmod(d+"/a/b.py", 0o644) },
	} {
		d := tree(t, files)
		if err := change(d); err != nil {
			t.Fatal(err)
		}
		if other, err := environment.Digest(d); err != nil || other == one {
			t.Errorf("%s: %v, the same digest", name, err)
		}
	}
	site := tree(t, packages())
	_, c := library(t, nil)
	have, err := environment.Digest(site)
	if err != nil {
		t.Fatal(err)
	}
	f := finder(t, c)
	if r, err := f.Look(t.Context(), agent("wire", "", site+" "+have)); err != nil || r.Folders[0].Digest != have {
		t.Errorf("its own digest: %v", err)
	}
	if err := os.WriteFile(site+"/wire/__init__.py", []byte("evil()"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.Again()
	if _, err := f.Look(t.Context(), agent("wire", "", site+" "+have)); err == nil ||
		!strings.Contains(err.Error(), have) {
		t.Errorf("a package that was changed is given: %v", err)
	}
}

func wheel(t *testing.T, name string, files map[string]string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, n := range slices.Sorted(keys(files)) {
		h := &zip.FileHeader{Name: n, Method: zip.Deflate}
		if strings.HasPrefix(files[n], "-> ") {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		out, err := w.CreateHeader(h)
		if err == nil {
			_, err = out.Write([]byte(files[n]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestWheels: a folder of wheels is unpacked once, into the daemon's cache, and what
// does not belong into a folder of packages is not.
func TestWheels(t *testing.T) {
	_, c := library(t, nil)
	c.Cache = t.TempDir()
	c.Private = []string{c.Cache}
	c.Machine = "x86_64"
	dir := t.TempDir()
	wheel(t, dir+"/good-1-py3-none-any.whl", map[string]string{
		"good/__init__.py": "", "good-1.dist-info/METADATA": dist("good", "", ""), "good-1.dist-info/RECORD": "good/__init__.py,,\nmore.py,,\n",
		"good-1.data/purelib/more.py": "", "good-1.data/scripts/run": "",
	})
	wheel(t, dir+"/mac-1-cp311-cp311-macosx_11_0_arm64.whl", map[string]string{"mac.py": ""})
	wheel(t, dir+"/old-1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", map[string]string{"old.py": ""})
	wheel(t, dir+"/stable-1-cp38-abi3-manylinux_2_17_x86_64.whl", map[string]string{"stable.abi3.so": ""})
	f := finder(t, c)
	r, err := f.Look(t.Context(), agent("good more stable old", "", dir))
	if err != nil {
		t.Fatal(err)
	}
	site := r.Environment.Sites[0]
	if got := show(r, site); got != "own [good good-1.dist-info more.py] code [stable.abi3.so] list [.]" ||
		!strings.HasPrefix(site, c.Cache) || r.Folders[0].Kind != environment.KindWheels {
		t.Errorf("%s in %s, %+v", got, site, r.Folders)
	}
	if len(r.Findings) != 3 { // two wheels, and that old is not installed
		t.Errorf("%+v", r.Findings)
	}
	f.Again()
	if again, err := f.Look(t.Context(), agent("good", "", dir)); err != nil || again.Environment.Sites[0] != site {
		t.Errorf("%v: unpacked again", err)
	}
	for name, files := range map[string]map[string]string{
		"up":       {"../evil.py": "x"},
		"absolute": {"/tmp/evil.py": "x"},
		"inside":   {"a/../../evil.py": "x"},
		"back":     {`a\..\..\evil.py`: "x"},
		"link":     {"evil": "-> /etc"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			wheel(t, dir+"/evil-1-py3-none-any.whl", files)
			if r, err := f.Look(t.Context(), agent("evil", "", dir)); err == nil {
				t.Errorf("taken: %+v", r.Environment)
			}
			left, err := filepath.Glob(c.Cache + "/wheels/new-*")
			if err != nil || len(left) > 0 {
				t.Errorf("left %q, %v", left, err)
			}
		})
	}
}

// TestInterpreters: what this host has is found, by every way that leads to it.
func TestInterpreters(t *testing.T) {
	if _, err := os.Stat(environment.System); err != nil {
		t.Skip("no python3 of this system's packages")
	}
	r, err := finder(t, environment.Config{}).Look(t.Context(), agent("json", ""))
	if err != nil {
		t.Fatal(err)
	}
	system := r.Interpreter
	if !strings.HasPrefix(system.Version, "3.") || system.Library == "" || system.Objects == "" {
		t.Errorf("%+v", system)
	}
	t.Run("a virtual environment", func(t *testing.T) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, option := range [][]string{nil, {"--copies"}, {"--system-site-packages"}} {
			venv := filepath.Join(dir, strings.Join(append(option, "v"), "-"))
			if out, err := exec.CommandContext(t.Context(), environment.System,
				append([]string{"-m", "venv", "--without-pip", venv}, option...)...).CombinedOutput(); err != nil {
				t.Skipf("no virtual environments here: %v %s", err, out)
			}
			site := filepath.Join(venv, "lib", "python"+system.Minor(), "site-packages")
			if err := os.WriteFile(site+"/mine.py", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := finder(t, environment.Config{}).Look(t.Context(), agent("mine", "", venv))
			if err != nil || r.Interpreter.Path != system.Path || !slices.Equal(r.Modules, []string{"mine"}) ||
				r.Environment.Sites[0] != site {
				t.Fatalf("%q: %+v %v", option, r, err)
			}
			if n := len(r.Environment.Sites); (n > 1) != slices.Contains(option, "--system-site-packages") {
				t.Errorf("%q: %q", option, r.Environment.Sites)
			}
			if r, err := finder(t, environment.Config{Interpreter: venv + "/bin/python"}).Look(
				t.Context(), agent("json", "")); err != nil || r.Interpreter.Path != system.Path {
				t.Errorf("%q, its own program: %+v %v", option, r, err)
			}
		}
	})
	t.Run("pyenv", func(t *testing.T) {
		versions, _ := filepath.Glob("/root/.pyenv/versions/3.1[0-9]*/bin/python3")
		if len(versions) == 0 {
			t.Skip("no interpreters of pyenv")
		}
		for _, p := range versions {
			r, err := finder(t, environment.Config{Interpreter: p}).Look(t.Context(), agent("json", ""))
			if err != nil || r.Interpreter.Version != filepath.Base(filepath.Dir(filepath.Dir(p))) ||
				slices.Contains(list(r.Environment.Own, r.Interpreter.Library), "site-packages") {
				t.Errorf("%s: %v", p, err)
			}
		}
		r, err := finder(t, environment.Config{Interpreter: "/root/.pyenv/shims/python3"}).Look(
			t.Context(), agent("json", ""))
		if err != nil || !strings.HasPrefix(r.Interpreter.Path, "/root/.pyenv/versions/") {
			t.Errorf("the shim: %+v, %v", r, err)
		}
	})
}

// TestOthers: an interpreter that programs cannot run on is refused by what it is.
func TestOthers(t *testing.T) {
	root, c := library(t, map[string]string{"script": "#!/bin/sh\n", "text": "hello"})
	for name, tt := range map[string]struct {
		path, answer, want string
	}{
		"too old":      {"bin/python3", `{"implementation":"cpython","version":"3.9.18","library":"/"}`, "is Python 3.9.18, and programs need 3.10"},
		"not CPython":  {"bin/python3", `{"implementation":"pypy","version":"3.10.1","library":"/"}`, "programs run on CPython"},
		"no answer":    {"bin/python3", `hello`, "did not say"},
		"no version":   {"bin/python3", `{"implementation":"cpython","version":"3.x.1"}`, "is Python 3.x.1"},
		"threads":      {"bin/python3", `{"implementation":"cpython","version":"3.13.1","flags":"t"}`, "without the global lock"},
		"no library":   {"bin/python3", `{"implementation":"cpython","version":"3.13.1","library":"/nowhere"}`, "which is not there"},
		"a script":     {"script", "", "is a script"},
		"no program":   {"text", "", "is no program"},
		"none":         {"gone", "", "is not there"},
		"does not run": {"bin/python3", "-", "does not start"},
	} {
		t.Run(name, func(t *testing.T) {
			c.Interpreter = filepath.Join(root, tt.path)
			c.Ask = func(context.Context, []string) ([]byte, error) {
				if tt.answer == "-" {
					return nil, errors.New("no")
				}
				return []byte(tt.answer), nil
			}
			_, err := finder(t, c).Of(t.Context(), agent("json", ""))
			var u *executors.Unavailable
			if !errors.As(err, &u) || !strings.Contains(u.Text, tt.want) || u.Fix == "" {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestShort: an interpreter that the host could not start or look at is neither there
// nor missing, so that its twin, which is really missing, is told apart; and no other
// interpreter takes its place.
func TestShort(t *testing.T) {
	root, c := library(t, nil)
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"no process":     {&os.PathError{Op: "fork/exec", Path: "python3", Err: syscall.EAGAIN}, true},
		"no memory":      {fmt.Errorf("start: %w", syscall.ENOMEM), true},
		"no descriptor":  {syscall.EMFILE, true},
		"killed":         {errors.Join(environment.ErrShort, errors.New("signal: killed")), true},
		"took too long":  {context.DeadlineExceeded, true},
		"does not run":   {errors.New("exit status 1"), false},
		"not a program":  {syscall.ENOEXEC, false},
		"not granted us": {syscall.EACCES, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, named := range []string{filepath.Join(root, "bin/python3"), ""} {
				c := c
				c.Interpreter, c.Search = named, []string{filepath.Join(root, "bin")}
				ask, asked := c.Ask, 0
				c.Ask = func(ctx context.Context, argv []string) ([]byte, error) {
					if asked++; asked == 1 {
						return nil, tt.err
					}
					return ask(ctx, argv)
				}
				f := finder(t, c)
				_, err := f.Of(t.Context(), agent("json", ""))
				var u *executors.Unavailable
				if named == "" && !tt.want {
					continue // another one may do
				}
				if !errors.As(err, &u) || u.Later() != tt.want {
					t.Fatalf("interpreter %q: %v, want later %v", named, err, tt.want)
				}
				if err := executors.Refused("python", err); !errors.As(err, &u) || u.Later() != tt.want {
					t.Errorf("as a denial: %v", err)
				}
				if _, err := f.Of(t.Context(), agent("json", "")); err != nil {
					t.Errorf("the host is well again: %v", err)
				}
			}
		})
	}
}

// TestStands: what is found for an agent is the same as long as neither the policy nor
// what stands in the folders of the host changes; a look is then not needed.
func TestStands(t *testing.T) {
	root, c := library(t, nil)
	site := filepath.Join(root, "lib/python3.11/site-packages")
	if err := os.MkdirAll(filepath.Join(site, "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := finder(t, c)
	key := func(a *profiles.Agent) string {
		t.Helper()
		f.Again()
		k, ok := f.Stands(t.Context(), a)
		if !ok || k == "" {
			t.Fatal("it cannot be told")
		}
		return k
	}
	first := key(agent("json", ""))
	if key(agent("json", "")) != first {
		t.Error("another key for the same")
	}
	if key(agent("json", "os")) == first || key(agent("json,re", "")) == first {
		t.Error("the same key for another policy")
	}
	if err := os.WriteFile(filepath.Join(site, "one", "new.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := key(agent("json", ""))
	if second == first {
		t.Error("the same key when a package changed")
	}
	if err := os.Mkdir(filepath.Join(site, "two"), 0o755); err != nil {
		t.Fatal(err)
	}
	if key(agent("json", "")) == second {
		t.Error("the same key when a package came")
	}
	named := agent("json", "")
	named.Python.Environments = []profiles.PythonEnvironment{{Path: site}}
	if _, ok := f.Stands(t.Context(), named); ok {
		t.Error("an environment of the policy, whose digest counts, needs no look")
	}
}
