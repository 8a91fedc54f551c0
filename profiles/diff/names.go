// The comparison of two import profiles: the names of modules that only one of them allows.
//
// An import list is a tree of names: whether a name is allowed depends on which of its parents the lists hold. So the
// names in a list or in a table of Python, and one unknown name below each, stand for all names. Both profiles are
// asked about each: a name that only the new one allows is gained, and one that only the old one allows is lost. A
// changed entry widens if a name below it was gained.

package diff

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
)

// namesSide is one import profile, and whether the agent has the profile's executor.
type namesSide struct {
	Granted bool
	Imports *profiles.Imports
}

// namesCompared is the result of comparing two import profiles.
type namesCompared struct {
	separator byte
	old, now  *side
	// Gained has the names that only the new profile allows, or allows for longer, and their parents. Lost has
	// the same for the old profile. Program has those names that the program itself gains or loses. The
	// libraries of the program gain or lose the others.
	Gained, Lost, Program map[string]bool

	left map[string]bool // the names in Gained, without their parents
	// The reported changes cover the names in told with their submodules, and each name for which one of regions
	// returns true.
	told    map[string]bool
	regions []func(string) bool
}

// compareNames compares two profiles of one executor. ended reports whether a grant has expired.
func compareNames(javascript bool, old, now namesSide, ended func(*time.Time) bool) *namesCompared {
	x := &namesCompared{separator: '.', Gained: map[string]bool{}, Lost: map[string]bool{}, Program: map[string]bool{},
		left: map[string]bool{}, told: map[string]bool{}}
	x.old = index(old.Granted, old.Imports, javascript, ended)
	x.now = index(now.Granted, now.Imports, javascript, ended)
	if javascript {
		x.separator = '/'
	}
	if old.Granted != now.Granted || !alike(old.Imports, now.Imports) {
		x.ask(old.Imports, now.Imports)
	}
	return x
}

// New reports whether the executor is new.
func (x *namesCompared) New() bool { return x.now.is && !x.old.is }

// Answer returns the decision of one of the profiles on a name, for the program itself.
func (x *namesCompared) Answer(name string, now bool) modules.Answer[*profiles.ImportRule] {
	if now {
		return x.now.index.Program(name)
	}
	return x.old.index.Program(name)
}

// ClaimAll records that a change covers every gained name of a kind.
func (x *namesCompared) ClaimAll(of func(string) bool) { x.regions = append(x.regions, of) }

// unlistedName reports whether a name represents all names that are in no list.
func unlistedName(name string) bool { return strings.HasSuffix(name, unlisted) }

// Packages reports whether libraries may now load third-party packages that they could not load before.
func (x *namesCompared) Packages() bool {
	if x.separator != '.' {
		return false
	}
	was, _ := x.old.answer(unlisted, true)
	is, _ := x.now.answer(unlisted, true)
	return is && !was
}

// unlisted is a part of a name that is in no list.
const unlisted = "ringd_any_other"

// side is one indexed import profile.
type side struct {
	is    bool // the executor is granted
	index modules.Index[*profiles.ImportRule]
}

func index(is bool, im *profiles.Imports, javascript bool, ended func(*time.Time) bool) *side {
	s := &side{is: is}
	x := &s.index
	x.JavaScript, x.Defaults, x.Any = javascript, im.Default && !javascript, im.Any != nil && !javascript
	x.Only = im.Only
	put := func(list *map[string]*profiles.ImportRule, rules []profiles.ImportRule) {
		for i := range rules {
			if list != &x.Allow || !ended(rules[i].Expires) { // a grant expires, a denial does not
				modules.Put(list, rules[i].Name, &rules[i])
			}
		}
	}
	put(&x.Allow, im.Allow)
	put(&x.Everybody, im.Process)
	put(&x.Deny, im.Deny)
	put(&x.Absent, im.Absent)
	x.Ready()
	return s
}

// answer reports whether a name is allowed, and until when. nil means forever.
func (s *side) answer(name string, library bool) (bool, *time.Time) {
	if !s.is {
		return false, nil
	}
	a := s.index.Program(name)
	if library {
		a = s.index.Library(name)
	}
	if a.Kind == modules.Listed {
		return true, a.D.Expires
	}
	return a.Kind > modules.Listed, nil
}

// alike reports whether two profiles have the same entries, in any order.
func alike(a, b *profiles.Imports) bool {
	if a.Default != b.Default || (a.Any == nil) != (b.Any == nil) ||
		(a.Only == nil) != (b.Only == nil) || !slices.Equal(a.Only, b.Only) {
		return false
	}
	others := [][]profiles.ImportRule{b.Allow, b.Deny, b.Process, b.Absent}
	for i, list := range [][]profiles.ImportRule{a.Allow, a.Deny, a.Process, a.Absent} {
		for _, p := range pairs(list, others[i], func(r *profiles.ImportRule) string { return r.Name }) {
			if p.old == nil || p.now == nil || !Same(p.old.Expires, p.now.Expires) {
				return false
			}
		}
	}
	return true
}

// ask asks both sides about every representative name.
func (x *namesCompared) ask(a, b *profiles.Imports) {
	names := map[string]bool{unlisted: true}
	add := func(name string) {
		if name == "" {
			return
		}
		names[name] = true
		names[name+string(x.separator)+unlisted] = true
	}
	for _, im := range []*profiles.Imports{a, b} {
		for _, list := range [][]profiles.ImportRule{im.Allow, im.Deny, im.Process, im.Absent} {
			for _, r := range list {
				add(r.Name)
			}
		}
		for _, o := range im.Only {
			add(strings.TrimSuffix(o, ".*"))
		}
	}
	if x.separator == '.' {
		for _, name := range slices.Concat(modules.StandardNames(), modules.OutsideNames(), modules.NeverNames(),
			modules.OwnNames()) {
			add(name)
		}
	}
	for name := range names {
		x.compare(name, false)
		if x.separator == '.' {
			x.compare(name, true)
		}
	}
}

func (x *namesCompared) compare(name string, library bool) {
	was, before := x.old.answer(name, library)
	is, after := x.now.answer(name, library)
	switch {
	case is && (!was || outlasts(after, before)):
		x.left[name] = true
		x.mark(x.Gained, name, library)
	case was && (!is || outlasts(before, after)):
		x.mark(x.Lost, name, library)
	}
}

// upwards yields a name and all its parents.
func (x *namesCompared) upwards(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := name; at != "" && yield(at); at = at[:max(0, strings.LastIndexByte(at, x.separator))] {
		}
	}
}

// mark adds a name and all its parents.
func (x *namesCompared) mark(in map[string]bool, name string, library bool) {
	for at := range x.upwards(name) {
		in[at] = true
		if !library {
			x.Program[at] = true
		}
	}
}

// Claim records that a reported change covers the gained names below a name.
func (x *namesCompared) Claim(name string) { x.told[name] = true }

// Untold lists the gained names that no change reports, sorted.
func (x *namesCompared) Untold() (out []string) {
	for name := range x.left {
		told := slices.ContainsFunc(x.regions, func(of func(string) bool) bool { return of(name) })
		for at := range x.upwards(name) {
			told = told || x.told[at]
		}
		if !told {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
