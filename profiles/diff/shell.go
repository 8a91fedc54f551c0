package diff

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// listedAt indexes programs by the path at which they are found on a host where /bin is a link to /usr/bin.
// If a path occurs twice, the first program is used.
func listedAt(c *comparer, list []profiles.Binary) (at map[string]*profiles.Binary, names map[string]*profiles.Binary) {
	at, names = map[string]*profiles.Binary{}, map[string]*profiles.Binary{}
	for i := range list {
		b := &list[i]
		if c.ended(b.Expires) {
			continue
		}
		key := b.Path
		for _, top := range []string{"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/"} {
			if strings.HasPrefix(key, top) {
				key = "/usr" + key
			}
		}
		if at[key] == nil {
			at[key] = b
		}
		if name := path.Base(b.Path); names[name] == nil {
			names[name] = b
		}
	}
	return at, names
}

func binaries(c *comparer, s spot, a, b []profiles.Binary) {
	old, oldNames := listedAt(c, a)
	now, nowNames := listedAt(c, b)
	for _, p := range both(old, now) {
		if x, y := old[p], now[p]; x != nil && y != nil {
			binary(c, s, x, y)
		} else if y != nil {
			ch := pair[profiles.Binary]{nil, y}.spot(s, y.Path).added(binaryText(y))
			ch.Exception = y.Exception
			c.add(ch.as(Widens, "may now start "+y.Path, ""))
		} else {
			ch := pair[profiles.Binary]{x, nil}.spot(s, x.Path).removed(binaryText(x))
			ch.Exception = x.Exception
			c.add(ch.as(Narrows, "may no longer start "+x.Path, ""))
		}
	}
	for _, name := range both(oldNames, nowNames) {
		x, y := oldNames[name], nowNames[name]
		if x == nil || y == nil || x.Path == y.Path || old[y.Path] == nil {
			continue // the program itself was added or removed
		}
		other := c.within(c.old, c.new)
		binary(other, s, x, y)
		rest := slices.DeleteFunc(other.out, func(one Change) bool { return one.Field == "shell.binaries.path" })
		c.add(pair[profiles.Binary]{x, y}.spot(s, name).changed(x.Path, y.Path).as(ClassOf(rest),
			name+": "+nowWas(y.Path, x.Path), "both programs are listed, and the first of a name is used"))
	}
}

func binary(c *comparer, s spot, x, y *profiles.Binary) {
	at := pair[profiles.Binary]{x, y}.spot(s, y.Path)
	at.subject, at.single = programName(c, y.Path), false
	c.walk(at, reflect.ValueOf(*x), reflect.ValueOf(*y))
	until(c, at.part(".expires", "granted %s"), lasting{x.Exception, x.Expires}, lasting{y.Exception, y.Expires})
}

// programName returns the name of a program for sentences: the base name, if no other program has it.
func programName(c *comparer, at string) string {
	name := path.Base(at)
	other := func(b profiles.Binary) bool { return path.Base(b.Path) == name && b.Path != at }
	for _, shell := range []*profiles.Shell{c.old.Shell, c.new.Shell} {
		if shell != nil && slices.ContainsFunc(shell.Binaries, other) {
			return at
		}
	}
	return name
}

func binaryText(b *profiles.Binary) string {
	var parts []string
	if b.Allow != nil {
		parts = append(parts, onlyText(b.Allow))
	}
	if len(b.Deny) > 0 {
		parts = append(parts, "not "+strings.Join(texts(b.Deny), ", "))
	}
	if len(b.Ask) > 0 {
		parts = append(parts, "some with an approval")
	}
	if e := expiry(b.Expires); e != "" {
		parts = append(parts, e)
	}
	return listed(parts, "any words")
}

func texts(list []profiles.Pattern) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = strings.Join(p.Words, " ")
	}
	return out
}

func onlyText(list []profiles.Pattern) string { return "only " + listed(texts(list), "nothing") }

// covers reports whether pattern p matches everything that pattern q matches: the words of q begin with the
// words of p.
func covers(p, q []string) bool { return len(p) <= len(q) && slices.Equal(p, q[:len(p)]) }

// within reports whether one of the patterns covers the command.
func within(words []string, list []profiles.Pattern) bool {
	return slices.ContainsFunc(list, func(p profiles.Pattern) bool { return covers(p.Words, words) })
}

