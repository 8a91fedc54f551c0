package diff

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
)

// files compares the grants of files. The host chooses the folders for $WORKSPACE and ~. So a path below
// $WORKSPACE is only known to be covered by $WORKSPACE and by /. And a denial below $WORKSPACE may affect a
// grant below another folder.
func files(c *comparer, s spot, x, y profiles.Files) {
	rules := s
	rules.old, rules.now = orRule(&x.Rule, s.old), orRule(&y.Rule, s.now)
	c.walk(rules, reflect.ValueOf(x), reflect.ValueOf(y))
	if c.old.Shell != nil && c.new.Shell != nil && len(x.Read)+len(x.Write) > 0 && len(y.Read)+len(y.Write) == 0 {
		s.old, s.now = &x.Rule, &y.Rule
		c.add(s.changed("", "").as(Neutral, "scripts work in an empty folder of their own now",
			"it is removed with the script, and contains nothing of the host"))
	}
}

func pathKey(r *profiles.PathRule) string { return r.Path }

func pathSet(rules []profiles.PathRule) paths.Set { return paths.Of(pathsOf(rules)...) }

func pathsOf(rules []profiles.PathRule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.Path
	}
	return out
}

// reached lists every path that an agent is granted in some way: a denial also removes programs and packages.
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
func granted(c *comparer, s spot, a, b []profiles.PathRule) {
	was, is, before, deny := pathSet(a), pathSet(b), pathSet(c.old.Files.Deny), pathSet(c.new.Files.Deny)
	for p, e := range pairs(a, b, pathKey) {
		at, came, went := e.spot(s, p), "may now "+s.row.Says+" "+p, "may no longer "+s.row.Says+" "+p
		switch {
		case e.old != nil && e.now != nil:
			e.walk(c, at)
		case e.old == nil && was.Cover(p):
			c.add(at.added(p).as(Neutral, moot(came), "what was granted covers it"))
		case e.old == nil && deny.Cover(p):
			c.add(at.added(p).as(Neutral, moot(came), "it is denied"))
		case e.old == nil:
			c.add(at.added(p).as(Widens, came, ""))
		case is.Cover(p):
			c.add(at.removed(p).as(Neutral, moot(went), "what is granted covers it"))
		case before.Cover(p):
			c.add(at.removed(p).as(Neutral, moot(went), "it was denied"))
		default:
			c.add(at.removed(p).as(Narrows, but(went, pathsInside(p, b, deny)), ""))
		}
	}
}

// pathsInside lists the granted paths below a path that is not granted.
func pathsInside(p string, list []profiles.PathRule, deny paths.Set) (out []string) {
	for _, r := range list {
		if paths.Of(p).Cover(r.Path) && !deny.Cover(r.Path) {
			out = append(out, r.Path)
		}
	}
	return out
}

// denied compares the denials.
func denied(c *comparer, s spot, a, b []profiles.PathRule) {
	was, is, before, after := reached(c.old), reached(c.new), pathSet(a), pathSet(b)
	for p, e := range pairs(a, b, pathKey) {
		at := e.spot(s, p)
		switch {
		case e.old != nil && e.now != nil:
			e.walk(c, at)
		case e.old == nil && meets(p, was, before):
			c.add(at.added(p).as(Narrows, p+" is now denied", ""))
		case e.old == nil:
			c.add(at.added(p).as(Neutral, moot(p+" is now denied"), "nothing granted it, or it was denied"))
		case meets(p, is, after):
			c.add(at.removed(p).as(Widens, p+" is no longer denied", ""))
		default:
			c.add(at.removed(p).as(Neutral, p+" is no longer denied",
				"nothing grants it, or another entry denies it").lifted())
		}
	}
}

// meets reports whether a granted path may be below or above a denied path. Granted paths that a denial
// removes are ignored. If the two paths start at different places, such as $WORKSPACE and /, the answer is
// true, because the host chooses the places.
func meets(denied string, granted []string, denials paths.Set) bool {
	if denials.Cover(denied) {
		return false
	}
	below := paths.Of(denied)
	for _, g := range granted {
		switch {
		case paths.Of(g).Cover(denied):
			return true
		case below.Cover(g), root(g) != root(denied):
			if !denials.Cover(g) {
				return true
			}
		}
	}
	return false
}

// root returns the place at which a path starts.
func root(p string) string {
	if strings.HasPrefix(p, "/") {
		return "/"
	}
	top, _, _ := strings.Cut(p, "/")
	return top
}

// folders compares the folders of the layers above within which a granted path must be.
func folders(c *comparer, s spot, x, y profiles.PathRule) {
	if slices.Equal(x.Within, y.Within) {
		return
	}
	ch := s.changed(strings.Join(x.Within, ", "), strings.Join(y.Within, ", "))
	says := x.Path + ": links must stay in " + nowWas(listed(y.Within, "no folder"), listed(x.Within, "no folder"))
	if len(missing(x.Within, y.Within)) > 0 {
		c.add(ch.as(Widens, says, "a link could not lead out of a folder that is left out now"))
	} else {
		c.add(ch.as(Narrows, says, ""))
	}
}
