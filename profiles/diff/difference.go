// Package diff owns the comparison of two compiled sets: every change, agent by agent and field by field, with the
// class that a reviewer or a gate needs. It walks the types of package profiles in the order of fields.SetTable. It
// compares grants, not text: the order of a list, or the split of a grant into entries, makes no difference.
//
// It refuses to guess. A change that it cannot decide widens and is marked as undecided, and so is a change of a field
// that has no row. The callers are ringd diff, the signing of a policy and the comparison of ceilings.
package diff

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/fields"
)

// Class is the effect of a change on what an agent may do. The zero Class widens.
type Class uint8

// The classes. A change widens unless it is proven to have another class.
const (
	Widens   Class = iota // more is allowed, or less is approved or recorded
	Narrows               // less is allowed, and nothing more
	Neutral               // nothing more and nothing less is allowed
	Headroom              // no agent is allowed more yet, but a layer above lets agents request more
)

func classNames() []string { return []string{"widens", "narrows", "neutral", "headroom"} }

// String returns "widens", "narrows", "neutral" or "headroom". Every unknown value is "widens".
func (c Class) String() string {
	if names := classNames(); int(c) < len(names) {
		return names[c]
	}
	return "widens"
}

// MarshalText encodes the class like [Class.String].
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the inverse of MarshalText. Other texts are an error and leave Widens.
func (c *Class) UnmarshalText(b []byte) error {
	i := slices.Index(classNames(), string(b))
	*c = Class(max(i, 0))
	if i < 0 {
		return fmt.Errorf("class %q: want widens, headroom, narrows or neutral", b)
	}
	return nil
}

// Kind is the kind of a change.
type Kind string

// The kinds.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Change is one difference.
type Change struct {
	Agent string `json:"agent"` // empty: the whole set
	Kind  Kind   `json:"kind"`
	Class Class  `json:"class"`
	// Capability is the subject: import:pandas, egress:api.example.com, bridge:search, exec:/usr/bin/git,
	// file.read:/data, limit:wall, mode.
	Capability string `json:"capability"`
	Field      string `json:"field"` // field of the compiled set: python.imports.allow
	Old        string `json:"old,omitempty"`
	New        string `json:"new,omitempty"`
	Says       string `json:"says"` // a sentence for people, without a full stop
	Why        string `json:"why,omitempty"`
	// Undecided is true if the change is only treated as widening because nothing proves that it does not
	// widen.
	Undecided bool `json:"undecided,omitempty"`
	// Layer is the layer above the agent from which the value comes. It is empty for a value of the agent's own
	// document.
	Layer     string         `json:"layer,omitempty"`
	Exception string         `json:"exception,omitempty"` // the ID of the granting exception
	OldRule   *profiles.Rule `json:"oldRule,omitempty"`
	NewRule   *profiles.Rule `json:"newRule,omitempty"`
}

// Agent is the comparison of one agent.
type Agent struct {
	Name    string   `json:"name"`
	State   string   `json:"state"` // added, removed, changed, same
	Class   Class    `json:"class"` // of all changes, see ClassOf
	Changes []Change `json:"changes"`
}

// Report has all changes between two sets. The agents are sorted by name. For each agent, the widening changes
// come first.
type Report struct {
	Old    string         `json:"old"` // revisions
	New    string         `json:"new"`
	Class  Class          `json:"class"`
	Counts map[string]int `json:"counts"` // number of changes by class
	Agents []Agent        `json:"agents"`
}

// Config is the configuration of a comparison.
type Config struct {
	// Now is the time of the comparison: grants that have expired at Now are left out. If Now is zero, nothing
	// has expired.
	Now time.Time
}

// Compare returns all changes from old to now. A nil set is treated as an empty one.
func Compare(old, now *profiles.Set, cfg Config) Report {
	return compare(cmp.Or(old, &profiles.Set{}), cmp.Or(now, &profiles.Set{}), newComparer(cfg.Now, fields.SetTable()))
}

func compare(old, now *profiles.Set, c *comparer) Report {
	r := Report{Old: old.Revision, New: now.Revision, Class: Neutral, Counts: map[string]int{}, Agents: []Agent{}}
	for _, name := range both(old.Agents, now.Agents) {
		r.add(c.pair(name, old, now))
	}
	c.walk(spot{capability: "set"}, reflect.ValueOf(*old), reflect.ValueOf(*now))
	c.shipped(old, now)
	if len(c.out) > 0 {
		r.add(Agent{State: string(Changed), Changes: c.out})
	}
	return r
}

func (r *Report) add(a Agent) {
	a.Class = ClassOf(a.Changes)
	if a.Changes == nil {
		a.Changes = []Change{}
	}
	r.Agents = append(r.Agents, a)
	for _, c := range a.Changes {
		r.Counts[c.Class.String()]++
	}
	r.Class = Worst(r.Class, a.Class)
}

// ClassOf returns the class of several changes together. Without changes it is neutral.
func ClassOf(changes []Change) Class {
	class := Neutral
	for _, c := range changes {
		class = Worst(class, c.Class)
	}
	return class
}

// Worst returns the worse of two classes. The order from worst to best is widens, headroom, narrows, neutral.
func Worst(a, b Class) Class {
	if b.rank() < a.rank() {
		a = b
	}
	if a.rank() == 0 {
		return Widens // also for an unknown class
	}
	return a
}

