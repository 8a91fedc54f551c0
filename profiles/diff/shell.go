package diff

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

func (c *comparer) shell(a, b *profiles.Agent) {
	var x, y profiles.Shell
	was, is := a.Shell != nil, b.Shell != nil
	if was {
		x = *a.Shell
	}
	if is {
		y = *b.Shell
	}
	kept := c.executor(profiles.ExecutorShell, was, is, &x.Rule, &y.Rule)
	c.binaries(x.Binaries, y.Binaries)
	for _, f := range []struct {
		name, gives string
		a, b        bool
	}{
		{"pipes", "a pipe in scripts", x.Pipes, y.Pipes},
		{"redirects", "a redirect in scripts", x.Redirects, y.Redirects},
		{"substitution", "substitution in scripts", x.Substitution, y.Substitution},
		{"jit", "memory that becomes executable, in programs of scripts,", x.JIT, y.JIT},
	} {
		c.flag("shell."+f.name, "shell:"+f.name, f.gives, f.a, f.b, &x.Rule, &y.Rule)
	}
	if !kept {
		return
	}
	c.patterns("shell.deniedPatterns", "pattern:", "", x.DeniedPatterns, y.DeniedPatterns)
	c.limits("shell.limits", "scripts", x.Limits, y.Limits, &x.Rule, &y.Rule)
	c.audited("shell.audit", "shell", "programs of scripts", x.Audit, y.Audit, &x.Rule, &y.Rule)
	c.free("shell.env", "shell", "the variables that scripts begin with", x.Env, y.Env, &x.Rule, &y.Rule)
	c.residue("shell", "executor:shell", &x, &y)
}

// free compares texts of which it is not known whether one gives more than another.
func (c *comparer) free(field, capability, what string, a, b []string, old, now *profiles.Rule) {
	if slices.Equal(a, b) {
		return
	}
	c.add(Change{Kind: Changed, Undecided: true, Capability: capability, Field: field, Old: listed(a, "none"), New: listed(b, "none"), OldRule: old, NewRule: now,
		Says: what + " are others", Why: "what a program makes of them is not decided here"})
}

