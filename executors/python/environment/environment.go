// Package environment finds the environment of Python programs: the interpreter of this host, and the packages
// in its folders, or in those that a policy grants, that the policy allows, with all their declared
// dependencies. Denied packages are not included, so a guest does not have their files, whatever its guard
// does.
//
// It reads the host's files, and starts an interpreter once to learn its version and its folders. It returns an
// error for an interpreter that is too old, an environment whose digest is not the policy's, and one in a
// folder that is denied or the daemon's own. The executor asks it for each run; ringd's `doctor` and `vet`
// report its findings.
package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// Config is what a Finder needs.
type Config struct {
	// Interpreter is the configured program. If empty, it is that of an agent's virtual environment, or else
	// the system's, or the newest in Search.
	Interpreter string
	Search      []string // folders of programs: PATH
	// Ask starts a program of the host, with limits, and returns its standard output.
	Ask func(ctx context.Context, argv []string) ([]byte, error)

	Cache   string   // folder of the daemon's own for unpacked wheels; if empty, none are unpacked
	Private []string // the daemon's own folders, which no guest gets

	Home, Workspace string // values of ~ and $WORKSPACE in denied paths; if empty, they have none
	Machine         string // in the form of uname: x86_64
}

// Finder finds environments, and caches them until Again. It is safe for concurrent use.
type Finder struct {
	cfg Config

	looking sync.Mutex // one look at a time; locked before mu

	mu    sync.Mutex
	age   int
	asked map[string]asked // interpreters by their program
	best1 *Interpreter     // the host's, as found since Again
	state string           // state of the host since Again; if empty, not read yet
	known map[string]*Report
	sites map[string]*Site
}

// New checks cfg. It looks for nothing.
func New(cfg Config) (*Finder, error) {
	if cfg.Ask == nil {
		return nil, errors.New("python environments: Ask must be set")
	}
	if cfg.Interpreter != "" && !filepath.IsAbs(cfg.Interpreter) {
		return nil, fmt.Errorf("python environments: the interpreter %q is no absolute path", cfg.Interpreter)
	}
	return &Finder{cfg: cfg, asked: map[string]asked{}, known: map[string]*Report{}, sites: map[string]*Site{}}, nil
}

// Report describes the environment of an agent. It is immutable.
type Report struct {
	Environment pyproto.Environment
	Interpreter Interpreter
	Packages    []Package // those of its guests, sorted
	Modules     []string  // third-party modules that the policy lists and that are here, for a probe to import
	Folders     []Folder  // that the policy grants
	Findings    []Finding
}

// Package is a package that guests have.
type Package struct{ Name, Version, Site string }

// Folder is an environment that a policy grants.
type Folder struct{ Path, Kind, Digest string }

// The kinds of a Folder.
const (
	kindVenv     = "virtual environment"
	kindPackages = "folder of packages"
	KindWheels   = "folder of wheels"
)

// Finding is a remark. Only one with Refuse denies anything.
type Finding struct {
	Rule   profiles.Rule // zero if no rule of the policy is concerned
	Module string        // concerned module
	Denied bool          // a rule denies a declared dependency of an allowed package
	Refuse bool          // no guest can be given it: Python cannot run
	Text   string
}

// Of implements python.Environments. An environment that cannot be given is an *executors.Unavailable.
func (f *Finder) Of(ctx context.Context, a *profiles.Agent) (pyproto.Environment, error) {
	r, err := f.Look(ctx, a)
	if err == nil {
		err = r.Refused()
	}
	if err != nil {
		return pyproto.Environment{}, err
	}
	return r.Environment, nil
}

// RefusedError is an environment that no guest can be given, because of a rule of the policy.
type RefusedError struct{ Finding }

// Error names the rule, and a remedy.
func (e *RefusedError) Error() string {
	at := ""
	if r := e.Rule; r.File != "" {
		at = fmt.Sprintf(" (%s:%d: %s)", r.File, r.Line, r.Path)
	}
	return e.Text + at + ": " + FewerMounts
}

// Unwrap returns the error with which an executor denies a run.
func (e *RefusedError) Unwrap() error {
	return &executors.Unavailable{Text: e.Error()}
}

// FewerMounts is the remedy for a finding that refuses.
const FewerMounts = "list the packages that programs import, or name an environment with fewer: every package that " +
	"is not denied by name is one mount"

// Refused returns a *RefusedError if a guest cannot be given the environment, otherwise nil.
func (r *Report) Refused() error {
	for _, f := range r.Findings {
		if f.Refuse {
			return &RefusedError{f}
		}
	}
	return nil
}

// Again makes the next look read everything again, including digests: a new generation.
func (f *Finder) Again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.age++
	f.best1, f.state = nil, ""
	clear(f.known)
	clear(f.sites)
}

