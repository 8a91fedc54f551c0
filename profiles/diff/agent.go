package diff

import (
	"slices"

	"github.com/ringd/ringd/profiles"
)

// whole compares two agents of one name.
func (c *comparer) whole(a, b *profiles.Agent) {
	if a.Name != b.Name || a.Policy != b.Policy {
		c.add(Change{Kind: Changed, Class: Neutral, Capability: "policy", Field: "policy", Old: a.Policy, New: b.Policy,
			OldRule: &a.Rule, NewRule: &b.Rule, Says: "the policy is called " + b.Policy + " now", Why: "a name grants nothing"})
	}
	c.mode(a, b)
	c.exceptions(a, b)
	c.ruleOfTwo(a, b)
	c.guardrails(a, b)
	c.layers(a, b)
	c.powers("inputs", "inputs", "the inputs of a run", a.Inputs, b.Inputs, orRule(&a.InputsRule, &a.Rule), orRule(&b.InputsRule, &b.Rule))
	c.tier(a, b)
	c.javascript(a, b)
	c.python(a, b)
	c.shell(a, b)
	c.bridges(a, b)
	c.files(a, b)
	c.egress(a, b)
	c.together(a, b)
	c.audited("audit", "audit", "the agent", a.Audit, b.Audit, &a.Rule, &b.Rule)
	c.sessions(a, b)
	c.deadline(a, b)
	c.strict(a, b)
	c.residue("", "agent:"+c.agent, a, b)
}

// strict compares what mode audit records as refused. Where only one side has it, the
// change of the mode tells so.
func (c *comparer) strict(a, b *profiles.Agent) {
	x, y := a.Strict, b.Strict
	switch {
	case x == nil && y == nil:
	case c.inner || (x == nil) != (y == nil) && a.Mode == b.Mode:
		c.add(Change{Kind: Changed, Undecided: true, Capability: "mode", Field: "strict", OldRule: &a.ModeRule, NewRule: &b.ModeRule,
			Says: "what is recorded as refused is another thing", Why: "only one of the two says what that is"})
	case x != nil && y != nil:
		in := &comparer{now: c.now, agent: c.agent, inner: true}
		in.whole(x, y)
		for _, ch := range in.out {
			if !slices.ContainsFunc(c.out, func(o Change) bool {
				return o.Capability == ch.Capability && o.Field == ch.Field && o.Class == ch.Class
			}) {
				ch.Field, ch.Says = "strict."+ch.Field, "recorded as refused: "+ch.Says
				c.add(ch)
			}
		}
	}
}

// tiers, from weak to strong.
func tierRank(t profiles.Tier) int {
	return slices.Index([]profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS, profiles.TierContainer, profiles.TierMicroVM, profiles.TierRemote}, t)
}

func (c *comparer) tier(a, b *profiles.Agent) {
	if a.MinTier == b.MinTier {
		return
	}
	ch := Change{Kind: Changed, Capability: "minTier", Field: "minTier", Old: string(a.MinTier), New: string(b.MinTier),
		OldRule: orRule(&a.MinTierRule, &a.Rule), NewRule: orRule(&b.MinTierRule, &b.Rule),
		Says: "the least isolation is " + string(b.MinTier) + " now, and was " + string(a.MinTier)}
	was, is := tierRank(a.MinTier), tierRank(b.MinTier)
	switch {
	case was < 0 || is < 0:
		ch.Undecided, ch.Why = true, "one of the tiers is not known"
	case is > was:
		ch.Class, ch.Why = Narrows, "a weaker guest is refused"
	default:
		ch.Why = "a weaker guest is enough"
	}
	c.add(ch)
}

func orRule(r, other *profiles.Rule) *profiles.Rule {
	if *r == (profiles.Rule{}) {
		return other
	}
	return r
}

// audited compares how much is recorded.
func (c *comparer) audited(field, capability, of, a, b string, old, now *profiles.Rule) {
	rank := func(s string) int { return slices.Index([]string{"", "metadata", "full", "strict"}, s) }
	was, is := max(rank(a), 1), max(rank(b), 1) // "" is the default, which "metadata" is too
	if a == b || was == is && rank(a) >= 0 && rank(b) >= 0 {
		return
	}
	ch := Change{Kind: Changed, Class: Neutral, Capability: capability, Field: field, Old: fallback(a, "default"), New: fallback(b, "default"), OldRule: old, NewRule: now,
		Says: "the records of " + of + " are " + fallback(b, "the default") + " now", Why: "more is recorded, and nothing else changes"}
	switch {
	case rank(a) < 0 || rank(b) < 0:
		ch.Undecided, ch.Why = true, "how much that records is not known"
	case is < was:
		ch.Class, ch.Why = Widens, "less is on record of what it does"
	case b == "strict":
		ch.Class, ch.Why = Narrows, "nothing happens before its record is safe on the disk"
	}
	c.add(ch)
}

