package environment

import (
	"path/filepath"
	"slices"
	"strings"
)

// deb is a package of Debian that has files in a site.
type deb struct {
	name  string
	needs [][]string // each is a list of alternatives
	files []string
	dist  []*Distribution // distributions whose metadata is in it
}

// debian adds the data of dpkg: the owners of files, and the dependencies of packages. Debian's packages
// declare these there, and some omit them from their metadata: pandas lists nothing.
func (s *Site) debian(dpkg string) {
	all := s.debianFiles(dpkg)
	provided := depends(filepath.Join(dpkg, "status"), all)
	for _, p := range all {
		p.leaves()
		for _, d := range s.Dists {
			if p.hasMetadata(d) {
				p.dist = append(p.dist, d)
			}
		}
	}
	for _, p := range sortedDebs(all) {
		if len(p.dist) == 0 {
			d := &Distribution{Name: Part + normalizeName(p.name), Site: s.Path, files: p.files, part: true}
			p.dist = append(p.dist, d)
			s.Dists = append(s.Dists, d)
		}
	}
	for _, p := range sortedDebs(all) {
		for _, d := range p.dist {
			if len(p.dist) == 1 && !d.part { // its metadata lists its files
				d.files = p.files
			}
			for _, other := range p.needed(all, provided) {
				d.require(other)
			}
		}
	}
}

// debianFiles returns the packages of Debian that have files in the site.
func (s *Site) debianFiles(dpkg string) map[string]*deb {
	all := map[string]*deb{}
	lists, _ := filepath.Glob(filepath.Join(escaped(dpkg), "info", "python3*.list"))
	for _, l := range lists {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(l), ".list"), ":")
		p := &deb{name: name}
		for line := range strings.Lines(read(l)) {
			rel, ok := strings.CutPrefix(strings.TrimSpace(line), s.Path+"/")
			if ok && filepath.IsLocal(rel) {
				p.files = append(p.files, rel)
			}
		}
		if len(p.files) > 0 {
			all[name] = p
		}
	}
	return all
}

// hasMetadata reports whether the metadata of a distribution is among the files of p.
func (p *deb) hasMetadata(d *Distribution) bool {
	return slices.ContainsFunc(d.tops, func(top string) bool {
		return info(top) && slices.ContainsFunc(p.files, func(f string) bool {
			return f == top || strings.HasPrefix(f, top+"/")
		})
	})
}

// require adds the distributions of a package of Debian to the requirements of d.
func (d *Distribution) require(p *deb) {
	for _, other := range p.dist {
		if other != d {
			d.Requires = append(d.Requires, requirement{Name: other.Name})
		}
	}
}

// Part is the prefix of the name of a package without metadata that Debian splits off another, which needs it.
const Part = "deb-"

// info reports whether an entry is the metadata folder of a package.
func info(top string) bool {
	return strings.HasSuffix(top, ".dist-info") || strings.HasSuffix(top, ".egg-info")
}

// leaves removes folders from the list of files: dpkg lists those too.
func (p *deb) leaves() {
	slices.Sort(p.files)
	out := p.files[:0:0]
	for i, f := range p.files {
		if i+1 == len(p.files) || !strings.HasPrefix(p.files[i+1], f+"/") {
			out = append(out, f)
		}
	}
	p.files = out
}

// needed lists the packages of the site on which p depends. Of alternatives it lists all that are there.
func (p *deb) needed(all map[string]*deb, provided map[string][]string) (out []*deb) {
	for _, group := range p.needs {
		for _, name := range group {
			for _, n := range append([]string{name}, provided[name]...) {
				if o := all[n]; o != nil && o != p {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// depends reads from dpkg's status which packages packages depend on, and which packages provide others.
func depends(status string, all map[string]*deb) (provided map[string][]string) {
	provided = map[string][]string{}
	for paragraph := range strings.SplitSeq(read(status), "\n\n") {
		name, ok := field(paragraph, "Package")
		p := all[name]
		if !ok || p == nil {
			continue
		}
		for _, key := range []string{"Depends", "Pre-Depends"} {
			text, _ := field(paragraph, key)
			for group := range strings.SplitSeq(text, ",") {
				var names []string
				for one := range strings.SplitSeq(group, "|") {
					names = append(names, plain(one))
				}
				p.needs = append(p.needs, names)
			}
		}
		text, _ := field(paragraph, "Provides")
		for one := range strings.SplitSeq(text, ",") {
			if n := plain(one); n != "" {
				provided[n] = append(provided[n], name)
			}
		}
	}
	return provided
}

// plain returns a name without version and architecture.
func plain(one string) string {
	one, _, _ = strings.Cut(strings.TrimSpace(one), " ")
	one, _, _ = strings.Cut(one, ":")
	return one
}

// field returns one line of a paragraph. Continuation lines are not needed.
func field(paragraph, key string) (string, bool) {
	for line := range strings.Lines(paragraph) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

func sortedDebs(all map[string]*deb) (out []*deb) {
	for _, p := range all {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *deb) int { return strings.Compare(a.name, b.name) })
	return out
}
