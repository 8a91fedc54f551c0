package diff

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
)

// importers compares the imports of one executor.
type importers struct {
	*comparer
	*namesCompared
	executor string
}

func (c *comparer) imports(executor string, was, is bool, a, b *profiles.Imports) {
	x := &importers{comparer: c, executor: executor, namesCompared: compareNames(executor == profiles.ExecutorJS, namesSide{Granted: was, Imports: a}, namesSide{Granted: is, Imports: b}, c.ended)}
	field := executor + ".imports."
	x.wholes(field, a, b)
	x.list(field+"allow", a.Allow, b.Allow, allows)
	x.list(field+"deny", a.Deny, b.Deny, denies)
	x.list(field+"process", a.Process, b.Process, denies)
	x.list(field+"absent", a.Absent, b.Absent, nothing)
	x.rest(field)
	c.residue(executor+".imports", "import", a, b)
}

// effect is what the entries of a list do.
type effect uint8

const (
	nothing effect = iota
	allows
	denies
)

// list compares the entries of one list by their names.
func (x *importers) list(field string, a, b []profiles.ImportRule, does effect) {
	old, now := rulesByName(a), rulesByName(b)
	for _, name := range both(old, now) {
		p, q := old[name], now[name]
		if p != nil && q != nil {
			x.kept(field, p, q)
			continue
		}
		ch := Change{Capability: "import:" + name, Field: field, Class: Neutral}
		if q != nil {
			ch.Kind, ch.New, ch.NewRule, ch.Exception = Added, entry(q), &q.Rule, q.Exception
		} else {
			ch.Kind, ch.Old, ch.OldRule, ch.Exception = Removed, entry(p), &p.Rule, p.Exception
		}
		x.judge(&ch, name, does)
		if ch.Class == Neutral && does == denies && q == nil {
			ch.lifted(&p.Rule, "import of "+name+" is no longer denied ("+language(x.executor)+")")
		}
		if ch.Class == Narrows && does == allows {
			ch.Says = but(ch.Says, x.inside(name, b))
		}
		x.add(ch)
	}
}

// inside lists what is allowed of a name that is not.
func (x *importers) inside(name string, list []profiles.ImportRule) (out []string) {
	separator := "."
	if x.executor == profiles.ExecutorJS {
		separator = "/"
	}
	for _, r := range list {
		if strings.HasPrefix(r.Name, name+separator) && x.Answer(r.Name, true).Kind == modules.Listed {
			out = append(out, r.Name)
		}
	}
	return out
}

func entry(r *profiles.ImportRule) string {
	return strings.TrimSpace(r.Name + " " + expiry(r.Expires))
}

// judge gives the class and the words of an entry that came or went.
func (x *importers) judge(ch *Change, name string, does effect) {
	of := " (" + language(x.executor) + ")"
	added := ch.Kind == Added
	switch does {
	case allows:
		ch.Says = "may now import " + name + of
		if !added {
			ch.Says = "may no longer import " + name + of
		}
		if added && x.Packages() && !modules.Standard(name) && !modules.Own(name) {
			x.Gained[name] = true // libraries may load packages from now on
			x.ClaimAll(everything)
		}
	case denies:
		ch.Says = "import of " + name + " is now denied" + of
		if !added {
			ch.Says = "import of " + name + " is no longer denied" + of
		}
	case nothing:
		ch.Says, ch.Why = "the list names "+name+", and the policy ships no module of that name", "it grants nothing"
		if !added {
			ch.Says = "the list no longer names " + name + ", of which the policy ships no module"
		}
		return
	}
	switch wider := added == (does == allows); {
	case wider && x.Gained[name]:
		ch.Class = Widens
		x.Claim(name)
		if !x.Program[name] {
			ch.Why = "libraries may load it, or what it stands for"
		}
	case !wider && x.Lost[name] && !x.Gained[name]:
		ch.Class = Narrows
	case !wider && x.Lost[name]:
		ch.Class, ch.Why = Narrows, "a part of it is granted by other entries, which are told apart"
	default:
		ch.Why = x.why(name, wider, does)
		ch.Says = moot(ch.Says)
	}
}

// why says what makes an entry without effect.
func (x *importers) why(name string, wider bool, does effect) string {
	now := wider == (does == denies) || does == allows && !wider // a denial that went is judged by what there is now, and so is a grant
	switch a := x.Answer(name, now); a.Kind {
	case modules.Listed:
		return "the entry " + a.Entry + " grants it"
	case modules.InDefault, modules.Owned:
		return "the default set has it"
	case modules.Whatever:
		return "whatever is not denied is allowed"
	case modules.Denied:
		return "it is denied by " + a.Entry
	case modules.Private:
		return "nobody may load it, whatever a policy says"
	case modules.Dependency:
		return "libraries may load it"
	case modules.Unlisted, modules.Beyond, modules.TakenAway, modules.Missing:
		return "nothing allows it, then and now"
	default:
		return "nothing allows it, then and now"
	}
}