func (c *comparer) sessions(a, b *profiles.Agent) {
	s, t := a.Sessions, b.Sessions
	const capability, field = "session", "sessions"
	switch {
	case s == nil && t == nil:
	case s == nil:
		c.add(Change{Kind: Added, Capability: capability, Field: field, New: Duration(t.AgeMillis) + ", " + size(t.Bytes), NewRule: &t.Rule,
			Says: "runs may now leave their state to later runs"})
	case t == nil:
		c.add(Change{Kind: Removed, Class: Narrows, Capability: capability, Field: field, Old: Duration(s.AgeMillis) + ", " + size(s.Bytes), OldRule: &s.Rule,
			Says: "runs may no longer leave their state to later runs"})
	default:
		c.number(field+".ageMillis", capability, "age of kept state", millis, s.AgeMillis, t.AgeMillis, &s.Rule, &t.Rule)
		c.number(field+".bytes", capability, "size of kept state", octets, s.Bytes, t.Bytes, &s.Rule, &t.Rule)
		c.residue(field, capability, s, t)
	}
}

func (c *comparer) deadline(a, b *profiles.Agent) {
	if Same(a.Deadline, b.Deadline) {
		return
	}
	ch := Change{Kind: Changed, Class: Narrows, Capability: "deadline", Field: "deadline", Old: expiry(a.Deadline), New: expiry(b.Deadline),
		OldRule: &a.Rule, NewRule: &b.Rule, Says: "every run ends earlier"}
	if outlasts(b.Deadline, a.Deadline) {
		ch.Class, ch.Says = Widens, "every run may go on for longer"
	}
	c.add(ch)
}

// number compares a limit: a higher one widens.
func (c *comparer) number(field, capability, what string, u unit, a, b int64, old, now *profiles.Rule) {
	if a == b || c.fresh {
		return
	}
	ch := Change{Kind: Changed, Capability: capability, Field: field, Old: u.text(a), New: u.text(b), OldRule: old, NewRule: now,
		Says: what + " is raised from " + u.text(a) + " to " + u.text(b)}
	if b < a {
		ch.Class, ch.Says = Narrows, what+" is lowered from "+u.text(a)+" to "+u.text(b)
	}
	c.add(ch)
}

// bounded is number for a limit of which 0 is none.
func (c *comparer) bounded(field, capability, what string, u unit, a, b int64, old, now *profiles.Rule) {
	if a == b || c.fresh {
		return
	}
	switch {
	case a == 0:
		c.add(Change{Kind: Added, Class: Narrows, Capability: capability, Field: field, New: u.text(b), OldRule: old, NewRule: now,
			Says: what + " is limited to " + u.text(b)})
	case b == 0:
		c.add(Change{Kind: Removed, Capability: capability, Field: field, Old: u.text(a), OldRule: old, NewRule: now,
			Says: what + " has no limit any more; it was " + u.text(a)})
	default:
		c.number(field, capability, what, u, a, b, old, now)
	}
}

// together compares the limits over all executors. One that is, on both sides, just the
// highest of the executors' says nothing more than the changes of these.
func (c *comparer) together(a, b *profiles.Agent) {
	x, y := a.Limits, b.Limits
	for i, over := range each(&x) {
		under := each(&y)[i]
		if most(a, i) == value(*over) && most(b, i) == value(*under) && value(*over) >= 0 {
			*over, *under = nil, nil
		}
	}
	c.limits("limits", "all executors together", x, y, &a.Rule, &b.Rule)
}

// each lists the limits of an executor.
func each(l *profiles.Limits) []**int64 {
	return []**int64{&l.CPUMillis, &l.MemoryBytes, &l.WallMillis, &l.OutputBytes, &l.ResultBytes, &l.StackBytes, &l.Processes, &l.Files, &l.RefusedCalls, &l.PauseMillis}
}

// most is the highest of the executors' values of a limit; -1: none has one.
func most(a *profiles.Agent, i int) int64 {
	out := int64(-1)
	if a.JS != nil {
		out = max(out, value(*each(&a.JS.Limits)[i]))
	}
	if a.Python != nil {
		out = max(out, value(*each(&a.Python.Limits)[i]))
	}
	if a.Shell != nil {
		out = max(out, value(*each(&a.Shell.Limits)[i]))
	}
	return out
}

