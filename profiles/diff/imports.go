package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/modules"
)

// importers compares the imports of one executor.
type importers struct {
	*comparer
	*namesCompared
	spot
	javascript bool
}

func imports(c *comparer, s spot, a, b profiles.Imports) {
	x := &importers{comparer: c, spot: s, javascript: strings.HasPrefix(s.field, profiles.ExecutorJS)}
	old, now := namesSide{c.old.Python != nil, &a}, namesSide{c.new.Python != nil, &b}
	if x.javascript {
		old.Granted, now.Granted = c.old.JS != nil, c.new.JS != nil
	}
	x.namesCompared = compareNames(x.javascript, old, now, c.ended)
	x.wholes(&a, &b)
	x.list("allow", allows, a.Allow, b.Allow)
	x.list("deny", denies, a.Deny, b.Deny)
	x.list("process", denies, a.Process, b.Process)
	x.list("absent", nothing, a.Absent, b.Absent)
	x.rest()
}

// of returns the language for sentences.
func (x *importers) of() string { return " (" + x.row.Says + ")" }

// effect is the effect of the entries of a list.
type effect uint8

const (
	nothing effect = iota
	allows
	denies
)

// at returns the spot of one list of the imports, or of one name in that list.
func (x *importers) at(part, name string) spot {
	s := x.part("."+part, "")
	s.capability, s.old, s.now = "import:"+name, nil, nil
	return s
}

// list compares the entries of one list by their names.
func (x *importers) list(part string, does effect, a, b []profiles.ImportRule) {
	for name, e := range pairs(a, b, func(r *profiles.ImportRule) string { return r.Name }) {
		s, p, q := x.at(part, name), e.old, e.now
		var ch Change
		switch {
		case p != nil && q != nil:
			x.kept(s, p, q)
			continue
		case q != nil:
			s.now = &q.Rule
			ch = s.added(entry(q))
			ch.Exception = q.Exception
		default:
			s.old = &p.Rule
			ch = s.removed(entry(p))
			ch.Exception = p.Exception
		}
		ch.Class = Neutral
		x.judge(&ch, name, does)
		if ch.Class == Neutral && does == denies && q == nil {
			ch.Says = "import of " + name + " is no longer denied" + x.of()
			ch = ch.lifted()
		}
		if ch.Class == Narrows && does == allows {
			ch.Says = but(ch.Says, x.inside(name, b))
		}
		x.add(ch)
	}
}

// inside lists the allowed names below a name that is not allowed.
func (x *importers) inside(name string, list []profiles.ImportRule) (out []string) {
	for _, r := range list {
		if strings.HasPrefix(r.Name, name+string(x.separator)) && x.Answer(r.Name, true).Kind == modules.Listed {
			out = append(out, r.Name)
		}
	}
	return out
}

func entry(r *profiles.ImportRule) string {
	return strings.TrimSpace(r.Name + " " + expiry(r.Expires))
}

