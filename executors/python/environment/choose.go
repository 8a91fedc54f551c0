package environment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/profiles/paths"
)

// choice is the packages of one agent.
type choice struct {
	sites    []site
	imports  *profiles.Imports
	platform Platform
	report   *Report
	layout   *layout

	denied  []profiles.ImportRule // third-party names that no code may load
	without []string              // paths of them
	chosen  map[*Distribution]map[string]bool
	order   []*Distribution
	roots   map[*Distribution]string
}

// make chooses the packages, and adds them to the layout.
func (c *choice) make() {
	c.chosen, c.roots = map[*Distribution]map[string]bool{}, map[*Distribution]string{}
	for _, r := range slices.Concat(c.imports.Deny, c.imports.Process) {
		if !modules.Standard(r.Name) {
			c.denied = append(c.denied, r)
		}
	}
	for _, s := range c.sites {
		for _, d := range s.Dists {
			c.roots[d] = s.root
		}
		for _, r := range c.denied {
			c.without = append(c.without, taken(s.Path, r.Name)...)
		}
	}
	for _, r := range c.imports.Allow {
		c.allow(r)
	}
	if c.imports.Any != nil && c.imports.Only == nil {
		for _, s := range c.sites {
			for _, d := range s.Dists {
				c.take(d, nil, "")
			}
		}
	}
	for _, s := range c.sites {
		c.layout.list = append(c.layout.list, s.Path)
	}
	whole := c.wholes()
	for _, d := range c.order {
		if whole[d.Site] {
			c.layout.add(d.Site, c.roots[d], nil)
			c.name(d)
			continue
		}
		c.give(d)
	}
	c.count()
	slices.SortFunc(
		c.report.Packages,
		func(a, b Package) int { return strings.Compare(a.Name+"\x00"+a.Site, b.Name+"\x00"+b.Site) },
	)
	slices.Sort(c.report.Modules)
	c.report.Modules = slices.Compact(c.report.Modules)
	said := map[string]bool{}
	c.report.Findings = slices.DeleteFunc(c.report.Findings, func(f Finding) bool {
		again := said[f.Text]
		said[f.Text] = true
		return again
	})
}

// allow adds the packages of a listed module to the choice, from the first folder that has it.
func (c *choice) allow(r profiles.ImportRule) {
	if modules.Standard(r.Name) || modules.Own(r.Name) || c.rule(r.Name) != nil || !c.kept(r.Name) {
		return
	}
	for _, s := range c.sites {
		dists := s.Providing(r.Name)
		if len(dists) == 0 {
			continue
		}
		c.report.Modules = append(c.report.Modules, r.Name)
		for _, d := range dists {
			c.take(d, nil, "")
		}
		return
	}
	c.find(r.Rule, r.Name, "%s is allowed and not installed here", r.Name)
}

// kept reports whether a run that was narrowed still has a module.
func (c *choice) kept(name string) bool {
	return c.imports.Only == nil || modules.Covered(name, c.imports.Only) ||
		slices.ContainsFunc(c.imports.Only, func(o string) bool { return strings.HasPrefix(o, name+".") })
}

// rule returns the rule that denies a third-party module to all code, or nil.
func (c *choice) rule(name string) *profiles.ImportRule {
	for i := range c.denied {
		if modules.Covered(name, []string{c.denied[i].Name}) {
			return &c.denied[i]
		}
	}
	return nil
}

// take adds a package to the choice, with its dependencies and the dependencies of these extras. by is the
// package that needs it. If by is empty, the policy lists the package.
func (c *choice) take(d *Distribution, extras []string, by string) {
	if len(d.Modules) > 0 && !slices.ContainsFunc(d.Modules, func(m string) bool { return c.rule(m) == nil }) {
		if r := c.rule(d.Modules[0]); by != "" && !strings.HasPrefix(by, Part) {
			c.find(
				r.Rule, r.Name, "%s needs %s, which is denied (%s:%d): where it imports that, it fails", by, d.Name,
				r.Rule.File, r.Rule.Line,
			)
			c.report.Findings[len(c.report.Findings)-1].Denied = true
		}
		return
	}
	known, again := c.chosen[d]
	if !again {
		known = map[string]bool{}
		c.chosen[d] = known
		c.order = append(c.order, d)
	}
	more := !again
	for _, e := range extras {
		more = more || !known[e]
		known[e] = true
	}
	if !more {
		return
	}
	for _, r := range d.Requires {
		if !r.Needed(c.platform, extras) {
			continue
		}
		if next := c.distribution(r.Name); next != nil {
			c.take(next, r.Extras, d.Name)
		} else if c.imports.Any == nil {
			c.find(profiles.Rule{}, d.Name, "%s needs %s, which is not installed here", d.Name, r.Name)
		}
	}
}

func (c *choice) distribution(name string) *Distribution {
	for _, s := range c.sites {
		if d := s.Find(name); d != nil {
			return d
		}
	}
	return nil
}

// give adds the files of a package.
func (c *choice) give(d *Distribution) {
	for _, e := range d.Entries {
		at := filepath.Join(d.Site, filepath.FromSlash(e))
		// of a namespace that packages share
		for dir := filepath.Dir(at); len(dir) > len(d.Site); dir = filepath.Dir(dir) {
			c.layout.list = append(c.layout.list, dir)
		}
		if !c.layout.add(at, c.roots[d], c.without) {
			c.find(profiles.Rule{}, d.Name, "%s leads out of its environment, and guests do not have it", at)
		}
	}
	c.name(d)
}

