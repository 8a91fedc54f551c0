package rootfs

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// denials resolves the denied paths, before the granted ones are known.
func (r *resolver) denials(rules []profiles.PathRule) []profiles.PathRule {
	out := make([]profiles.PathRule, 0, len(rules))
	var private []string
	for _, p := range r.at.Private {
		if d, ok := r.denial(profiles.PathRule{Path: p}); ok {
			d.own = true
			r.deny[d.real] = d
			private = append(private, d.real)
		}
	}
	r.private = paths.Of(private...)
	for _, rule := range rules {
		d, ok := r.denial(rule)
		if !ok {
			continue
		}
		if r.deny[d.real].real == "" {
			r.deny[d.real] = d
		}
		out = append(out, profiles.PathRule{Path: d.real, Rule: rule.Rule})
	}
	r.denied = make(paths.Set, len(r.deny))
	for p := range r.deny {
		r.denied[p] = struct{}{}
	}
	return out
}

func (r *resolver) denial(rule profiles.PathRule) (denial, bool) {
	p, ok := r.expand(rule)
	if !ok {
		return denial{}, false
	}
	at, err := r.walk(p)
	switch {
	case errors.Is(err, errAbsent):
		return denial{place: at, rule: rule, absent: true}, true
	case err != nil: // its real path is not known, so its written path is used
		at.real = p
		return denial{place: at, rule: rule, absent: true}, true
	default:
		return denial{place: at, rule: rule}, true
	}
}

// grant is a file rule with the place that it names.
type grant struct {
	place
	rule profiles.PathRule
	own  bool
	kept bool // and no guest may change it
}

// files makes nodes of the files that may be read and written, and returns the rules with real paths.
func (r *resolver) files(read, write []profiles.PathRule) (readable, writable []profiles.PathRule) {
	all := fileRules{resolver: r}
	readable, r.reads = all.resolve(read, false)
	writable, r.writes = all.resolve(write, false)
	_, own := all.resolve(r.at.Own, true)
	maps.Copy(r.reads, own)
	_, r.loads = all.resolve(r.at.Code, true)
	maps.Copy(r.reads, r.loads)
	if r.at.Room != "" {
		_, room := all.resolve([]profiles.PathRule{{Path: r.at.Room}}, true)
		maps.Copy(r.reads, room)
		maps.Copy(r.writes, room)
	}
	r.written = r.others()
	r.grants = paths.Set{}
	for _, g := range all.grants {
		all.addNode(g)
	}
	return readable, writable
}

// fileRules collects the grants of file rules.
type fileRules struct {
	*resolver
	grants []grant
}

// resolve resolves file rules. own says that they are the executor's. It returns the rules of the policy with
// real paths, and the real paths of all.
func (r *fileRules) resolve(rules []profiles.PathRule, own bool) (out []profiles.PathRule, set paths.Set) {
	set = paths.Set{}
	for _, rule := range rules {
		p, ok := r.find(rule)
		if !ok {
			continue
		}
		if r.denied.Cover(p.real) && !own {
			if r.private.Cover(p.real) {
				r.refuse(rule, "remove the line from the policy", "belongs to the daemon and is never granted")
			}
			continue // a denial takes precedence
		}
		if !r.grantable(rule, p) || !r.within(rule, p) {
			continue
		}
		r.grants = append(r.grants, grant{p, rule, own, own && rule.Path != r.at.Room})
		if !own {
			out = append(out, profiles.PathRule{Path: p.real, Rule: rule.Rule})
		}
		set[p.real] = struct{}{}
	}
	return out, set
}

// addNode makes the node of one grant.
func (r *fileRules) addNode(g grant) {
	if !r.steady(g.rule, g.place) {
		return
	}
	if g.info.dir() {
		r.resolver.grants[g.real] = struct{}{}
	}
	r.follow(g.place)
	if g.kept && !r.kept(g) || r.nodes[g.real] != nil {
		return
	}
	r.nodes[g.real] = &node{
		info: g.info, rule: g.rule,
		read: r.reads.Cover(g.real), write: r.writes.Cover(g.real), load: r.loads.Cover(g.real),
	}
}

// within compares a rule with those of the layers above that contain its path: none of them grants the target
// of a link in between.
func (r *resolver) within(rule profiles.PathRule, p place) bool {
	for _, name := range rule.Within {
		up, ok := r.find(profiles.PathRule{Path: name, Rule: rule.Rule})
		if !ok {
			return false
		}
		if !paths.Of(up.real).Cover(p.real) {
			r.refuse(
				rule, "name its target, if the layer above grants it",
				"points to %s, but the layer above grants %s, which does not contain it", p.real, name,
			)
			return false
		}
	}
	return true
}

// others returns the folders that some guest may write into.
func (r *resolver) others() paths.Set {
	all := paths.Of(r.at.Written...)
	for p := range r.writes {
		if !r.denied.Cover(p) {
			all[p] = struct{}{}
		}
	}
	return all
}

