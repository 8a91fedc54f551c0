package headroom

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// keyed returns the field that identifies the items of a list, and whether the items are denials. Removing a
// denial is headroom.
func keyed(item string) (key string, denies bool) {
	switch item {
	case "AgentMatch":
		return "Match", false
	case "Environment", "Binary":
		return "Path", false
	case "Bridge", "Gateway":
		return "Name", false
	case "Guardrail":
		return "Name", true
	case "Egress":
		return "Host", false
	case "DenyPattern":
		return "Pattern", true
	case "DenyWords", "AskWords":
		return "Words", true
	case "Exception":
		return "ID", false
	default:
		return "", false
	}
}

// items compares lists of items: first the identical ones, then those with the same key.
func (c *comparer) items(a, b reflect.Value, was, is string) {
	key, denies := keyed(a.Type().Elem().Name())
	switch {
	case key == "":
		c.undecided(was, is, show(a), show(b), "this ringd has no rule for the list")
		return
	case denies || a.Type().Elem().Name() == "Exception": // here an absent list equals an empty one
	case a.IsNil():
		c.lower(diff.Added, was, is, "", show(b), is+" lists "+orNothing(show(b))+", and nothing else any more")
		return
	case b.IsNil():
		c.raise(diff.Removed, was, is, show(a), "", was+" is gone, which listed "+orNothing(show(a)))
		return
	}
	a, b = usual(a), usual(b)
	left, mine := paired(a, b, key)
	for j := range b.Len() {
		i := mine[j]
		if i < 0 {
			c.one(denies, diff.Added, b.Index(j), was, at(is, j), is)
			continue
		}
		before := len(c.out)
		c.fields(a.Index(i), b.Index(j), at(was, i), at(is, j))
		if name := show(b.Index(j)); name != show(a.Index(i)) && len(c.out) == before {
			c.tell(diff.Neutral, diff.Added, was, at(is, j), "", name, is+" now holds "+name,
				show(a.Index(i))+" held it before")
		}
	}
	for _, i := range left {
		c.one(denies, diff.Removed, a.Index(i), at(was, i), is, was)
	}
}

// one reports an added or removed item.
func (c *comparer) one(denies bool, kind diff.Kind, v reflect.Value, was, is, list string) {
	says, old, now := list+" now holds "+show(v), "", show(v)
	if kind == diff.Removed {
		says, old, now = list+" no longer holds "+show(v), show(v), ""
	}
	if (kind == diff.Added) != denies {
		c.raise(kind, was, is, old, now, says)
	} else {
		c.lower(kind, was, is, old, now, says)
	}
}

// paired returns in mine, for each item of b, the index of the corresponding item of a, or -1. It returns in
// left the indexes of the items of a without a corresponding item. Items correspond if they are equal, have
// the same key, or one host is within the other.
func paired(a, b reflect.Value, key string) (left, mine []int) {
	mine = slices.Repeat([]int{-1}, b.Len())
	taken := make([]bool, a.Len())
	pass := func(fits func(x, y reflect.Value) bool, shared bool) {
		for j := range mine {
			for i := 0; i < a.Len() && mine[j] < 0; i++ {
				if (!taken[i] || shared) && fits(a.Index(i), b.Index(j)) {
					mine[j], taken[i] = i, taken[i] || !shared
				}
			}
		}
	}
	pass(func(x, y reflect.Value) bool { return reflect.DeepEqual(x.Interface(), y.Interface()) }, false)
	pass(func(x, y reflect.Value) bool { return x.FieldByName(key).String() == y.FieldByName(key).String() }, false)
	if key == "Host" {
		pass(func(x, y reflect.Value) bool { return hostHolds(x, y) }, true)
	}
	for i, t := range taken {
		if !t {
			left = append(left, i)
		}
	}
	return left, mine
}

// hostHolds reports whether the host of entry x allows everything that the host of entry y allows.
func hostHolds(x, y reflect.Value) bool {
	read := func(v reflect.Value) (egress.Pattern, bool) {
		e, err := egress.ReadEntry(v.FieldByName("Host").String())
		if err != nil {
			return egress.Pattern{}, false
		}
		p, err := egress.PatternOf(e)
		return p, err == nil
	}
	p, ok := read(x)
	q, also := read(y)
	return ok && also && p.Holds(q)
}