// maxApart is how many files and folders of packages are mounted one by one if everything is allowed. Every
// mount takes time at each start, and a guest has a few hundred at most.
const maxApart = 256

// wholes returns the folders of packages that are mounted as a whole: everything in them is allowed, nothing in
// them is denied, and they have many entries.
func (c *choice) wholes() map[string]bool {
	if c.imports.Any == nil || c.imports.Only != nil {
		return nil
	}
	entries := 0
	for _, d := range c.order {
		entries += len(d.Entries)
	}
	out := map[string]bool{}
	for _, s := range c.sites {
		denied := slices.ContainsFunc(c.without, paths.Of(s.Path).Cover)
		info, err := os.Stat(s.Path)
		// otherwise a guest of another user could read nothing of it
		open := err == nil && info.Mode().Perm()&0o005 == 0o005
		out[s.Path] = entries > maxApart && !denied && open
	}
	return out
}

// count adds a finding if the packages are more than a guest may be given. Its other mounts are few, and not
// counted.
func (c *choice) count() {
	n := len(rules(c.layout.own)) + len(rules(c.layout.code))
	if n <= profiles.MaxMounts {
		return
	}
	rule := profiles.Rule{}
	if c.imports.Any != nil {
		rule = *c.imports.Any
	}
	c.find(rule, "*", "the packages of this host take %d mounts, and a guest has at most %d", n, profiles.MaxMounts)
	c.report.Findings[len(c.report.Findings)-1].Refuse = true
}

// name reports a package that guests have.
func (c *choice) name(d *Distribution) {
	if len(d.Entries) > 0 {
		c.report.Packages = append(c.report.Packages, Package{Name: d.Name, Version: d.Version, Site: d.Site})
	}
}

// library lists the names that libraries may load. If it returns nil, libraries may load every module that is
// there.
func (c *choice) library() []string {
	if c.imports.Any != nil && c.imports.Only == nil {
		return nil
	}
	out := []string{}
	for _, d := range c.order {
		for _, m := range d.Modules {
			if c.rule(m) == nil {
				top, _, _ := strings.Cut(m, ".")
				out = append(out, top)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *choice) find(rule profiles.Rule, module, format string, args ...any) {
	c.report.Findings = append(
		c.report.Findings, Finding{Rule: rule, Module: module, Text: fmt.Sprintf(format, args...)},
	)
}

// preload lists the modules that a guest has loaded before its program: those of the standard library that
// programs commonly import, and the packages that the policy lists.
func preload(packages []string) []string {
	return slices.Concat([]string{
		"collections", "contextlib", "csv", "dataclasses", "datetime", "decimal", "enum", "functools", "hashlib", "io",
		"itertools", "json",
		"math", "operator", "os", "pathlib", "random", "re", "statistics", "string", "textwrap", "time", "typing",
	}, packages)
}

// keyOf identifies the environment of an agent: two agents with the same key have the same environment.
func keyOf(a *profiles.Agent) (string, error) {
	b, err := json.Marshal([]any{a.Python.Imports, a.Python.Environments, a.Files.Deny, network(a)})
	if err != nil {
		return "", fmt.Errorf("python environment: %w", err)
	}
	sum := sha256.Sum256(b)
	return string(sum[:]), nil
}

// Stands returns the key of the environment of an agent whose policy names none, without looking for it. The
// key holds the policy, and the state of the interpreter, its library, and the entries of its folders of
// packages. Two looks with the same key find the same. If ok is false, only a look tells.
func (f *Finder) Stands(ctx context.Context, a *profiles.Agent) (key string, ok bool) {
	if a == nil || a.Python == nil || len(a.Python.Environments) > 0 {
		return "", false
	}
	policy, err := keyOf(a)
	if err != nil {
		return "", false
	}
	f.mu.Lock()
	state, age := f.state, f.age
	f.mu.Unlock()
	if state == "" {
		i, err := f.interpreter(ctx)
		if err != nil {
			return "", false
		}
		state = i.state()
		f.mu.Lock()
		if age == f.age {
			f.state = state
		}
		f.mu.Unlock()
	}
	return state + policy, true
}

// state returns a text that identifies the state of an interpreter and of the entries of its folders.
func (i Interpreter) state() string {
	h := sha256.New()
	put := func(p string) { fmt.Fprintf(h, "%q %v\n", p, fileStateOf(p)) }
	for _, p := range []string{i.Path, i.Library, i.Objects, filepath.Join(dpkg, "status")} {
		put(p)
	}
	for _, site := range i.Sites {
		put(site)
		names, err := os.ReadDir(site)
		fmt.Fprintf(h, "%v\n", err)
		for _, n := range names {
			put(filepath.Join(site, n.Name()))
		}
	}
	return string(h.Sum(nil))
}

// digestOf is the digest of the whole report, with the state of each mounted path: a reinstalled package is
// another environment.
func digestOf(r *Report) (string, error) {
	e := r.Environment
	states := []fileState{fileStateOf(e.Interpreter)}
	for _, list := range [][]profiles.PathRule{e.Own, e.Code, e.List} {
		for _, p := range list {
			states = append(states, fileStateOf(p.Path))
		}
	}
	text := make([]string, 0, len(states))
	for _, s := range states {
		text = append(text, fmt.Sprint(s))
	}
	b, err := json.Marshal([]any{e, r.Interpreter, r.Packages, r.Folders, text})
	if err != nil {
		return "", fmt.Errorf("python environment: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