// judge sets the class and the text of an added or removed entry.
func (x *importers) judge(ch *Change, name string, does effect) {
	of, added := x.of(), ch.Kind == Added
	switch does {
	case allows:
		ch.Says = "may now import " + name + of
		if !added {
			ch.Says = "may no longer import " + name + of
		}
		if added && x.Packages() && !modules.Standard(name) && !modules.Own(name) {
			x.Gained[name] = true // libraries may load packages now
			x.ClaimAll(everything)
		}
	case denies:
		ch.Says = "import of " + name + " is now denied" + of
		if !added {
			ch.Says = "import of " + name + " is no longer denied" + of
		}
	case nothing:
		ch.Says, ch.Why = "the list names "+name+", but the policy ships no such module", "it grants nothing"
		if !added {
			ch.Says = "the list no longer names " + name + ", which the policy does not ship"
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
		ch.Class, ch.Why = Narrows, "a part of it is granted by other entries, which are listed separately"
	default:
		ch.Why = x.why(name, wider, does)
		ch.Says = moot(ch.Says)
	}
}

// why explains an entry without effect.
func (x *importers) why(name string, wider bool, does effect) string {
	// A removed denial is judged by the new set, and so is an added grant.
	now := wider == (does == denies) || does == allows && !wider
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
func (x *importers) kept(s spot, p, q *profiles.ImportRule) {
	if Same(p.Expires, q.Expires) && p.Exception == q.Exception {
		return
	}
	s.old, s.now = &p.Rule, &q.Rule
	ch := s.changed(entry(p), entry(q))
	ch.Exception = cmp.Or(q.Exception, p.Exception)
	was, is := lasting{expires: p.Expires}.until(), lasting{expires: q.Expires}.until()
	says := "import of " + p.Name + ": granted " + nowWas(is, was)
	switch {
	case x.Gained[p.Name]:
		ch = ch.as(Widens, says, "")
		x.Claim(p.Name)
	case x.Lost[p.Name]:
		ch = ch.as(Narrows, says, "")
	default:
		ch = ch.as(Neutral, says, "another grant decides, or none")
	}
	x.add(ch)
}

// wholes compares the fields that are not lists of names.
func (x *importers) wholes(a, b *profiles.Imports) {
	s := x.at("default", "default")
	s.old, s.now = &a.Rule, &b.Rule
	switch ch := s.changed(onOff(a.Default), onOff(b.Default)); {
	case a.Default == b.Default:
	case x.javascript: // JavaScript has no default set
		says := map[bool]string{true: "empty now", false: "no longer empty"}[b.Default]
		x.add(ch.as(Neutral, "the import list of JavaScript is "+says, "the default set of JavaScript is empty"))
	default:
		ch.Kind, ch.Says = Added, "may now import the default set of Python"
		if a.Default {
			ch.Kind, ch.Says = Removed, "may no longer import the default set of Python"
		}
		x.whole(ch, b.Default, len(b.Allow) > 0, modules.PythonDefault)
	}
	if was, is := a.Any != nil, b.Any != nil; was != is {
		s := x.at("any", "*")
		s.old, s.now = a.Any, b.Any
		ch := s.changed(onOff(was), onOff(is))
		ch.Kind, ch.Says = Added, "may now import everything that is not denied"+x.of()
		if was {
			ch.Kind, ch.Says = Removed, "may no longer import everything that is not denied"+x.of()
		}
		x.whole(ch, is, len(b.Allow) > 0, everything)
	}
	if (a.Only == nil) != (b.Only == nil) || !slices.Equal(a.Only, b.Only) {
		none := map[bool]string{true: "everything", false: "nothing"}[b.Only == nil]
		s.field, s.capability = x.field+".only", "import:only"
		ch := s.changed(listed(a.Only, "everything"), listed(b.Only, none))
		ch.Says = "the grants of a run leave other modules"
		x.whole(ch, len(x.Gained) > 0, false, everything)
	}
}

// whole sets the class of a change that affects every name for which of returns true. on is true if the
// change allows these names. listed is true if some of them are also listed one by one.
func (x *importers) whole(ch Change, on, listed bool, of func(string) bool) {
	has := func(in map[string]bool) bool {
		for name := range in {
			if of(name) {
				return true
			}
		}
		return false
	}
	ch.Class = Neutral
	switch {
	case on && has(x.Gained):
		ch.Class = Widens
		x.ClaimAll(of)
	case !on && has(x.Lost):
		ch.Class = Narrows
		if listed && ch.Kind == Removed {
			ch.Says += ", but for what is listed"
		}
	default:
		ch.Why = "other entries grant the same"
	}
	x.add(ch)
}

// rest reports names that the agent gained and that no change reports yet. If the executor is new, it has a
// change of its own.
func (x *importers) rest() {
	left := x.Untold()
	if len(left) == 0 || x.New() {
		return
	}
	left = slices.DeleteFunc(left, unlistedName)
	few := listed(left[:min(len(left), 8)], "packages that libraries load")
	x.add(Change{Kind: Changed, Capability: "import:*", Field: x.field, New: few,
		Says: "more may be imported" + x.of() + ": " + few, Why: "no single entry does this: the lists together do"})
}

func everything(string) bool { return true }