// rank orders classes for readers: wider ones first.
func (c Class) rank() int { return 1 + slices.Index([]Class{Headroom, Narrows, Neutral}, c) }

// Sort puts the changes that allow more first, and otherwise keeps the order.
func Sort(changes []Change) {
	slices.SortStableFunc(changes, func(x, y Change) int { return cmp.Compare(x.Class.rank(), y.Class.rank()) })
}

// pair compares the old and the new agent with one name.
func (c *comparer) pair(name string, old, now *profiles.Set) Agent {
	a, was := old.Agents[name]
	b, is := now.Agents[name]
	in := c.within(&a, &b)
	in.name = name
	out := Agent{Name: name, State: string(Changed)}
	s := spot{capability: "agent:" + name, field: "agents", old: &a.Rule, now: &b.Rule}
	switch {
	case !is:
		out.State = string(Removed)
		in.add(s.removed(summary(&a)).as(Narrows, "the agent was removed: it may do nothing any more", ""))
	case !was:
		out.State = string(Added)
		in.add(s.added(summary(&b)).as(Widens, "the agent is new: all that it may do is added",
			"an agent that was not there could do nothing"))
		in.fresh = true
		a = profiles.Agent{Name: b.Name, Policy: b.Policy, MinTier: b.MinTier, Audit: b.Audit, Limits: b.Limits,
			Inputs: b.Inputs, Egress: profiles.Egress{Mode: profiles.EgressOff}}
		in.agent()
	default:
		in.agent()
		in.modules(old, now)
	}
	Sort(in.out)
	if len(in.out) == 0 {
		out.State = "same"
	}
	out.Changes = in.out
	return out
}

// lifted returns the change for a removed denial that had no effect. If the denial came from a layer above, the
// agent may now request more, so the change is headroom.
func (ch Change) lifted() Change {
	if ch.OldRule == nil || ch.OldRule.Layer == "" {
		ch.Says = moot(ch.Says)
		return ch
	}
	return ch.as(Headroom, ch.Says, ch.OldRule.Layer+
		" allows the agent to ask for it now; the agent gains nothing yet")
}

// shipped reports added and removed modules of the set. If an agent that is in both sets may import such a
// module in both, the change is reported for that agent instead.
func (c *comparer) shipped(old, now *profiles.Set) {
	for _, name := range both(old.Modules, now.Modules) {
		x, was := old.Modules[name]
		y, is := now.Modules[name]
		if was == is || importedBy(old, now, name) {
			continue
		}
		s := spot{field: "modules", capability: "module:" + name, old: &x.Rule, now: &y.Rule}
		ch := s.added(y.Digest).as(Neutral, "the policy ships one more module: "+name, "")
		if was {
			ch = s.removed(x.Digest).as(Neutral, "the policy no longer ships the module "+name, "")
		}
		ch.Why = "a module gives nothing until an agent may import it"
		c.add(ch)
	}
}

// importedBy reports whether some agent is in both sets and may import a module in both.
func importedBy(old, now *profiles.Set, module string) bool {
	has := func(a profiles.Agent) bool {
		return a.JS != nil &&
			slices.ContainsFunc(a.JS.Imports.Allow, func(r profiles.ImportRule) bool { return r.Name == module })
	}
	for name, a := range old.Agents {
		if b, ok := now.Agents[name]; ok && has(a) && has(b) {
			return true
		}
	}
	return false
}

// modules reports changed modules to the agents that may import them.
func (c *comparer) modules(old, now *profiles.Set) {
	if c.old.JS == nil || c.new.JS == nil {
		return
	}
	for _, r := range c.new.JS.Imports.Allow {
		was, had := old.Modules[r.Name]
		is, has := now.Modules[r.Name]
		if !had || !has || was.Digest == is.Digest && was.File == is.File {
			continue
		}
		s := spot{field: "modules", capability: "import:" + r.Name, old: &was.Rule, now: &is.Rule}
		c.add(s.changed(short(was.Digest), short(is.Digest)).as(Neutral, "the module "+r.Name+" has another text",
			"a module can do no more than the program that imports it; read what it does now"))
	}
}

func short(digest string) string {
	if len(digest) > 19 {
		return digest[:19] + "…"
	}
	return digest
}

// both returns the keys of two maps, sorted.
func both[T any](a, b map[string]T) []string {
	keys := slices.Collect(maps.Keys(a))
	keys = append(keys, slices.Collect(maps.Keys(b))...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// summary describes an agent in one line.
func summary(a *profiles.Agent) string {
	var parts []string
	add := func(has bool, text string) {
		if has {
			parts = append(parts, text)
		}
	}
	files, hosts := len(a.Files.Read)+len(a.Files.Write), len(a.Egress.Allow)
	add(a.JS != nil, "js")
	add(a.Python != nil, "python")
	add(a.Shell != nil, "shell")
	add(len(a.Bridges) > 0, plural(len(a.Bridges), "bridge"))
	add(files > 0, plural(files, "file grant"))
	add(hosts > 0 && a.Egress.Mode == profiles.EgressAllowlist, plural(hosts, "host"))
	return listed(parts, "nothing")
}

func orRule(r, other *profiles.Rule) *profiles.Rule {
	if *r == (profiles.Rule{}) {
		return other
	}
	return r
}
