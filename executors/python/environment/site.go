// A site is a folder of Python packages on the host. Its packages, their files and their dependencies come from
// .dist-info and .egg-info, and on Debian from dpkg. Reading it follows no link out of the folder.

package environment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Site is a folder of packages. It is immutable.
type Site struct {
	Path  string // real
	Dists []*Distribution
	Notes []string // skipped entries, in words
}

// Distribution is one package of a site, by the name under which it is installed.
type Distribution struct {
	Name     string // normalized; for an entry that no package lists, that of its module
	Version  string
	Requires []requirement
	Site     string
	// Entries are its files and folders below Site, as few as possible: a folder in which another package has
	// files is split.
	Entries []string
	// Modules are the dotted names that its entries can be imported by.
	Modules []string

	files []string // below Site; nil if not known, then there are only tops
	tops  []string // first components
	part  bool     // a Debian package without metadata that another needs
}

// Limits of reading a site.
const (
	maxEntries  = 20_000  // of a folder
	maxMetadata = 4 << 20 // bytes of a file
	maxDepth    = 8       // of namespaces that several packages share
)

// readSite reads the site at path, which must be real. dpkg is the folder of dpkg's database, or empty if it
// does not know the site.
func readSite(path, dpkg string) (*Site, error) {
	names, err := list(path)
	if err != nil {
		return nil, fmt.Errorf("read packages: %w", err)
	}
	s := &Site{Path: path}
	for _, name := range names {
		if d := s.metadata(name); d != nil {
			s.Dists = append(s.Dists, d)
		}
	}
	if dpkg != "" {
		s.debian(dpkg)
	}
	s.assign(names)
	return s, nil
}

// metadata reads NAME.dist-info or NAME.egg-info. It returns nil if name is neither.
func (s *Site) metadata(name string) *Distribution {
	at := filepath.Join(s.Path, name)
	var texts []string
	switch {
	case strings.HasSuffix(name, ".dist-info"):
		texts = []string{"METADATA"}
	case strings.HasSuffix(name, ".egg-info"):
		texts = []string{"PKG-INFO", ""}
	case strings.HasSuffix(name, ".egg"), strings.HasSuffix(name, ".egg-link"):
		s.Notes = append(s.Notes, at+" is an egg, which is not supported: install the package with pip")
		return nil
	case strings.HasPrefix(name, "__editable__"):
		s.Notes = append(
			s.Notes, at+" points to a package elsewhere (pip install -e), which is not supported: install the "+
				"package itself",
		)
		return nil
	default:
		return nil
	}
	text := ""
	for _, t := range texts {
		if text = read(filepath.Join(at, t)); text != "" {
			break
		}
	}
	d := &Distribution{Site: s.Path}
	d.Name, d.Version, d.Requires = readMetadata(text)
	if d.Name == "" {
		stem, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(name, ".dist-info"), ".egg-info"), "-")
		d.Name = normalizeName(stem)
	}
	d.Requires = append(d.Requires, parseRequirements(read(filepath.Join(at, "requires.txt")))...)
	d.files = record(read(filepath.Join(at, "RECORD")))
	if d.files == nil {
		d.files = beside(name, read(filepath.Join(at, "installed-files.txt")))
	}
	d.tops = s.topsOf(d, at)
	d.claim(name)
	return d
}

// claim adds an entry that belongs to d whatever its lists say.
func (d *Distribution) claim(top string) {
	if !slices.Contains(d.tops, top) {
		d.tops = append(d.tops, top)
	}
	if d.files != nil {
		d.files = append(d.files, top)
	}
}

// topsOf returns the first components of its files. Without a list of files they are those in top_level.txt, or
// else its own name.
func (s *Site) topsOf(d *Distribution, at string) (tops []string) {
	for _, f := range d.files {
		top, _, _ := strings.Cut(f, "/")
		tops = append(tops, top)
	}
	if d.files == nil {
		names := strings.Fields(read(filepath.Join(at, "top_level.txt")))
		if len(names) == 0 {
			names = []string{d.Name, strings.ReplaceAll(d.Name, "-", "_")}
		}
		for _, n := range names {
			tops = append(tops, s.named(n)...)
		}
	}
	slices.Sort(tops)
	return slices.Compact(tops)
}

// named lists the entries by which a module may be imported, below the site.
func (s *Site) named(module string) (out []string) {
	if module == "" || strings.ContainsAny(module, `/\*?[`) {
		return nil
	}
	for _, pattern := range []string{module, module + ".py", module + ".*.so", module + ".so"} {
		found, _ := filepath.Glob(filepath.Join(escaped(s.Path), pattern)) // the pattern is valid
		for _, f := range found {
			out = append(out, filepath.Base(f))
		}
	}
	return out
}

// record parses the paths of a RECORD, which is a CSV, that are in the site. It returns nil if there is none.
func record(text string) (files []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		var name string
		if quoted, ok := strings.CutPrefix(line, `"`); ok {
			if name, _, ok = strings.Cut(strings.ReplaceAll(quoted, `""`, "\x00"), `"`); !ok {
				continue
			}
			name = strings.ReplaceAll(name, "\x00", `"`)
		} else {
			name, _, _ = strings.Cut(line, ",")
		}
		if name = filepath.ToSlash(filepath.Clean(name)); name != "." && filepath.IsLocal(name) {
			files = append(files, name)
		}
	}
	return files
}

// beside parses installed-files.txt, whose paths are relative to the egg-info.
func beside(info, text string) (files []string) {
	for line := range strings.Lines(text) {
		name := filepath.Join(info, strings.TrimSpace(line))
		if filepath.IsLocal(name) && name != info {
			files = append(files, filepath.ToSlash(name))
		}
	}
	return files
}

// Find returns the distribution with a normalized name, or nil.
func (s *Site) Find(name string) *Distribution {
	for _, d := range s.Dists {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Providing lists the distributions that provide a module, or modules below it, or the package that contains
// it.
func (s *Site) Providing(module string) (out []*Distribution) {
	for _, d := range s.Dists {
		if slices.ContainsFunc(d.Modules, func(m string) bool { return within(module, m) || within(m, module) }) {
			out = append(out, d)
		}
	}
	return out
}

// within reports whether a name is another, or is below it.
func within(name, above string) bool {
	return name == above || strings.HasPrefix(name, above+".")
}

func list(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && len(names) == 0 {
		return nil, nil // an empty folder
	}
	if len(names) > maxEntries {
		return nil, fmt.Errorf("%s holds more than %d entries", dir, maxEntries)
	}
	slices.Sort(names)
	return names, nil
}

// read reads a small file. It is empty if there is none.
func read(name string) string {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxMetadata {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

// escaped returns a path as a literal in a pattern.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