// visitWords calls visit for the patterns of two lists, sorted by their words, with the spot of each.
func visitWords(s spot, a, b []profiles.Pattern, visit func(at spot, p pair[profiles.Pattern], words []string)) {
	if s.subject != "" {
		s.capability += " "
	}
	for _, p := range pairs(a, b, func(p *profiles.Pattern) string { return strings.Join(p.Words, "\x00") }) {
		at, words := s, cmp.Or(p.now, p.old).Words
		at.capability += strings.Join(words, " ")
		at.old, at.now = ruleOf(reflect.ValueOf(p.old), "Rule", s.old), ruleOf(reflect.ValueOf(p.now), "Rule", s.now)
		visit(at, p, words)
	}
}

// worded compares the author's texts of a pattern.
func worded(c *comparer, s spot, p, q *profiles.Pattern) {
	s.old, s.now = &p.Rule, &q.Rule
	if p.Text != q.Text || p.Reason != q.Reason || !slices.Equal(p.Instead, q.Instead) {
		c.add(s.changed(strings.TrimSpace(p.Text+" "+p.Reason), strings.TrimSpace(q.Text+" "+q.Reason)).as(Neutral,
			strings.Join(q.Words, " ")+": another reason or remedy is given", "it matches the same"))
	}
	c.residue(s, reflect.ValueOf(*p), reflect.ValueOf(*q))
}

// allowed compares the lists of sub-commands. A program may be started with no other sub-commands than those
// of its list.
func allowed(c *comparer, s spot, a, b []profiles.Pattern) {
	switch {
	case a == nil && b == nil:
		return
	case a == nil:
		c.add(s.changed("any words", onlyText(b)).as(Narrows, s.subject+": "+onlyText(b)+" (was any words)", ""))
		return
	case b == nil:
		c.add(s.changed(onlyText(a), "any words").as(Widens, s.subject+": any words (was "+onlyText(a)+")", ""))
		return
	}
	visitWords(s, a, b, func(at spot, p pair[profiles.Pattern], words []string) {
		text := strings.Join(words, " ")
		switch says := s.subject + " " + text; {
		case p.old != nil && p.now != nil:
			worded(c, s, p.old, p.now)
		case p.old == nil && within(words, a):
			c.add(at.added(text).as(Neutral, moot("may now start "+says), "another entry allowed it"))
		case p.old == nil:
			c.add(at.added(text).as(Widens, "may now start "+says, ""))
		case within(words, b):
			c.add(at.removed(text).as(Neutral, moot("may no longer start "+says), "another entry allows it"))
		default:
			c.add(at.removed(text).as(Narrows, "may no longer start "+says, ""))
		}
	})
}

// patterns compares denied commands.
func patterns(c *comparer, s spot, a, b []profiles.Pattern) {
	visitWords(s, a, b, func(at spot, p pair[profiles.Pattern], words []string) {
		text := strings.Join(words, " ")
		says, nothing := strings.TrimSpace(s.subject+" "+text), len(words) == 0 && s.subject == ""
		switch {
		case p.old != nil && p.now != nil:
			worded(c, at, p.old, p.now)
		case p.old == nil && (nothing || within(words, a)):
			c.add(at.added(text).as(Neutral, moot(says+" is now denied"), "another entry denied it"))
		case p.old == nil:
			c.add(at.added(text).as(Narrows, says+" is now denied", ""))
		case nothing || within(words, b):
			c.add(at.removed(text).as(Neutral, moot(says+" is no longer denied"), "another entry denies it"))
		default:
			c.add(at.removed(text).as(Widens, says+" is no longer denied", ""))
		}
	})
}

func helpers(c *comparer, s spot, a, b []profiles.PathRule) {
	for p, e := range pairs(a, b, pathKey) {
		at := e.spot(s, "")
		at.capability = s.capability + " " + p
		switch {
		case e.old == nil:
			c.add(at.added(p).as(Widens, s.subject+" may now start "+p, ""))
		case e.now == nil:
			c.add(at.removed(p).as(Narrows, s.subject+" may no longer start "+p, ""))
		default:
			at.capability = s.capability
			e.walk(c, at)
		}
	}
}