// Look finds the environment of an agent. Errors are *executors.Unavailable, which says what to do, and faults.
func (f *Finder) Look(ctx context.Context, a *profiles.Agent) (*Report, error) {
	if a == nil || a.Python == nil {
		return nil, &executors.Unavailable{Text: "the agent has no Python executor"}
	}
	key, err := keyOf(a)
	if err != nil {
		return nil, err
	}
	f.looking.Lock()
	defer f.looking.Unlock()
	f.mu.Lock()
	known, age := f.known[key], f.age
	f.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := f.look(ctx, a)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if age == f.age && len(f.known) < maxKnown {
		f.known[key] = made
	}
	return made, nil
}

// maxKnown limits the number of cached reports. Each run may be narrowed in another way.
const maxKnown = 256

// site is a folder of packages with its content, and the folder that its links must not lead out of.
type site struct {
	*Site
	root string
}

func (f *Finder) look(ctx context.Context, a *profiles.Agent) (*Report, error) {
	r := &Report{}
	opened := make([]opened, 0, len(a.Python.Environments))
	for _, e := range a.Python.Environments {
		o, err := f.open(a, e)
		if err != nil {
			return nil, err
		}
		opened = append(opened, o)
		r.Folders = append(r.Folders, o.Folder)
	}
	var err error
	if r.Interpreter, err = f.interpreterFor(ctx, opened); err != nil {
		return nil, err
	}
	sites, err := f.sitesOf(r, opened)
	if err != nil {
		return nil, err
	}
	l := layout{seen: map[string]bool{}}
	l.interpreter(r.Interpreter, network(a))
	c := choice{
		sites: sites, imports: &a.Python.Imports, report: r, layout: &l,
		platform: Platform{Version: r.Interpreter.Version, Machine: f.cfg.Machine},
	}
	c.make()
	r.Environment = pyproto.Environment{
		Interpreter: r.Interpreter.Path, Version: r.Interpreter.Version, Own: rules(l.own), Code: rules(l.code),
		List:    rules(l.list),
		Preload: preload(r.Modules), Library: c.library(),
	}
	for _, s := range sites {
		r.Environment.Sites = append(r.Environment.Sites, s.Path)
	}
	r.Environment.Digest, err = digestOf(r)
	return r, err
}

func network(a *profiles.Agent) bool {
	k, ok := a.Kernel(profiles.ExecutorPython)
	return ok && k.Network == profiles.NetworkOwn
}

// opened is an environment of a policy that was opened.
type opened struct {
	Folder
	rule profiles.Rule
	venv venv
}

// open reads an environment of a policy, and compares it with its digest.
func (f *Finder) open(a *profiles.Agent, e profiles.PythonEnvironment) (opened, error) {
	var cause error
	refuse := func(fix, format string, args ...any) (opened, error) {
		at := ""
		if e.Rule != (profiles.Rule{}) {
			at = fmt.Sprintf(" (%s:%d)", e.Rule.File, e.Rule.Line)
		}
		return opened{}, unavailable(
			cause, fix, "the Python environment %s%s %s", e.Path, at, fmt.Sprintf(format, args...),
		)
	}
	real, err := filepath.EvalSymlinks(e.Path)
	info, failed := os.Stat(e.Path)
	cause = errors.Join(err, failed)
	switch {
	case err != nil || failed != nil:
		return refuse("make it on this host, or remove the line from the policy", "is not there")
	case !filepath.IsAbs(real) || real == "/":
		return refuse("name the folder of the packages", "is no folder of packages")
	case !info.IsDir():
		return refuse("name its folder", "is no folder")
	case paths.Of(f.real(f.cfg.Private)...).Cover(real):
		return refuse("keep it elsewhere", "is in a folder of ringd, which is never granted to guests")
	case paths.Of(f.real(f.denied(a))...).Cover(real):
		return refuse("remove one of the two lines from the policy", "is in a folder that the policy denies")
	}
	o := opened{Folder: Folder{Path: real, Kind: kindPackages}, rule: e.Rule}
	if v, ok := venvOf(real); ok {
		o.Kind, o.venv = kindVenv, v
	} else if found, _ := filepath.Glob(filepath.Join(real, "*.whl")); len(found) > 0 {
		o.Kind = KindWheels
	}
	if e.Digest == "" {
		return o, nil
	}
	if o.Digest, cause = Digest(real); cause != nil {
		return refuse("remove everything that is neither a file nor a folder", "has no digest: %v", cause)
	}
	if !sameDigest(e.Digest, o.Digest) {
		return refuse("install the pinned packages, or put the digest that ringd vet --probe prints into the policy",
			"has the digest %s, and the policy names %s", o.Digest, e.Digest)
	}
	return o, nil
}

// denied returns the paths that the policy denies, expanded.
func (f *Finder) denied(a *profiles.Agent) (out []string) {
	for _, r := range a.Files.Deny {
		p := r.Path
		for name, to := range map[string]string{"$WORKSPACE": f.cfg.Workspace, "~": f.cfg.Home} {
			if rest, ok := strings.CutPrefix(p, name); ok && (rest == "" || rest[0] == '/') && to != "" {
				p = to + rest
			}
		}
		if filepath.IsAbs(p) {
			out = append(out, filepath.Clean(p))
		}
	}
	return out
}

