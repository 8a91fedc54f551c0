package environment

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// layout collects the paths that a guest is given.
type layout struct {
	own, code, list []string
	seen            map[string]bool
}

// interpreter adds the standard library without the packages in it, and the few files of the system that it
// reads. Files that the host does not have are left out.
func (l *layout) interpreter(i Interpreter, network bool) {
	apart := false
	names, err := os.ReadDir(i.Library)
	for _, n := range names {
		apart = apart || err == nil && ofPackages(n.Name())
	}
	if apart {
		l.list = append(l.list, i.Library)
		for _, n := range names {
			if !ofPackages(n.Name()) && l.inside(filepath.Join(i.Library, n.Name()), i.Library) {
				l.own = append(l.own, filepath.Join(i.Library, n.Name()))
			}
		}
	} else {
		l.own = append(l.own, i.Library)
	}
	if i.Objects != "" {
		l.own = slices.DeleteFunc(l.own, func(p string) bool { return p == i.Objects })
		l.code = append(l.code, i.Objects)
	}
	l.system("/usr/share/zoneinfo", "/usr/lib/locale", "/etc/localtime", "/etc/mime.types")
	if network { // certificates
		l.system(
			"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/usr/lib/ssl", "/usr/share/ca-certificates",
			"/usr/local/share/ca-certificates",
		)
	}
}

func ofPackages(name string) bool { return name == "site-packages" || name == "dist-packages" }

func (l *layout) system(names ...string) {
	for _, p := range names {
		if _, err := os.Stat(p); err == nil {
			l.own = append(l.own, p)
		}
	}
}

// inside reports whether p is not a link that leads out of a folder.
func (l *layout) inside(p, root string) bool {
	real, err := filepath.EvalSymlinks(p)
	return err == nil && (real == p || paths.Of(root).Cover(real))
}

// add gives a guest the entry p, except the paths in without. ok is false for a link that leads out of root.
func (l *layout) add(p, root string, without []string) (ok bool) {
	if l.seen[p] || slices.Contains(without, p) {
		return true
	}
	l.seen[p] = true
	if !l.inside(p, root) {
		return false
	}
	if !slices.ContainsFunc(without, func(w string) bool { return strings.HasPrefix(w, p+"/") }) {
		if objects(p) {
			l.code = append(l.code, p)
		} else {
			l.own = append(l.own, p)
		}
		return true
	}
	l.list = append(l.list, p)
	names, err := os.ReadDir(p)
	if err != nil {
		return true // it is not readable, and not given
	}
	ok = true
	for _, n := range names {
		ok = l.add(filepath.Join(p, n.Name()), root, without) && ok
	}
	return ok
}

// objects reports whether there is a shared object at p, or below it.
func objects(p string) bool {
	found := false
	_ = filepath.WalkDir(p, func(_ string, e fs.DirEntry, err error) error { // an unreadable path is not loaded
		if err == nil && !e.IsDir() && (strings.HasSuffix(e.Name(), ".so") || strings.Contains(e.Name(), ".so.")) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// taken lists the entries of a denied module in a site.
func taken(site, module string) (out []string) {
	parts := strings.Split(module, ".")
	if slices.Contains(parts, "") || strings.ContainsAny(module, `/\*?[`) {
		return nil
	}
	at := filepath.Join(append([]string{site}, parts...)...)
	dir, last := filepath.Dir(at), parts[len(parts)-1]
	escaped := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
	for _, pattern := range []string{
		last, last + ".py", last + ".pyc", last + ".so", last + ".*.so", "__pycache__/" + last + ".*.pyc",
	} {
		found, _ := filepath.Glob(filepath.Join(escaped, pattern)) // the pattern is valid
		out = append(out, found...)
	}
	return out
}

// rules makes rules of paths, sorted and without duplicates.
func rules(list []string) []profiles.PathRule {
	slices.Sort(list)
	out := make([]profiles.PathRule, 0, len(list))
	for _, p := range slices.Compact(list) {
		out = append(out, profiles.PathRule{Path: p})
	}
	return out
}