func value(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// limitField is one field of profiles.Limits.
type limitField struct {
	name, what string
	unit       unit
	a, b       *int64
}

func (c *comparer) limits(field, of string, a, b profiles.Limits, old, now *profiles.Rule) {
	if c.fresh {
		return
	}
	for _, l := range []limitField{
		{"cpuMillis", "processor time", millis, a.CPUMillis, b.CPUMillis},
		{"memoryBytes", "memory", octets, a.MemoryBytes, b.MemoryBytes},
		{"wallMillis", "time on the clock", millis, a.WallMillis, b.WallMillis},
		{"outputBytes", "output", octets, a.OutputBytes, b.OutputBytes},
		{"resultBytes", "size of the result", octets, a.ResultBytes, b.ResultBytes},
		{"stackBytes", "stack", octets, a.StackBytes, b.StackBytes},
		{"processes", "number of processes", plain, a.Processes, b.Processes},
		{"files", "number of open files", plain, a.Files, b.Files},
		{"refusedCalls", "number of refused calls", plain, a.RefusedCalls, b.RefusedCalls},
		{"pauseMillis", "time that a pause waits", millis, a.PauseMillis, b.PauseMillis},
	} {
		what, capability := l.what+" of "+of, "limit:"+l.name
		switch {
		case l.a != nil && l.b != nil:
			c.number(field+"."+l.name, capability, what, l.unit, *l.a, *l.b, old, now)
		case l.a == nil && l.b != nil:
			c.add(Change{Kind: Added, Undecided: true, Capability: capability, Field: field + "." + l.name, New: l.unit.text(*l.b), OldRule: old, NewRule: now,
				Says: what + " is " + l.unit.text(*l.b) + " now", Why: "what it was before is not in the set"})
		case l.a != nil:
			c.add(Change{Kind: Removed, Undecided: true, Capability: capability, Field: field + "." + l.name, Old: l.unit.text(*l.a), OldRule: old, NewRule: now,
				Says: what + " is not in the set any more", Why: "what it is now is not in the set"})
		}
	}
	c.residue(field, "limits", &a, &b)
}

// flag compares a switch that gives something when it is on.
func (c *comparer) flag(field, capability, gives string, a, b bool, old, now *profiles.Rule) {
	if a == b {
		return
	}
	ch := Change{Kind: Added, Capability: capability, Field: field, Old: onOff(a), New: onOff(b), OldRule: old, NewRule: now, Says: gives + " is now granted"}
	if a {
		ch.Kind, ch.Class, ch.Says = Removed, Narrows, gives+" is no longer granted"
	}
	c.add(ch)
}

// executor tells of an executor that comes or goes; true: both have it.
func (c *comparer) executor(name string, was, is bool, old, now *profiles.Rule) bool {
	switch {
	case was && is:
		return true
	case is:
		c.add(Change{Kind: Added, Capability: "executor:" + name, Field: name, NewRule: now, New: "granted", Says: "may now run " + language(name)})
	case was:
		c.add(Change{Kind: Removed, Class: Narrows, Capability: "executor:" + name, Field: name, OldRule: old, Old: "granted", Says: "may no longer run " + language(name)})
	}
	return false
}

func language(executor string) string {
	switch executor {
	case profiles.ExecutorJS:
		return "JavaScript"
	case profiles.ExecutorPython:
		return "Python"
	case profiles.ExecutorShell:
		return "shell scripts"
	default:
		return executor
	}
}

func (c *comparer) javascript(a, b *profiles.Agent) {
	var x, y profiles.JS
	was, is := a.JS != nil, b.JS != nil
	if was {
		x = *a.JS
	}
	if is {
		y = *b.JS
	}
	kept := c.executor(profiles.ExecutorJS, was, is, &x.Rule, &y.Rule)
	c.imports(profiles.ExecutorJS, was, is, &x.Imports, &y.Imports)
	if !kept {
		return
	}
	c.denials("js.denyGlobals", "global:", "the global ", x.DenyGlobals, y.DenyGlobals)
	c.limits("js.limits", "JavaScript", x.Limits, y.Limits, &x.Rule, &y.Rule)
	c.residue("js", "executor:js", &x, &y)
}

func (c *comparer) python(a, b *profiles.Agent) {
	var x, y profiles.Python
	was, is := a.Python != nil, b.Python != nil
	if was {
		x = *a.Python
	}
	if is {
		y = *b.Python
	}
	kept := c.executor(profiles.ExecutorPython, was, is, &x.Rule, &y.Rule)
	c.imports(profiles.ExecutorPython, was, is, &x.Imports, &y.Imports)
	if was || is {
		c.flag("python.jit", "jit:python", "memory that becomes executable, in Python,", x.JIT && was, y.JIT && is, &x.Rule, &y.Rule)
		c.environments(x.Environments, y.Environments)
	}
	if !kept {
		return
	}
	c.engine(&x, &y)
	c.denials("python.denyBuiltins", "builtin:", "the builtin ", x.DenyBuiltins, y.DenyBuiltins)
	c.limits("python.limits", "Python", x.Limits, y.Limits, &x.Rule, &y.Rule)
	if x.EndOnDenied != y.EndOnDenied {
		ch := Change{Kind: Changed, Capability: "executor:python", Field: "python.endOnDenied", Old: onOff(x.EndOnDenied), New: onOff(y.EndOnDenied), OldRule: &x.Rule, NewRule: &y.Rule,
			Says: "a session that has loaded what is denied now goes on"}
		if y.EndOnDenied {
			ch.Class, ch.Says = Narrows, "a session that has loaded what is denied now is ended"
		}
		c.add(ch)
	}
	c.residue("python", "executor:python", &x, &y)
}

func (c *comparer) engine(x, y *profiles.Python) {
	if x.Engine == y.Engine {
		return
	}
	ch := Change{Kind: Changed, Capability: "engine:python", Field: "python.engine", Old: fallback(x.Engine, "native"), New: fallback(y.Engine, "native"),
		OldRule: orRule(&x.EngineRule, &x.Rule), NewRule: orRule(&y.EngineRule, &y.Rule), Says: "Python runs on the engine " + fallback(y.Engine, "native") + " now"}
	switch {
	case x.Engine == profiles.PythonNative && y.Engine == profiles.PythonWasm:
		ch.Class, ch.Why = Narrows, "in WebAssembly there is the standard library alone, and no program of the host"
	case x.Engine == profiles.PythonWasm && y.Engine == profiles.PythonNative:
		ch.Why = "the host's interpreter loads native packages and uses the host's kernel"
	default:
		ch.Undecided, ch.Why = true, "one of the engines is not known"
	}
	c.add(ch)
}

func (c *comparer) environments(a, b []profiles.PythonEnvironment) {
	old, now := map[string]*profiles.PythonEnvironment{}, map[string]*profiles.PythonEnvironment{}
	for i := range a {
		old[a[i].Path] = &a[i]
	}
	for i := range b {
		now[b[i].Path] = &b[i]
	}
	for _, path := range both(old, now) {
		x, y := old[path], now[path]
		ch := Change{Capability: "environment:" + path, Field: "python.environments"}
		switch {
		case x == nil:
			ch.Kind, ch.New, ch.NewRule, ch.Says = Added, fallback(y.Digest, "whatever is there"), &y.Rule, "may use the packages in "+path
		case y == nil:
			ch.Kind, ch.Class, ch.Old, ch.OldRule, ch.Says = Removed, Narrows, fallback(x.Digest, "whatever is there"), &x.Rule, "may no longer use the packages in "+path
		case x.Digest == y.Digest:
			c.residue("python.environments", ch.Capability, x, y)
			continue
		default:
			ch.Kind, ch.Old, ch.New, ch.OldRule, ch.NewRule = Changed, fallback(x.Digest, "whatever is there"), fallback(y.Digest, "whatever is there"), &x.Rule, &y.Rule
			ch.Says = "the packages in " + path + " have to be others"
			switch {
			case x.Digest == "":
				ch.Class, ch.Says = Narrows, "the packages in "+path+" are pinned"
			case y.Digest == "":
				ch.Says = "the packages in " + path + " are no longer pinned"
			default:
				ch.Undecided, ch.Why = true, "what the other packages do is not known"
			}
		}
		c.add(ch)
	}
}

// denials compares lists of names that are taken away.
func (c *comparer) denials(field, capability, what string, a, b []profiles.ImportRule) {
	old, now := rulesByName(a), rulesByName(b)
	for _, name := range both(old, now) {
		x, y := old[name], now[name]
		switch {
		case x == nil:
			c.add(Change{Kind: Added, Class: Narrows, Capability: capability + name, Field: field, New: "denied", NewRule: &y.Rule, Says: what + name + " is now denied"})
		case y == nil:
			c.add(Change{Kind: Removed, Capability: capability + name, Field: field, Old: "denied", OldRule: &x.Rule, Says: what + name + " is no longer denied"})
		default:
			if x.Exception != y.Exception || !Same(x.Expires, y.Expires) {
				c.add(Change{Kind: Changed, Undecided: true, Capability: capability + name, Field: field, Old: entry(x), New: entry(y), OldRule: &x.Rule, NewRule: &y.Rule,
					Says: what + name + " is denied in another way", Why: "a denial has no exception and no end"})
			}
			c.residue(field, capability+name, x, y)
		}
	}
}