// real adds the targets of paths.
func (f *Finder) real(list []string) []string {
	out := list[:len(list):len(list)]
	for _, p := range list {
		if r, err := filepath.EvalSymlinks(p); err == nil && r != p {
			out = append(out, r)
		}
	}
	return out
}

// interpreterFor returns the configured interpreter, that of a virtual environment, or the host's.
func (f *Finder) interpreterFor(ctx context.Context, all []opened) (i Interpreter, err error) {
	from := ""
	for _, o := range all {
		if o.Kind != kindVenv || f.cfg.Interpreter != "" || from != "" {
			continue
		}
		if i, err = f.ask(ctx, o.venv.base("")); err != nil {
			return i, err
		}
		from = o.Path
	}
	if from == "" {
		if i, err = f.interpreter(ctx); err != nil {
			return i, err
		}
	}
	for _, o := range all {
		if o.Kind != kindVenv {
			continue
		}
		if _, err := os.Stat(filepath.Join(o.Path, "lib", "python"+i.Minor())); err != nil {
			return i, &executors.Unavailable{
				Text: fmt.Sprintf(
					"the virtual environment %s is for Python %s, and programs run on %s, which is Python %s", o.Path,
					o.venv.version, i.Path, i.Version,
				),
				Fix: "make the environment with that interpreter, or configure the other one (python.interpreter)",
			}
		}
	}
	return i, nil
}

// sitesOf reads the folders of packages: those of the environments and, if the policy grants none or one
// includes them, the interpreter's own.
func (f *Finder) sitesOf(r *Report, all []opened) (out []site, err error) {
	system := len(all) == 0
	for _, o := range all {
		system = system || o.Kind == kindVenv && o.venv.system
		roots, err := f.rootsOf(r, o)
		if err != nil {
			return nil, err
		}
		if out, err = f.addSites(out, r, roots); err != nil {
			return nil, err
		}
	}
	if !system {
		return out, nil
	}
	var own []root
	for _, p := range r.Interpreter.Sites {
		own = append(own, root{p, p})
	}
	return f.addSites(out, r, own)
}

// addSites reads folders of packages, and adds their notes to the findings.
func (f *Finder) addSites(out []site, r *Report, roots []root) ([]site, error) {
	for _, at := range roots {
		s, err := f.read(at.path)
		if err != nil {
			return nil, err
		}
		out = append(out, site{s, at.bound})
		for _, n := range s.Notes {
			r.Findings = append(r.Findings, Finding{Text: n})
		}
	}
	return out, nil
}

// root is a folder of packages, and the folder that its links must not lead out of.
type root struct{ path, bound string }

// rootsOf returns the folders of packages in one environment.
func (f *Finder) rootsOf(r *Report, o opened) ([]root, error) {
	switch o.Kind {
	case kindVenv:
		at, err := filepath.EvalSymlinks(filepath.Join(o.Path, "lib", "python"+r.Interpreter.Minor(), "site-packages"))
		if err != nil || !paths.Of(o.Path).Cover(at) {
			return nil, &executors.Unavailable{
				Text: "the virtual environment " + o.Path + " has no site-packages", Fix: "create it again",
			}
		}
		return []root{{at, o.Path}}, nil
	case KindWheels:
		cfg := unpackConfig{Cache: f.cfg.Cache, Minor: r.Interpreter.Minor(), Machine: f.cfg.Machine}
		u, err := unpackWheels(o.Path, cfg)
		if err != nil {
			return nil, &executors.Unavailable{
				Text: "the Python environment " + o.Path + ": " + err.Error(),
				Fix:  "remove the wheel from the folder, or download it again",
			}
		}
		for _, n := range u.Notes {
			r.Findings = append(r.Findings, Finding{Rule: o.rule, Text: n})
		}
		if u.Site != "" {
			return []root{{u.Site, u.Site}, {o.Path, o.Path}}, nil // packages may be among the wheels
		}
	}
	return []root{{o.Path, o.Path}}, nil
}

// read reads a site once in a generation.
func (f *Finder) read(path string) (*Site, error) {
	f.mu.Lock()
	known := f.sites[path]
	f.mu.Unlock()
	if known != nil {
		return known, nil
	}
	database := ""
	if path == debianSite {
		database = dpkg
	}
	s, err := readSite(path, database)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sites[path] = s
	return s, nil
}

// asked is the answer of an interpreter, with the state of its file at that time.
type asked struct {
	Interpreter
	seen fileState
}

func (a asked) still() bool { return a.seen != fileState{} && fileStateOf(a.Path) == a.seen }

// fileState identifies one version of a file: if another file replaces it, its fileState differs.
type fileState struct{ device, inode, size, changed int64 }
