package rootfs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/canonjson"
)

// maxObjects limits the dependencies of one program or library, in total.
const maxObjects = 512

// loader finds libraries as ld.so does, and as musl's loader does.
type loader struct {
	host     *host
	triplet  string   // x86_64-linux-gnu
	platform string   // x86_64
	cached   []string // folders of the loader's cache
	standard []string // folders that it searches without a cache
	musl     []string // folders of musl's loader
	useCache bool     // a library was found for which the loader needs its cache
}

func newLoader(h *host, arch string) loader {
	l := loader{host: h, platform: "x86_64"}
	if arch == "arm64" {
		l.platform = "aarch64"
	}
	l.triplet = l.platform + "-linux-gnu"
	l.standard = []string{"/lib/" + l.triplet, "/usr/lib/" + l.triplet, "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
	l.musl = []string{"/lib", "/usr/local/lib", "/usr/lib"}
	return l
}

// configure reads the host's configuration, once and only when it matters.
func (l *loader) configure() {
	if l.cached != nil {
		return
	}
	l.cached = append([]string{}, loaderDirs(l.host.read, l.host.list)...)
	if text, ok := l.host.read("/etc/ld-musl-" + l.platform + ".path"); ok {
		l.musl = strings.FieldsFunc(string(text), func(c rune) bool { return c == ':' || c == '\n' })
	}
}

// loaded is an object with the object that needs it.
type loaded struct {
	*object
	place
	path string // path by which it was loaded
	by   *loaded
}

// closure finds all dependencies of the object at p, without the object itself. name is the path by which it is
// reached. The error names the missing library.
func (l *loader) closure(p place, name string, o *object, musl bool) ([]*loaded, error) {
	l.configure()
	known := map[string]bool{}
	var out []*loaded
	todo := []*loaded{{object: o, place: p, path: name}}
	for len(todo) > 0 {
		one := todo[0]
		todo = todo[1:]
		for _, need := range one.needed {
			if known[need] || musl && ofMusl(need) {
				continue
			}
			known[need] = true
			got, err := l.find(one, need, musl)
			if err != nil {
				return nil, err
			}
			if got.soname != "" {
				known[got.soname] = true
			}
			out = append(out, got)
			todo = append(todo, got)
			if len(out) > maxObjects {
				return nil, fmt.Errorf("needs more than %d libraries", maxObjects)
			}
		}
	}
	return out, nil
}

// ofMusl reports whether musl's loader takes a library for itself.
func ofMusl(name string) bool {
	rest, ok := strings.CutPrefix(name, "lib")
	word, _, dot := strings.Cut(rest, ".")
	return ok && dot && slices.Contains([]string{"c", "pthread", "rt", "m", "dl", "util", "xnet"}, word)
}

// find looks for a library where the loader of the object that needs it does.
func (l *loader) find(one *loaded, need string, musl bool) (*loaded, error) {
	if strings.Contains(need, "/") {
		for _, name := range l.expand(need, one) {
			if got := l.try(name, one); got != nil {
				return got, nil
			}
		}
		return nil, fmt.Errorf("needs the library %s, which is not there", need)
	}
	var dirs []string
	if one.runpath == nil || musl {
		for o := one; o != nil; o = o.by {
			if o.runpath == nil || musl {
				dirs = append(dirs, l.folders(append(slices.Clone(o.rpath), o.runpath...), o)...)
			}
		}
	}
	if !musl {
		dirs = append(dirs, l.folders(one.runpath, one)...)
		dirs = append(dirs, l.cached...)
		dirs = append(dirs, l.standard...)
	} else {
		dirs = append(dirs, l.musl...)
	}
	for i, dir := range dirs {
		got := l.try(path.Join(dir, need), one)
		if got == nil {
			continue
		}
		if at := len(dirs) - len(l.standard) - len(l.cached); !musl && i >= at && !slices.Contains(l.standard, dir) {
			l.useCache = true
		}
		return got, nil
	}
	return nil, fmt.Errorf("needs the library %s, which is in no folder of its loader", need)
}

// try takes a library that exists and is of this machine. A loader skips all others.
func (l *loader) try(name string, by *loaded) *loaded {
	p, err := l.host.walk(name)
	if err != nil || !p.info.regular() {
		return nil
	}
	o, err := l.host.object(p)
	if err != nil || !o.shared {
		return nil
	}
	return &loaded{object: o, place: p, path: name, by: by}
}

// folders are the absolute ones of a search path, expanded.
func (l *loader) folders(list []string, of *loaded) (out []string) {
	for _, dir := range list {
		out = append(out, l.expand(dir, of)...)
	}
	return out
}

// expand replaces $ORIGIN, $LIB and $PLATFORM. A path that is not absolute afterwards depends on the working
// directory, and is left out.
func (l *loader) expand(text string, of *loaded) (out []string) {
	origin := path.Dir(of.path)
	for _, lib := range []string{"lib/" + l.triplet, "lib64", "lib"} {
		full := strings.NewReplacer(
			"${ORIGIN}", origin, "$ORIGIN", origin, "${LIB}", lib, "$LIB", lib, "${PLATFORM}", l.platform, "$PLATFORM",
			l.platform,
		).Replace(text)
		if path.IsAbs(full) && len(full) < maxPath && strings.IndexByte(full, 0) < 0 && !slices.Contains(out, full) {
			out = append(out, full)
		}
	}
	return out
}

// interpreter finds the loader that a program names.
func (l *loader) interpreter(o *object) (p place, musl bool, err error) {
	if !path.IsAbs(o.interp) {
		return place{}, false, fmt.Errorf("names the loader %q, which is no absolute path", clip(o.interp))
	}
	p, err = l.host.walk(o.interp)
	if err != nil {
		return place{}, false, fmt.Errorf("needs the loader %s, which %w", clip(o.interp), err)
	}
	if !p.info.regular() {
		return place{}, false, fmt.Errorf("needs the loader %s, which is no file", clip(o.interp))
	}
	if _, err := l.host.object(p); err != nil {
		if errors.Is(err, errForeign) || errors.Is(err, errNotELF) {
			err = fmt.Errorf("needs the loader %s, which %w", clip(o.interp), err)
		}
		return place{}, false, err
	}
	return p, strings.HasPrefix(path.Base(o.interp), "ld-musl-"), nil
}

func clip(s string) string { return canonjson.Truncate(s, 80) }