// listedAt indexes programs as they are found: by their path on a host where /bin is
// /usr/bin, the first of which counts.
func (c *comparer) listedAt(list []profiles.Binary) (at map[string]*profiles.Binary, names map[string]*profiles.Binary) {
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

func (c *comparer) binaries(a, b []profiles.Binary) {
	old, oldNames := c.listedAt(a)
	now, nowNames := c.listedAt(b)
	for _, p := range both(old, now) {
		x, y := old[p], now[p]
		switch {
		case x != nil && y != nil:
			c.binary(x, y)
		case y != nil:
			c.add(Change{Kind: Added, Capability: "exec:" + y.Path, Field: "shell.binaries", New: binary(y), NewRule: &y.Rule, Exception: y.Exception, Says: "may now start " + y.Path})
		default:
			c.add(Change{Kind: Removed, Class: Narrows, Capability: "exec:" + x.Path, Field: "shell.binaries", Old: binary(x), OldRule: &x.Rule, Exception: x.Exception, Says: "may no longer start " + x.Path})
		}
	}
	for _, name := range both(oldNames, nowNames) {
		x, y := oldNames[name], nowNames[name]
		if x == nil || y == nil || x.Path == y.Path || old[y.Path] == nil {
			continue // the program itself came or went
		}
		other := &comparer{now: c.now}
		other.binary(x, y)
		ch := Change{Kind: Changed, Class: Neutral, Capability: "exec:" + name, Field: "shell.binaries", Old: x.Path, New: y.Path, OldRule: &x.Rule, NewRule: &y.Rule,
			Says: name + " stands for " + y.Path + " now", Why: "both programs are listed, and the first of a name counts"}
		ch.Class = ClassOf(slices.DeleteFunc(other.out, func(one Change) bool { return one.Field == "shell.binaries.path" }))
		c.add(ch)
	}
}

func binary(b *profiles.Binary) string {
	var parts []string
	if b.Allow != nil {
		parts = append(parts, "only "+listed(texts(b.Allow), "nothing"))
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

func (c *comparer) binary(x, y *profiles.Binary) {
	capability, old, now := "exec:"+y.Path, &x.Rule, &y.Rule
	const field = "shell.binaries"
	if x.Path != y.Path {
		c.add(Change{Kind: Changed, Undecided: true, Capability: capability, Field: field + ".path", Old: x.Path, New: y.Path, OldRule: old, NewRule: now,
			Says: "may start " + y.Path + " instead of " + x.Path, Why: "whether they are one program is the host's to say"})
	}
	if x.Interpreted != y.Interpreted {
		c.add(Change{Kind: Changed, Undecided: true, Capability: capability, Field: field + ".interpreted", Old: onOff(x.Interpreted), New: onOff(y.Interpreted), OldRule: old, NewRule: now,
			Says: y.Path + " is read by ringd: " + onOff(y.Interpreted), Why: "it is started in one of them, and read in the other"})
	}
	c.allowed(field+".allow", capability, y.Path, x.Allow, y.Allow, old, now)
	c.patterns(field+".deny", capability+" ", y.Path+" ", x.Deny, y.Deny)
	c.asks(field+".ask", capability, y.Path, x.Ask, y.Ask)
	c.bounded(field+".maxArgs", capability, "number of words behind "+y.Path, plain, max(x.MaxArgs, 0), max(y.MaxArgs, 0), old, now)
	if x.SafeConfig != y.SafeConfig {
		c.flag(field+".safeConfig", capability, "configuration of "+y.Path+" on its command line", !x.SafeConfig, !y.SafeConfig, old, now)
	}
	c.free(field+".forceArgs", capability, "the words that "+y.Path+" always gets", x.ForceArgs, y.ForceArgs, old, now)
	c.free(field+".forceEnv", capability, "the variables that "+y.Path+" always gets", x.ForceEnv, y.ForceEnv, old, now)
	c.helpers(y.Path, x.Helpers, y.Helpers)
	c.until(field, capability, "may start "+y.Path, x.Exception, y.Exception, x.Expires, y.Expires, old, now)
	c.residue(field, capability, x, y)
}

// until compares how long a grant lasts, and by which exception.
func (c *comparer) until(field, capability, says, a, b string, was, is *time.Time, old, now *profiles.Rule) {
	if a == b && Same(was, is) {
		return
	}
	ch := Change{Kind: Changed, Class: Neutral, Capability: capability, Field: field + ".expires", Old: strings.TrimSpace(a + " " + fallback(expiry(was), "for ever")), New: strings.TrimSpace(b + " " + fallback(expiry(is), "for ever")),
		OldRule: old, NewRule: now, Exception: fallback(b, a), Says: says + " " + fallback(expiry(is), "for ever") + " now", Why: "it lasts as long as before"}
	switch {
	case outlasts(is, was):
		ch.Class, ch.Why = Widens, "it lasts longer"
	case outlasts(was, is):
		ch.Class, ch.Why = Narrows, "it ends earlier"
	}
	c.add(ch)
}

// covers reports whether a pattern matches all that another one does: fewer words,
// which the other begins with, ask for less.
func covers(p, q []string) bool { return len(p) <= len(q) && slices.Equal(p, q[:len(p)]) }

func (c *comparer) allowed(field, capability, program string, a, b []profiles.Pattern, old, now *profiles.Rule) {
	if a == nil || b == nil {
		switch {
		case a == nil && b != nil:
			c.add(Change{Kind: Changed, Class: Narrows, Capability: capability, Field: field, Old: "any words", New: "only " + listed(texts(b), "nothing"), OldRule: old, NewRule: now,
				Says: "may start " + program + " only with " + listed(texts(b), "nothing")})
		case a != nil:
			c.add(Change{Kind: Changed, Capability: capability, Field: field, Old: "only " + listed(texts(a), "nothing"), New: "any words", OldRule: old, NewRule: now,
				Says: "may start " + program + " with any words"})
		}
		return
	}
	c.each(a, b, func(p, q *profiles.Pattern) {
		if p != nil && q != nil {
			c.worded(field, capability, p, q)
			return
		}
		ch := Change{Field: field, Class: Neutral}
		if q != nil {
			words := strings.Join(q.Words, " ")
			ch.Kind, ch.Capability, ch.New, ch.NewRule, ch.Says = Added, capability+" "+words, words, orRule(&q.Rule, now), "may now start "+program+" "+words
			if !within(q.Words, a) {
				ch.Class = Widens
			} else {
				ch.Says, ch.Why = moot(ch.Says), "another entry allowed it"
			}
		} else {
			words := strings.Join(p.Words, " ")
			ch.Kind, ch.Capability, ch.Old, ch.OldRule, ch.Says = Removed, capability+" "+words, words, orRule(&p.Rule, old), "may no longer start "+program+" "+words
			if !within(p.Words, b) {
				ch.Class = Narrows
			} else {
				ch.Says, ch.Why = moot(ch.Says), "another entry allows it"
			}
		}
		c.add(ch)
	})
}

// within reports whether one of the patterns covers the words.
func within(words []string, list []profiles.Pattern) bool {
	return slices.ContainsFunc(list, func(p profiles.Pattern) bool { return covers(p.Words, words) })
}

// each visits the patterns of two lists by their words, in the order of these.
func (c *comparer) each(a, b []profiles.Pattern, visit func(p, q *profiles.Pattern)) {
	old, now := map[string]*profiles.Pattern{}, map[string]*profiles.Pattern{}
	index := func(into map[string]*profiles.Pattern, list []profiles.Pattern) {
		for i := range list {
			if key := strings.Join(list[i].Words, "\x00"); into[key] == nil {
				into[key] = &list[i]
			}
		}
	}
	index(old, a)
	index(now, b)
	for _, key := range both(old, now) {
		visit(old[key], now[key])
	}
}

// worded compares what an author says about a pattern.
func (c *comparer) worded(field, capability string, p, q *profiles.Pattern) {
	if p.Text != q.Text || p.Reason != q.Reason || !slices.Equal(p.Instead, q.Instead) {
		c.add(Change{Kind: Changed, Class: Neutral, Capability: capability, Field: field, Old: strings.TrimSpace(p.Text + " " + p.Reason), New: strings.TrimSpace(q.Text + " " + q.Reason), OldRule: &p.Rule, NewRule: &q.Rule,
			Says: "what is said about " + strings.Join(q.Words, " ") + " is another text", Why: "it matches the same"})
	}
	c.residue(field, capability, p, q)
}

// patterns compares denied words.
func (c *comparer) patterns(field, capability, program string, a, b []profiles.Pattern) {
	c.each(a, b, func(p, q *profiles.Pattern) {
		switch {
		case p != nil && q != nil:
			c.worded(field, capability+strings.Join(q.Words, " "), p, q)
		case q != nil:
			words := strings.Join(q.Words, " ")
			ch := Change{Kind: Added, Class: Narrows, Capability: capability + words, Field: field, New: words, NewRule: &q.Rule, Says: program + words + " is now denied"}
			if len(q.Words) == 0 && program == "" || within(q.Words, a) {
				ch.Class, ch.Says, ch.Why = Neutral, moot(ch.Says), "another entry denied it"
			}
			c.add(ch)
		default:
			words := strings.Join(p.Words, " ")
			ch := Change{Kind: Removed, Capability: capability + words, Field: field, Old: words, OldRule: &p.Rule, Says: program + words + " is no longer denied"}
			if len(p.Words) == 0 && program == "" || within(p.Words, b) {
				ch.Class, ch.Says, ch.Why = Neutral, moot(ch.Says), "another entry denies it"
			}
			c.add(ch)
		}
	})
}

func (c *comparer) helpers(program string, a, b []profiles.PathRule) {
	old, now := rulesByPath(a), rulesByPath(b)
	for _, p := range both(old, now) {
		x, y := old[p], now[p]
		switch {
		case x == nil:
			c.add(Change{Kind: Added, Capability: "exec:" + program + " " + p, Field: "shell.binaries.helpers", New: p, NewRule: &y.Rule, Says: program + " may now start " + p})
		case y == nil:
			c.add(Change{Kind: Removed, Class: Narrows, Capability: "exec:" + program + " " + p, Field: "shell.binaries.helpers", Old: p, OldRule: &x.Rule, Says: program + " may no longer start " + p})
		default:
			c.same("shell.binaries.helpers", "exec:"+program, x, y)
		}
	}
}