// kept compares an entry that both lists have.
func (x *importers) kept(field string, p, q *profiles.ImportRule) {
	x.residue(field, "import:"+p.Name, p, q)
	if Same(p.Expires, q.Expires) && p.Exception == q.Exception {
		return
	}
	ch := Change{Kind: Changed, Class: Neutral, Capability: "import:" + p.Name, Field: field, Old: entry(p), New: entry(q), OldRule: &p.Rule, NewRule: &q.Rule,
		Exception: fallback(q.Exception, p.Exception), Says: "import of " + p.Name + " is granted " + fallback(expiry(q.Expires), "for ever") + " now"}
	switch {
	case x.Gained[p.Name]:
		ch.Class = Widens
		x.Claim(p.Name)
	case x.Lost[p.Name]:
		ch.Class = Narrows
	default:
		ch.Why = "another grant decides, or none"
	}
	x.add(ch)
}

// wholes compares what is no list of names.
func (x *importers) wholes(field string, a, b *profiles.Imports) {
	region := func(in map[string]bool, of func(string) bool) bool {
		for name := range in {
			if of(name) {
				return true
			}
		}
		return false
	}
	tell := func(ch Change, on bool, of func(string) bool) {
		ch.Class = Neutral
		switch {
		case on && region(x.Gained, of):
			ch.Class = Widens
			x.ClaimAll(of)
		case !on && region(x.Lost, of):
			ch.Class = Narrows
			if len(b.Allow) > 0 && ch.Kind == Removed {
				ch.Says += ", but for what is listed"
			}
		default:
			ch.Why = "other entries give the same"
		}
		x.add(ch)
	}
	if a.Default != b.Default && x.executor == profiles.ExecutorPython {
		ch := Change{Kind: Added, Capability: "import:default", Field: field + "default", Old: onOff(a.Default), New: onOff(b.Default), OldRule: &a.Rule, NewRule: &b.Rule,
			Says: "may now import the default set of Python"}
		if a.Default {
			ch.Kind, ch.Says = Removed, "may no longer import the default set of Python"
		}
		tell(ch, b.Default, modules.PythonDefault)
	} else if a.Default != b.Default { // JavaScript has no default set
		x.add(Change{Kind: Changed, Class: Neutral, Capability: "import:default", Field: field + "default", Old: onOff(a.Default), New: onOff(b.Default),
			OldRule: &a.Rule, NewRule: &b.Rule, Says: "the import list of JavaScript is " + map[bool]string{true: "empty now", false: "no longer empty"}[b.Default], Why: "the default set of JavaScript is empty"})
	}
	if (a.Any != nil) != (b.Any != nil) {
		ch := Change{Kind: Added, Capability: "import:*", Field: field + "any", Old: onOff(a.Any != nil), New: onOff(b.Any != nil), OldRule: a.Any, NewRule: b.Any,
			Says: "may now import whatever is not denied (" + language(x.executor) + ")"}
		if b.Any == nil {
			ch.Kind, ch.Says = Removed, "may no longer import whatever is not denied ("+language(x.executor)+")"
		}
		tell(ch, b.Any != nil, everything)
	}
	if (a.Only == nil) != (b.Only == nil) || !slices.Equal(a.Only, b.Only) {
		tell(Change{Kind: Changed, Capability: "import:only", Field: field + "only", Old: listed(a.Only, "everything"), New: listed(b.Only, map[bool]string{true: "everything", false: "nothing"}[b.Only == nil]),
			OldRule: &a.Rule, NewRule: &b.Rule, Says: "the grants of a run leave other modules"}, region(x.Gained, everything), everything)
	}
}

// rest tells of what was gained and no change says.
// What comes with an executor that is new has a change of its own.
func (x *importers) rest(field string) {
	left := x.Untold()
	if len(left) == 0 || x.New() {
		return
	}
	left = slices.DeleteFunc(left, unlistedName)
	few := listed(left[:min(len(left), 8)], "packages that libraries load")
	x.add(Change{Kind: Changed, Capability: "import:*", Field: strings.TrimSuffix(field, "."), New: few,
		Says: "more may be imported (" + language(x.executor) + "): " + few, Why: "no single entry says it: the lists together do"})
}

func everything(string) bool { return true }
