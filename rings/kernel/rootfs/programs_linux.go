package rootfs

import (
	"errors"
	"os"
	"path"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// Limits of a search for libraries.
const (
	maxEntries   = 20_000 // examined in one granted folder
	maxDepth     = 16
	maxLibraries = 512 // found in all of them
)

// listed is a program, or a folder of programs, with the rule that names it.
type listed struct {
	place
	rule profiles.PathRule
	name string // as it is written
}

// programs makes nodes of the granted programs, of their helpers and of all their dependencies, and returns the
// rules with real paths.
func (r *resolver) programs(k profiles.Kernel) (exec, helpers []profiles.PathRule) {
	r.granted = paths.Set{}
	all, exec := r.named(k.Exec)
	more, helpers := r.named(k.Helpers)
	var folders []listed
	for _, p := range more {
		if o, err := r.object(p.place); p.info.dir() || err == nil && o.library() {
			folders = append(folders, p)
			delete(r.granted, p.real)
		} else {
			all = append(all, p)
		}
	}
	for _, p := range all {
		r.executable(p.rule, p.place)
	}
	r.folders(folders)
	if k.Path && r.at.Links != "" {
		for _, p := range all[:len(exec)] {
			if at := path.Join(r.at.Links, p.name); r.links[at] == "" {
				r.links[at] = p.real
			}
		}
	}
	return exec, helpers
}

// named resolves the paths of rules, and returns the rules with real paths.
func (r *resolver) named(rules []profiles.PathRule) ([]listed, []profiles.PathRule) {
	var all []listed
	var out []profiles.PathRule
	for _, rule := range rules {
		p, ok := r.find(rule)
		if !ok || !r.grantable(rule, p) || !r.steady(rule, p) || !r.within(rule, p) {
			continue
		}
		switch {
		case r.denied.Cover(p.real):
			r.refuse(
				rule, "remove one of the two lines from the policy",
				"is granted as a program but is in a denied folder",
			)
			continue
		case r.written.Cover(p.real):
			r.refuse(rule, "keep it in a folder that no guest may write",
				"is granted as a program and a guest may change it")
			continue
		}
		all = append(all, listed{p, rule, path.Base(rule.Path)})
		r.granted[p.real] = struct{}{}
		out = append(out, profiles.PathRule{Path: p.real, Rule: rule.Rule})
	}
	return all, out
}

// program makes a node of the guest's own program. It may lie in a folder that the guest writes into, where it
// is pinned. If once is set, and unless it is granted, init starts it and it has no path in the guest.
func (r *resolver) program(name string, once bool) string {
	if name == "" {
		return ""
	}
	rule := profiles.PathRule{Path: name}
	if name == "/proc/self/exe" {
		to, err := os.Readlink(name)
		if err != nil || strings.HasSuffix(to, " (deleted)") {
			r.refuse(rule, "start it again", "is this program, which no longer exists")
			return ""
		}
		rule.Path = to
	}
	p, ok := r.find(rule)
	if !ok || !r.steady(rule, p) {
		return ""
	}
	r.granted[p.real] = struct{}{}
	if n := r.nodes[p.real]; n == nil || !n.exec {
		r.executable(rule, p)
		if n := r.nodes[p.real]; n != nil && once {
			n.once = true
		}
	}
	return p.real
}

// executable makes nodes of one program and of its closure.
func (r *resolver) executable(rule profiles.PathRule, p place) {
	if !p.info.regular() {
		r.refuse(rule, "name the program itself", "is no file")
		return
	}
	if p.info.mode&0o111 == 0 {
		r.refuse(rule, "chmod +x "+p.real, "is not executable")
		return
	}
	if !r.trusted(rule, p, "") {
		return
	}
	o, err := r.object(p)
	if errors.Is(err, errNotELF) {
		r.script(rule, p)
		return
	}
	if err != nil {
		r.refuse(rule, "", "%s", err)
		return
	}
	r.file(rule, p, true, true)
	musl := false
	if o.interp != "" {
		var with place
		if with, musl, err = r.lib.interpreter(o); err != nil {
			r.refuse(rule, "install it, or grant another program", "%s", err)
			return
		}
		if !r.part(rule, with) {
			return
		}
		r.file(rule, with, true, true)
	}
	r.musl = r.musl || musl
	need, err := r.lib.closure(p, p.real, o, musl)
	if err != nil {
		r.refuse(rule, "install it, or grant another program", "%s", err)
		return
	}
	for _, l := range need {
		if !r.part(rule, l.place) {
			return
		}
		r.file(rule, l.place, false, true)
	}
}

// script makes a node of a program that another one reads.
func (r *resolver) script(rule profiles.PathRule, p place) {
	head, err := r.head(p)
	if err != nil {
		r.refuse(rule, "", "%s", err)
		return
	}
	line, _, _ := strings.Cut(string(head), "\n")
	text, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(text)
	if !ok || len(words) == 0 {
		r.refuse(rule, "grant the program that reads it", "is neither an ELF program nor a script that starts with #!")
		return
	}
	with, err := r.walk(words[0])
	if !path.IsAbs(words[0]) || err != nil {
		r.refuse(
			rule, "grant the program that reads it, and give it the script", "is a script for %s, which is not there",
			clip(words[0]),
		)
		return
	}
	if !r.granted.Has(with.real) {
		if r.path && isShell(path.Base(words[0])) {
			r.refuse(rule, "have agents write its commands themselves, or remove it from the policy",
				"is a script for %s, which is not granted: a shell of a policy is read by ringd and never started",
				clip(words[0]))
			return
		}
		r.refuse(rule, "add "+with.real+" to the programs", "is a script for %s, which is not granted", clip(words[0]))
		return
	}
	if r.steady(rule, with) {
		r.follow(with)
		r.file(rule, p, true, false)
	}
}

// part checks a file that a program needs.
func (r *resolver) part(rule profiles.PathRule, p place) bool {
	switch {
	case r.denied.Cover(p.real) && r.granted.Has(p.real):
	case r.denied.Cover(p.real) && rule.Rule != (profiles.Rule{}):
		r.refuse(rule, "grant another program, or deny less", "needs %s, which is denied", p.real)
		return false
	case r.written.Cover(p.real):
		r.refuse(
			rule, "keep it in a folder that no guest may write", "needs %s, which a guest may change",
			p.real,
		)
		return false
	}
	return r.trusted(rule, p, "needs "+p.real+", which ") && r.steady(rule, p)
}

// trusted rejects code that anybody, or a group of several users, may change.
func (r *resolver) trusted(rule profiles.PathRule, p place, what string) bool {
	switch i := p.info; {
	case i.mode&0o002 != 0:
		r.refuse(rule, "chmod o-w "+p.real, "%severyone may change", what)
		return false
	case i.mode&0o020 != 0 && i.gid != 0 && i.gid != i.uid: // a group of one user has that user's number
		r.refuse(rule, "chmod g-w "+p.real, "%severyone in group %d may change", what, i.gid)
		return false
	}
	return true
}

// file makes a node of one file that starts or is loaded, or adds that right to its node.
func (r *resolver) file(rule profiles.PathRule, p place, exec, load bool) {
	r.follow(p)
	n := r.nodes[p.real]
	if n == nil {
		n = &node{info: p.info, rule: rule}
		r.nodes[p.real] = n
	}
	n.read, n.exec, n.load = true, n.exec || exec, n.load || load
}

// loaderFiles grants the loader its cache if a library is found by it. The cache is a list of names of
// libraries, and shows a guest no more than that.
func (r *resolver) loaderFiles() {
	const cache = "/etc/ld.so.cache"
	if !r.lib.useCache {
		return
	}
	p, err := r.walk(cache)
	if err != nil || !p.info.regular() || r.denied.Cover(p.real) || r.reads.Cover(p.real) {
		return
	}
	r.nodes[p.real] = &node{info: p.info, read: true, rule: profiles.PathRule{Path: cache}}
	r.follow(p)
}
