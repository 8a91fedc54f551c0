package environment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/executors"
)

// Interpreter is a CPython of this host. It is immutable.
type Interpreter struct {
	Path    string `json:"path"`    // real path of its program
	Version string `json:"version"` // 3.11.2
	Prefix  string `json:"prefix"`
	Library string `json:"library"` // folder of the standard library
	Objects string `json:"objects"` // folder of its shared objects; empty if there is none
	Sites   []string
}

// Minor is the version without its last number, as in the names of folders.
func (i Interpreter) Minor() string {
	parts := strings.SplitN(i.Version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// The oldest supported version.
const oldestMinor = 10

// question is the program by which an interpreter describes itself. It has no input, and reads no file but the
// standard library.
const question = `import sys, os, json
print(json.dumps({"implementation": sys.implementation.name, "version": "%d.%d.%d" % sys.version_info[:3],
 "flags": getattr(sys, "abiflags", ""), "prefix": sys.base_prefix, "library": os.path.dirname(os.__file__),
 "path": sys.path}))`

type answer struct {
	Implementation, Version, Flags, Prefix, Library string
	Path                                            []string
}

const install = "apt-get install python3, or name an interpreter of version 3.10 or newer in the configuration " +
	"(python.interpreter)"

// interpreter returns the configured interpreter, or the best of this host.
func (f *Finder) interpreter(ctx context.Context) (Interpreter, error) {
	if f.cfg.Interpreter != "" {
		return f.ask(ctx, f.cfg.Interpreter)
	}
	f.mu.Lock()
	known, age := f.best1, f.age
	f.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	i, err := f.best(ctx)
	if err != nil {
		return i, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if age == f.age {
		f.best1 = &i
	}
	return i, nil
}

// Host returns the interpreter of programs whose policy grants no virtual environment, and the number of
// packages in its folders.
func (f *Finder) Host(ctx context.Context) (i Interpreter, packages int, err error) {
	if i, err = f.interpreter(ctx); err != nil {
		return i, 0, err
	}
	for _, p := range i.Sites {
		s, err := f.read(p)
		if err != nil {
			return i, 0, err
		}
		packages += len(s.Dists)
	}
	return i, packages, nil
}

// best is the system's interpreter or, if there is none or it is too old, the newest in the searched folders.
func (f *Finder) best(ctx context.Context) (best Interpreter, err error) {
	var why []string
	tried := map[string]bool{}
	for n, name := range f.candidates() {
		real, err := resolve(name)
		if short(err) {
			return best, unavailable(err, install, "%v", err) // another one would not be as good
		}
		if err != nil {
			why = append(why, err.Error())
		}
		if err != nil || tried[real] {
			continue
		}
		tried[real] = true
		i, err := f.ask(ctx, real)
		switch {
		case short(err):
			return best, err
		case err != nil:
			why = append(why, err.Error())
		case n == 0:
			return i, nil
		case newer(i.Version, best.Version):
			best = i
		}
	}
	if best.Path != "" {
		return best, nil
	}
	text := "there is no Python interpreter that programs can run on"
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return best, &executors.Unavailable{Text: text, Fix: install}
}

// System is the interpreter of the distribution.
const System = "/usr/bin/python3"

// candidates are the interpreters to examine, the system's first. The others are listed only if they exist.
func (f *Finder) candidates() []string {
	all := []string{System}
	for _, dir := range f.cfg.Search {
		if !filepath.IsAbs(dir) {
			continue
		}
		// a folder with such a name is odd, and lists nothing
		names, _ := filepath.Glob(filepath.Join(dir, "python3*"))
		for _, n := range names {
			rest, numbered := strings.CutPrefix(filepath.Base(n), "python3.")
			if _, err := strconv.Atoi(rest); filepath.Base(n) == "python3" || numbered && err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

func newer(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m > n
		}
	}
	return len(x) > len(y)
}

// resolve returns the program that a name would run. It follows links, the home of a virtual environment, and
// the shim of pyenv.
func resolve(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", lost(err, "%s is not there", name)
	}
	if v, ok := venvOf(filepath.Dir(filepath.Dir(name))); ok {
		if real, err = filepath.EvalSymlinks(v.base(filepath.Base(name))); err != nil {
			return "", lost(
				err, "%s is of a virtual environment whose interpreter %s is not there", name,
				v.base(filepath.Base(name)),
			)
		}
	}
	head := make([]byte, 4)
	file, err := os.Open(real)
	if err != nil {
		return "", lost(err, "%s cannot be read", real)
	}
	defer file.Close()
	if _, err := file.Read(head); err != nil {
		return "", lost(err, "%s cannot be read", real)
	}
	switch {
	case bytes.Equal(head, []byte("\x7fELF")):
		return real, nil
	case bytes.HasPrefix(head, []byte("#!")):
		return shim(real)
	default:
		return "", fmt.Errorf("%s is no program", real)
	}
}

// shim returns the program of a shim of pyenv: the version that is set for all folders, or the newest.
func shim(name string) (string, error) {
	root := filepath.Dir(filepath.Dir(name))
	if filepath.Base(filepath.Dir(name)) != "shims" {
		return "", fmt.Errorf("%s is a script, not the interpreter itself", name)
	}
	text, _ := os.ReadFile(filepath.Join(root, "version")) // without the file, the newest
	for _, v := range strings.Fields(string(text)) {
		if filepath.IsLocal(v) {
			if real, err := filepath.EvalSymlinks(filepath.Join(root, "versions", v, "bin", "python3")); err == nil {
				return real, nil
			}
		}
	}
	found, _ := filepath.Glob(filepath.Join(root, "versions", "*", "bin", "python3"))
	best := ""
	for _, p := range found {
		version := filepath.Base(filepath.Dir(filepath.Dir(p)))
		if best == "" || newer(version, filepath.Base(filepath.Dir(filepath.Dir(best)))) {
			best = p
		}
	}
	if real, err := filepath.EvalSymlinks(best); best != "" && err == nil {
		return real, nil
	}
	return "", fmt.Errorf("%s is a script of pyenv that leads to no interpreter", name)
}

// ask starts an interpreter once and reads its description.
func (f *Finder) ask(ctx context.Context, name string) (Interpreter, error) {
	real, err := resolve(name)
	if err != nil {
		return Interpreter{}, unavailable(err, install, "%v", err)
	}
	f.mu.Lock()
	known, ok := f.asked[real]
	f.mu.Unlock()
	if ok && known.still() {
		return known.Interpreter, nil
	}
	seen := fileStateOf(real)
	out, err := f.cfg.Ask(ctx, []string{real, "-I", "-S", "-B", "-X", "utf8", "-c", question})
	if err != nil {
		return Interpreter{}, unavailable(err, install, "%s does not start: %v", real, err)
	}
	i, err := heard(real, out)
	if err != nil {
		return Interpreter{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[real] = asked{i, seen}
	return i, nil
}

// heard parses the answer of an interpreter.
func heard(real string, out []byte) (Interpreter, error) {
	refuse := func(format string, args ...any) (Interpreter, error) {
		return Interpreter{}, &executors.Unavailable{Text: real + " " + fmt.Sprintf(format, args...), Fix: install}
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		return refuse("did not say what it is")
	}
	parts := strings.Split(a.Version, ".")
	if len(parts) != 3 || a.Implementation != "cpython" {
		return refuse("is %q %q, and programs run on CPython", a.Implementation, a.Version)
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil || major != 3 || minor < oldestMinor {
		return refuse("is Python %s, and programs need 3.%d or newer", a.Version, oldestMinor)
	}
	if strings.Contains(a.Flags, "t") {
		return refuse("is a build without the global lock, which ringd does not support yet")
	}
	library, err := filepath.EvalSymlinks(a.Library)
	if err != nil || !filepath.IsAbs(a.Library) {
		return refuse("has its standard library at %q, which is not there", a.Library)
	}
	i := Interpreter{Path: real, Version: a.Version, Prefix: a.Prefix, Library: library}
	for _, p := range a.Path {
		if filepath.Base(p) == "lib-dynload" {
			if at, err := filepath.EvalSymlinks(p); err == nil {
				i.Objects = at
			}
		}
	}
	i.Sites = i.sites()
	return i, nil
}

// sites are the folders of packages of an interpreter, in the order of its search: Debian's, and the one in the
// standard library.
func (i Interpreter) sites() (out []string) {
	for _, dir := range []string{
		"/usr/local/lib/python" + i.Minor() + "/dist-packages", debianSite, filepath.Join(i.Library, "site-packages"),
	} {
		debian := strings.HasSuffix(dir, "dist-packages")
		if real, err := filepath.EvalSymlinks(dir); err == nil && (!debian || i.Prefix == "/usr") &&
			!slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// debianSite is the folder of Debian's packages, which dpkg knows.
const (
	debianSite = "/usr/lib/python3/dist-packages"
	dpkg       = "/var/lib/dpkg"
)

// venv is a parsed pyvenv.cfg.
type venv struct {
	home, executable, version string
	system                    bool
}

// venvOf reads the configuration of a virtual environment. ok is false for any other folder.
func venvOf(dir string) (v venv, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "pyvenv.cfg"))
	if err != nil || len(text) > 64<<10 {
		return venv{}, false
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "home":
			v.home = value
		case "executable":
			v.executable = value
		case "version", "version_info":
			v.version = value
		case "include-system-site-packages":
			v.system = strings.EqualFold(value, "true")
		}
	}
	return v, filepath.IsAbs(v.home)
}

// base is the interpreter from which a virtual environment was made.
func (v venv) base(name string) string {
	if filepath.IsAbs(v.executable) {
		return v.executable
	}
	if name == "" || name == "python" {
		name = "python3"
	}
	return filepath.Join(v.home, name)
}
