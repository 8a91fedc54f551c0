package diff

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/fields"
)

// comparer collects the changes of one agent, or of the set itself.
type comparer struct {
	now   time.Time
	rows  map[string][]fields.SetField // by type
	hooks map[string]hook              // by field or type

	name     string // of the agent
	old, new *profiles.Agent
	// fresh is true for a new agent. The restrictions of a new agent take nothing away.
	fresh bool
	inner bool // compares the profiles for mode enforce of agents in mode audit
	out   []Change
}

// hook compares a field or a type by its own code.
type hook func(c *comparer, s spot, a, b reflect.Value)

// of makes a hook from a typed comparison.
func of[T any](compare func(*comparer, spot, T, T)) hook {
	return func(c *comparer, s spot, a, b reflect.Value) { compare(c, s, a.Interface().(T), b.Interface().(T)) }
}

func newComparer(now time.Time, table []fields.SetField) *comparer {
	c := &comparer{now: now, rows: map[string][]fields.SetField{}, hooks: hooks()}
	for _, r := range table {
		of, _, _ := strings.Cut(r.Field, ".")
		c.rows[of] = append(c.rows[of], r)
	}
	return c
}

// within returns a new comparer for two agents.
func (c *comparer) within(a, b *profiles.Agent) *comparer {
	return &comparer{now: c.now, rows: c.rows, hooks: c.hooks, name: c.name, old: a, new: b}
}

// agent compares the two agents.
func (c *comparer) agent() {
	s := spot{capability: "agent:" + c.name, old: &c.old.Rule, now: &c.new.Rule}
	c.walk(s, reflect.ValueOf(*c.old), reflect.ValueOf(*c.new))
}

// walk compares two structs of one type.
func (c *comparer) walk(s spot, a, b reflect.Value) {
	if compare := c.hooks[a.Type().Name()]; compare != nil {
		compare(c, s, a, b)
		c.residue(s, a, b)
		return
	}
	c.fields(s, a, b)
}

// fields compares two structs of one type field by field.
func (c *comparer) fields(s spot, a, b reflect.Value) {
	for _, r := range c.rows[a.Type().Name()] {
		if r.Order == fields.Key || r.Order == fields.Place || s.single && r.Order != fields.Opens {
			continue
		}
		at := s.enter(r, a, b)
		c.value(at, a.FieldByName(at.name()), b.FieldByName(at.name()))
	}
	c.residue(s, a, b)
}

// value compares one field by its row.
func (c *comparer) value(s spot, a, b reflect.Value) {
	t := a.Type()
	compare := c.hooks[s.row.Field]
	if compare == nil && t.Kind() == reflect.Pointer {
		compare = c.hooks[t.Elem().Name()]
	} else if compare == nil {
		compare = c.hooks[t.Name()]
	}
	switch kind := t.Kind(); {
	case compare != nil:
		compare(c, s, a, b)
	case s.row.Order == fields.Coded: // compared together with another field
	case kind == reflect.Struct:
		if s.row.Says != "" {
			s.subject = s.row.Says
		}
		s.old, s.now = ruleOf(a, "Rule", s.old), ruleOf(b, "Rule", s.now)
		c.walk(s, a, b)
	case kind == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		c.optional(s, a, b)
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		c.entries(s, a, b)
	default:
		c.leaf(s, a, b)
	}
}

// optional compares a part that may be absent. If the part grants something, an absent part is compared as an
// empty one.
func (c *comparer) optional(s spot, a, b reflect.Value) {
	if a.IsNil() && b.IsNil() {
		return
	}
	s.single = a.IsNil() || b.IsNil()
	s.old, s.now = ruleOf(a, "Rule", nil), ruleOf(b, "Rule", nil)
	empty := reflect.New(a.Type().Elem())
	if a.IsNil() {
		c.came(s, "", b.Elem())
		a = empty
	} else if b.IsNil() {
		c.went(s, "", a.Elem())
		b = empty
	}
	if s.gives() || !s.single {
		c.walk(s, a.Elem(), b.Elem())
	}
}

// entries compares lists of named entries. If a list has several entries with one name, the first one is
// used.
func (c *comparer) entries(s spot, a, b reflect.Value) {
	old, now := c.named(s, a), c.named(s, b)
	for _, name := range both(old, now) {
		x, had := old[name]
		y, has := now[name]
		at := s.entry(name, x, y)
		switch {
		case had && has:
			at.subject = name
			c.walk(at, x, y)
		case has:
			c.came(at, name, y)
		default:
			c.went(at, name, x)
		}
	}
}

// named indexes entries by the fields that identify them. Expired grants are left out.
func (c *comparer) named(s spot, list reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for i := range list.Len() {
		e := list.Index(list.Len() - 1 - i) // in reverse, so that the first entry of a name is kept
		if f := e.FieldByName("Expires"); s.gives() && f.IsValid() && c.ended(f.Interface().(*time.Time)) {
			continue
		}
		for _, r := range c.rows[e.Type().Name()] {
			if r.Order == fields.Key {
				out[e.FieldByName(spot{row: r}.name()).String()] = e
			}
		}
	}
	return out
}

// came and went report a part or an entry that only one side has.
func (c *comparer) came(s spot, name string, v reflect.Value) {
	if s.gives() || !c.fresh {
		c.add(s.added(show(v)).as(grants(s.gives()), s.sentence(true, name), ""))
	}
}

func (c *comparer) went(s spot, name string, v reflect.Value) {
	c.add(s.removed(show(v)).as(grants(!s.gives()), s.sentence(false, name), ""))
}

func grants(gives bool) Class {
	if gives {
		return Widens
	}
	return Narrows
}

// residue reports every changed field without a row as widening.
func (c *comparer) residue(s spot, a, b reflect.Value) {
	for _, name := range c.unknownFields(a.Type()) {
		if reflect.DeepEqual(a.FieldByName(name).Interface(), b.FieldByName(name).Interface()) {
			continue
		}
		at := strings.TrimPrefix(s.field+"."+name, ".")
		c.add(Change{Kind: Changed, Undecided: true, Capability: s.capability, Field: at, Says: at + " changed",
			Why: "this ringd has no rule for the field, so it counts as widening"})
	}
}

// unknownFields lists the fields of a type that have no row.
func (c *comparer) unknownFields(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		name := t.Field(i).Name
		has := func(r fields.SetField) bool { return r.Field == t.Name()+"."+name }
		if !slices.ContainsFunc(c.rows[t.Name()], has) {
			out = append(out, name)
		}
	}
	return out
}

// add records a change, with the layer from which the changed value comes.
func (c *comparer) add(ch Change) {
	ch.Agent = c.name
	ch.OldRule, ch.NewRule = known(ch.OldRule), known(ch.NewRule)
	for _, r := range []*profiles.Rule{ch.NewRule, ch.OldRule} {
		if ch.Layer == "" && r != nil {
			ch.Layer = r.Layer
			break
		}
	}
	if ch.Undecided {
		ch.Class = Widens
	}
	c.out = append(c.out, ch)
}

// known returns a copy of a rule, or nil if it has no position.
func known(r *profiles.Rule) *profiles.Rule {
	if r == nil || *r == (profiles.Rule{}) {
		return nil
	}
	out := *r
	return &out
}

// ended reports whether a grant with this expiry has expired.
func (c *comparer) ended(expires *time.Time) bool {
	return expires != nil && !c.now.IsZero() && !c.now.Before(*expires)
}