// Real returns the real paths of the rules, sorted and without duplicates. A rule whose path does not exist is
// skipped: resolving its profile reports it.
func Real(rules []profiles.PathRule, at Places) []string {
	r := resolver{host: host{root: strings.TrimSuffix(at.Root, "/")}, at: at}
	all := paths.Set{}
	for _, rule := range rules {
		if all.Has(rule.Path) {
			continue
		}
		if p, ok := r.find(rule); ok {
			all[p.real] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// grantable rejects paths that no guest may have, whatever rule names them.
func (r *resolver) grantable(rule profiles.PathRule, p place) bool {
	const narrower = "name the folders that are needed"
	top, _, _ := strings.Cut(strings.TrimPrefix(p.real, "/"), "/")
	switch {
	case p.real == "/":
		r.refuse(rule, narrower, "is every file, including those of the kernel")
		return false
	case top == "proc", top == "sys":
		r.refuse(
			rule, "remove the line from the policy",
			"shows the host's kernel; a guest has a /proc with its own processes only, and no /sys",
		)
		return false
	case top == "dev":
		r.refuse(
			rule, "remove the line from the policy",
			"holds devices; a guest always has null, zero, full, random and urandom",
		)
		return false
	case r.at.Links != "" && paths.Of(r.at.Links).Cover(p.real), r.at.Links != "" && paths.Of(p.real).Cover(r.at.Links):
		r.refuse(rule, narrower, "contains %s, where a guest has the links to its programs", r.at.Links)
		return false
	case p.real == "/tmp" && r.temp:
		r.refuse(rule, "name a folder in it", "is shared by the whole host; a guest has a separate /tmp")
		return false
	case !p.info.dir() && !p.info.regular():
		r.refuse(rule, "remove the line from the policy", "is %s: only files and folders are granted", p.info.kind())
		return false
	}
	on := ""
	for _, m := range r.mounts {
		if paths.Of(m.at).Cover(p.real) && len(m.at) >= len(on) { // the last of several mounts applies
			on = m.at
		}
		if ofKernel(m.kind) && paths.Of(p.real).Above(m.at) && !r.denied.Cover(m.at) {
			r.refuse(
				rule, narrower+", or deny "+m.at, "holds %s, where a %s is mounted that shows the host's kernel", m.at,
				m.kind,
			)
			return false
		}
	}
	for _, m := range slices.Backward(r.mounts) {
		if m.at == on {
			if ofKernel(m.kind) {
				r.refuse(rule, "remove the line from the policy", "lies in a %s, which shows the host's kernel", m.kind)
				return false
			}
			break
		}
	}
	return true
}

// hide makes nodes of denied paths inside of granted ones.
func (r *resolver) hide() {
	for _, real := range slices.Sorted(maps.Keys(r.deny)) {
		d := r.deny[real]
		if !r.steady(d.rule, d.place) || !r.grants.Above(real) || r.denied.Above(real) {
			continue // the last two: no grant shows it
		}
		what := "is denied"
		if d.own {
			what = "belongs to the daemon"
		}
		switch {
		case d.absent:
			r.refuse(d.rule, makeIt(
				"touch %s for a file, mkdir -p for a folder", real,
			)+", so that it can be hidden, or grant less than "+r.over(real),
				"%s but does not exist yet, in a granted folder: a guest would see it as soon as it exists", what)
		case d.info.regular() && d.info.names > 1:
			r.refuse(d.rule, "deny the folder it is in, or remove its other names",
				"%s but has %d names (hard links), and the others would show it", what, d.info.names)
		case r.otherCase(real):
			r.refuse(d.rule, "grant less than "+r.over(real)+", or keep it on another file system",
				"%s on a file system that ignores case: a guest would find it by the other case", what)
		default:
			r.nodes[real] = &node{info: d.info, hide: true, rule: d.rule}
		}
	}
}

// otherCase reports whether a name below the granted folder, on the way to a real path, is also found in the
// other case. The kernel may keep that as another file, which a cover does not hide (9p, CIFS, FUSE).
func (r *resolver) otherCase(real string) bool {
	top := r.over(real)
	for p := real; p != top && p != "/"; p = path.Dir(p) {
		name := path.Base(p)
		other := strings.ToUpper(name)
		if other == name {
			other = strings.ToLower(name)
		}
		if other == name {
			continue // a name without letters
		}
		i, err := r.stat(p)
		if err != nil {
			continue // it is looked up again, and then rejected
		}
		if o, err := r.stat(path.Join(path.Dir(p), other)); err == nil && o.same(i) {
			return true
		}
	}
	return false
}

// over names the closest granted folder above p.
func (r *resolver) over(p string) string {
	for p != "/" {
		if p = path.Dir(p); r.grants.Has(p) {
			break
		}
	}
	return p
}