// usual returns host entries in a normal form: ports are separate from the host, the default port is
// explicit, and no port means every port.
func usual(list reflect.Value) reflect.Value {
	entries, is := list.Interface().([]schema.Egress)
	if !is {
		return list
	}
	out := slices.Clone(entries)
	for i := range out {
		if e := layers.ReadEntry(&entries[i], false); e.Readable {
			out[i].Host, out[i].Ports = e.Name, slices.Clone(e.On)
			slices.Sort(out[i].Ports)
			if e.Any {
				out[i].Ports = nil
			}
		}
	}
	return reflect.ValueOf(out)
}

// special compares a field by its own code.
type special func(c *comparer, a, b reflect.Value, was, is string)

func specials() map[string]special {
	return map[string]special{
		"Egress.Ports":  (*comparer).ports,
		"Approval.When": (*comparer).condition,
		"Spec.Modules":  (*comparer).modules,
		// An exception raises the ceiling, so its grants are headroom.
		"ExceptionGrants.Imports":  (*comparer).granted,
		"ExceptionGrants.Binaries": (*comparer).granted,
		"ExceptionGrants.Egress":   (*comparer).granted,
		"Exception.Expires": func(c *comparer, a, b reflect.Value, was, is string) {
			c.number(c.rules["Exception.Expires"], a, b, was, is)
		},
		"DenyPattern.Kind": func(c *comparer, a, b reflect.Value, was, is string) {
			c.undecided(was, is, show(a), show(b), "it is "+show(b)+" now")
		},
	}
}

func orFalse(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return reflect.ValueOf(new(bool))
	}
	return v
}

// ports compares ports. An empty list means every port.
func (c *comparer) ports(a, b reflect.Value, was, is string) {
	old, now := a.Interface().([]int), b.Interface().([]int)
	all := func(list []int) string {
		if list == nil {
			return "every port"
		}
		return strings.Trim(fmt.Sprint(list), "[]")
	}
	more := old != nil && (now == nil || slices.ContainsFunc(now, func(p int) bool { return !slices.Contains(old, p) }))
	says := fmt.Sprintf("%s: %s (was %s)", is, all(now), all(old))
	if more {
		c.raise(diff.Changed, was, is, all(old), all(now), says)
	} else {
		c.lower(diff.Changed, was, is, all(old), all(now), says)
	}
}

// condition compares conditions of approvals. If an approval has no condition, every call needs the
// approval.
func (c *comparer) condition(a, b reflect.Value, was, is string) {
	switch {
	case a.String() == "":
		c.raise(diff.Added, was, is, "", b.String(), is+": an approval is needed only if "+clip(b.String()))
	case b.String() == "":
		c.lower(diff.Removed, was, is, a.String(), "", was+": an approval is always needed")
	default:
		c.undecided(was, is, a.String(), b.String(), "the condition was replaced")
	}
}

// modules compares the modules of a ceiling. A module grants nothing until it is imported. If a module is
// removed, another module may get its name.
func (c *comparer) modules(a, b reflect.Value, was, is string) {
	old, now := a.Interface().(map[string]schema.ModuleSource), b.Interface().(map[string]schema.ModuleSource)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, had := old[name]; !had {
			c.tell(diff.Neutral, diff.Added, was, is+"."+name, "", name, is+" now has the module "+name,
				"a module gives nothing until it is imported")
		} else if old[name] != now[name] {
			c.undecided(was+"."+name, is+"."+name, old[name].Digest, now[name].Digest, "the module was replaced")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, has := now[name]; !has {
			c.raise(diff.Removed, was+"."+name, is, name, "",
				was+" no longer has the module "+name+": documents below may write their own")
		}
	}
}

// granted compares the grants of an exception.
func (c *comparer) granted(a, b reflect.Value, was, is string) {
	has := func(list reflect.Value, v reflect.Value) bool {
		for i := range list.Len() {
			if reflect.DeepEqual(list.Index(i).Interface(), v.Interface()) {
				return true
			}
		}
		return false
	}
	for j := range b.Len() {
		if !has(a, b.Index(j)) {
			c.one(false, diff.Added, b.Index(j), was, at(is, j), is)
		}
	}
	for i := range a.Len() {
		if !has(b, a.Index(i)) {
			c.one(false, diff.Removed, a.Index(i), at(was, i), is, was)
		}
	}
}
