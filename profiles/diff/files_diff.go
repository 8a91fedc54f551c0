package diff

import (
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// files compares the grants of files. $WORKSPACE and ~ are places that the host says:
// nothing but themselves and / is known to cover what lies below them, and a denial
// below one may meet a grant below another.
func (c *comparer) files(a, b *profiles.Agent) {
	x, y := &a.Files, &b.Files
	deny, before := pathSet(y.Deny), pathSet(x.Deny)
	c.granted("files.read", "file.read:", "read", x.Read, y.Read, before, deny)
	c.granted("files.write", "file.write:", "write", x.Write, y.Write, before, deny)
	c.denied(x.Deny, y.Deny, reached(a), reached(b))
	c.powers("files.powers", "file", "the files that are read", x.Powers, y.Powers, orRule(&x.Rule, &a.Rule), orRule(&y.Rule, &b.Rule))
	c.residue("files", "file", x, y)
	if a.Shell != nil && b.Shell != nil && len(x.Read)+len(x.Write) > 0 && len(y.Read)+len(y.Write) == 0 {
		c.add(Change{Kind: Changed, Class: Neutral, Capability: "file", Field: "files", OldRule: &x.Rule, NewRule: &y.Rule,
			Says: "scripts work in an empty folder of their own now", Why: "it is thrown away with the script, and holds nothing of the host"})
	}
}

func pathSet(rules []profiles.PathRule) paths.Set { return paths.Of(pathsOf(rules)...) }

func pathsOf(rules []profiles.PathRule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.Path
	}
	return out
}

// reached lists every path that an agent is granted in some way: a denial takes
// programs and packages away too.
func reached(a *profiles.Agent) []string {
	out := append(pathsOf(a.Files.Read), pathsOf(a.Files.Write)...)
	if a.Shell != nil {
		for _, b := range a.Shell.Binaries {
			out = append(append(out, b.Path), pathsOf(b.Helpers)...)
		}
	}
	if a.Python != nil {
		for _, e := range a.Python.Environments {
			out = append(out, e.Path)
		}
	}
	return out
}

// granted compares one list of grants.
func (c *comparer) granted(field, capability, verb string, a, b []profiles.PathRule, before, deny paths.Set) {
	old, now := rulesByPath(a), rulesByPath(b)
	was, is := pathSet(a), pathSet(b)
	for _, p := range both(old, now) {
		x, y := old[p], now[p]
		ch := Change{Capability: capability + p, Field: field, Class: Neutral}
		switch {
		case x == nil:
			ch.Kind, ch.New, ch.NewRule, ch.Says = Added, p, &y.Rule, "may now "+verb+" "+p
			switch {
			case was.Cover(p):
				ch.Says, ch.Why = moot(ch.Says), "what was granted covers it"
			case deny.Cover(p):
				ch.Says, ch.Why = moot(ch.Says), "it is denied"
			default:
				ch.Class = Widens
			}
		case y == nil:
			ch.Kind, ch.Old, ch.OldRule, ch.Says = Removed, p, &x.Rule, "may no longer "+verb+" "+p
			switch {
			case is.Cover(p):
				ch.Says, ch.Why = moot(ch.Says), "what is granted covers it"
			case before.Cover(p):
				ch.Says, ch.Why = moot(ch.Says), "it was denied"
			default:
				ch.Class, ch.Says = Narrows, but(ch.Says, pathsInside(p, b, deny))
			}
		default:
			c.same(field, ch.Capability, x, y)
			continue
		}
		c.add(ch)
	}
}

// denied compares the denials; was and is are the paths that are granted at all.
func (c *comparer) denied(a, b []profiles.PathRule, was, is []string) {
	old, now := rulesByPath(a), rulesByPath(b)
	before, after := pathSet(a), pathSet(b)
	for _, p := range both(old, now) {
		x, y := old[p], now[p]
		ch := Change{Capability: "file.deny:" + p, Field: "files.deny", Class: Neutral}
		switch {
		case x == nil:
			ch.Kind, ch.New, ch.NewRule, ch.Says = Added, p, &y.Rule, p+" is now denied"
			if meets(p, was, before) {
				ch.Class = Narrows
			} else {
				ch.Says, ch.Why = moot(ch.Says), "nothing granted it, or it was denied"
			}
		case y == nil:
			ch.Kind, ch.Old, ch.OldRule, ch.Says = Removed, p, &x.Rule, p+" is no longer denied"
			if meets(p, is, after) {
				ch.Class = Widens
			} else {
				ch.Why = "nothing grants it, or another entry denies it"
				ch.lifted(&x.Rule, ch.Says)
			}
		default:
			c.same("files.deny", ch.Capability, x, y)
			continue
		}
		c.add(ch)
	}
}

// meets reports whether something that is granted may lie below a denied path, or
// above it, where no denial takes it away. Of two places of the host it may.
func meets(denied string, granted []string, denials paths.Set) bool {
	if denials.Cover(denied) {
		return false
	}
	below := paths.Of(denied)
	for _, g := range granted {
		switch {
		case paths.Of(g).Cover(denied):
			return true
		case below.Cover(g):
			if !denials.Cover(g) {
				return true
			}
		case root(g) != root(denied) && !denials.Cover(g):
			return true
		}
	}
	return false
}

// root is the place that a path lies below.
func root(p string) string {
	if strings.HasPrefix(p, "/") {
		return "/"
	}
	top, _, _ := strings.Cut(p, "/")
	return top
}

// same compares two rules for one path, which may be held to other layers.
func (c *comparer) same(field, capability string, x, y *profiles.PathRule) {
	if says, why := elsewhere(x, y); says != "" {
		class := Widens
		if why == "" {
			class = Narrows
		}
		c.add(Change{Kind: Changed, Class: class, Capability: capability, Field: field, Old: strings.Join(x.Within, ", "), New: strings.Join(y.Within, ", "), OldRule: &x.Rule, NewRule: &y.Rule, Says: says, Why: why})
	}
	c.residue(field, capability, x, y)
}
