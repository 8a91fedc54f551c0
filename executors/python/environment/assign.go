package environment

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// assign assigns each entry of the site to the distributions that own it. An entry that no distribution lists
// becomes a distribution of its own.
func (s *Site) assign(names []string) {
	for _, name := range names {
		if name == "__pycache__" || strings.HasSuffix(name, ".pth") {
			continue
		}
		s.divide(name, maxDepth)
	}
	for _, d := range s.Dists {
		s.compiled(d)
		slices.Sort(d.Entries)
		d.Entries = slices.Compact(d.Entries)
		d.Modules = siteModules(d.Entries)
	}
	s.Dists = slices.DeleteFunc(s.Dists, func(d *Distribution) bool { return len(d.Entries) == 0 && !d.part })
	slices.SortStableFunc(s.Dists, func(a, b *Distribution) int { return strings.Compare(a.Name, b.Name) })
}

// divide assigns one entry to its owners. If it has one owner, the whole entry is assigned. If several owners
// have files in it, it is split.
func (s *Site) divide(entry string, depth int) {
	owners := s.owners(entry)
	switch {
	case len(owners) == 0:
		if !strings.Contains(entry, "/") {
			s.orphan(entry)
		}
		return
	case len(owners) == 1:
		owners[0].Entries = append(owners[0].Entries, entry)
		return
	}
	info, err := os.Lstat(filepath.Join(s.Path, entry))
	children, listed := []string(nil), error(nil)
	if err == nil && info.IsDir() {
		children, listed = list(filepath.Join(s.Path, entry))
	}
	if err != nil || !info.IsDir() || listed != nil || depth == 0 ||
		slices.ContainsFunc(owners, func(d *Distribution) bool { return d.files == nil }) {
		for _, d := range owners { // the owners of its parts are not known
			d.Entries = append(d.Entries, entry)
		}
		return
	}
	for _, c := range children {
		if c != "__pycache__" {
			s.divide(path.Join(entry, c), depth-1)
		}
	}
}

// owners returns the distributions with files at an entry or below it. A package of Debian that only goes with
// another owns nothing if the other does.
func (s *Site) owners(entry string) (real []*Distribution) {
	var parts []*Distribution
	top, _, _ := strings.Cut(entry, "/")
	for _, d := range s.Dists {
		has := d.files == nil && slices.Contains(d.tops, top) ||
			slices.ContainsFunc(d.files, func(f string) bool { return f == entry || strings.HasPrefix(f, entry+"/") })
		switch {
		case has && d.part:
			parts = append(parts, d)
		case has:
			real = append(real, d)
		}
	}
	if len(real) == 0 {
		return parts
	}
	return real
}

// orphan handles an entry that no installed distribution lists: it makes a distribution from that entry alone.
// If the entry is NAME.libs, the libraries of a wheel, orphan adds it to the distribution NAME instead.
func (s *Site) orphan(entry string) {
	if stem, ok := strings.CutSuffix(entry, ".libs"); ok {
		if d := s.Find(normalizeName(stem)); d != nil {
			d.Entries = append(d.Entries, entry)
			return
		}
	}
	names := siteModules([]string{entry})
	if len(names) == 0 {
		return // it cannot be imported
	}
	s.Dists = append(s.Dists, &Distribution{Name: normalizeName(names[0]), Site: s.Path, Entries: []string{entry}})
}

// compiled adds the byte code of single modules, which is in a folder with that of others.
func (s *Site) compiled(d *Distribution) {
	for _, e := range slices.Clone(d.Entries) {
		if stem, ok := strings.CutSuffix(path.Base(e), ".py"); ok {
			found, _ := filepath.Glob(
				filepath.Join(escaped(s.Path), escaped(path.Dir(e)), "__pycache__", escaped(stem)+".*.pyc"),
			)
			for _, f := range found {
				if rel, err := filepath.Rel(s.Path, f); err == nil {
					d.Entries = append(d.Entries, filepath.ToSlash(rel))
				}
			}
		}
	}
}

// siteModules are the dotted names by which entries are imported, sorted.
func siteModules(entries []string) (out []string) {
	for _, e := range entries {
		if strings.Contains("/"+e+"/", "/__pycache__/") {
			continue
		}
		parts := strings.Split(e, "/")
		last := parts[len(parts)-1]
		for _, end := range []string{".py", ".so", ".pyc"} {
			if strings.HasSuffix(last, end) {
				last, _, _ = strings.Cut(last, ".")
				break
			}
		}
		if parts[len(parts)-1] = last; last == "__init__" {
			parts = parts[:len(parts)-1]
		}
		if len(parts) > 0 && !slices.ContainsFunc(parts, func(p string) bool { return !identifier(p) }) {
			out = append(out, strings.Join(parts, "."))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// identifier reports whether a statement of Python can import the name.
func identifier(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c < 0x80 && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
