package diff

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

// comparer collects the changes of one agent, or of what belongs to none.
type comparer struct {
	now   time.Time
	rows  map[string][]row
	hooks map[string]hook

	name     string // of the agent
	old, new *profiles.Agent
	// fresh says that there was no such agent: what would bound it takes nothing away.
	fresh bool
	inner bool // it compares what mode audit records, and holds no such thing itself
	out   []Change
}

// spot is one field on both sides, or one part that has fields of its own.
type spot struct {
	row               row
	field, capability string
	subject           string         // what sentences call the part
	old, now          *profiles.Rule // where it stands
	single            bool           // only one side has the part: what bounds it takes nothing away
}

// hook compares a field or a type by code of its own.
type hook func(c *comparer, s spot, a, b reflect.Value)

// of makes a hook of a comparison of two values.
func of[T any](compare func(*comparer, spot, T, T)) hook {
	return func(c *comparer, s spot, a, b reflect.Value) { compare(c, s, a.Interface().(T), b.Interface().(T)) }
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
	t := a.Type()
	for _, r := range c.rows[t.Name()] {
		if r.order == key || r.order == place || s.single && r.order != opens {
			continue
		}
		name := r.field[len(t.Name())+1:]
		c.value(s.enter(r, a, b), a.FieldByName(name), b.FieldByName(name))
	}
	c.residue(s, a, b)
}

// enter gives the spot of one field of a part.
func (s spot) enter(r row, a, b reflect.Value) spot {
	_, name, _ := strings.Cut(r.field, ".")
	f, _ := a.Type().FieldByName(name)
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	s.row, s.field = r, strings.TrimPrefix(s.field+"."+tag, ".")
	if r.about != "" && !strings.Contains(r.about, "%s") {
		s.capability = r.about
	}
	s.old, s.now = ruleOf(a, name+"Rule", s.old), ruleOf(b, name+"Rule", s.now)
	return s
}

// part is a spot beside this one; its sentences use the subject alone.
func (s spot) part(field, capability string) spot {
	s.field, s.capability, s.row = field, capability, row{says: "%s"}
	return s
}

// ruleOf is where a part stands: its own rule, if it is there and names a place.
func ruleOf(v reflect.Value, field string, outer *profiles.Rule) *profiles.Rule {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return outer
	}
	if f := v.FieldByName(field); f.IsValid() {
		if r := f.Interface().(profiles.Rule); r != (profiles.Rule{}) {
			return &r
		}
	}
	return outer
}

// value compares one field by its row.
func (c *comparer) value(s spot, a, b reflect.Value) {
	t := a.Type()
	if compare := c.hook(s.row.field, t); compare != nil {
		compare(c, s, a, b)
		return
	}
	switch kind := t.Kind(); {
	case s.row.order == own: // compared together with other fields
	case kind == reflect.Struct:
		if s.row.says != "" {
			s.subject = s.row.says
		}
		s.old, s.now = ruleOf(a, "Rule", s.old), ruleOf(b, "Rule", s.now)
		c.walk(s, a, b)
	case kind == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		c.optional(s, a, b)
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		c.entries(s, a, b)
	default:
		comparisons()[s.row.order](c, s, a, b)
	}
}

// hook finds the code that a field has, or else its type.
func (c *comparer) hook(field string, t reflect.Type) hook {
	if h := c.hooks[field]; h != nil {
		return h
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return c.hooks[t.Name()]
}

// comparisons compare values that have no parts.
func comparisons() map[order]hook {
	return map[order]hook{
		atMost: (*comparer).number, orNone: (*comparer).number, opens: (*comparer).given, restrains: (*comparer).given,
		subset: of((*comparer).only), ranked: of((*comparer).ranked), free: of((*comparer).free), remark: of((*comparer).remark),
	}
}

// residue has each field that differs and has no row widen.
func (c *comparer) residue(s spot, a, b reflect.Value) {
	for _, name := range unknownFields(a.Type(), c.rows) {
		if reflect.DeepEqual(a.FieldByName(name).Interface(), b.FieldByName(name).Interface()) {
			continue
		}
		at := strings.TrimPrefix(s.field+"."+name, ".")
		c.add(Change{Kind: Changed, Undecided: true, Capability: s.capability, Field: at, Says: at + " changed",
			Why: "this ringd has no rule for the field, so it counts as widening"})
	}
}

// unknownFields lists the fields of a type that have no row.
func unknownFields(t reflect.Type, rows map[string][]row) (out []string) {
	for i := range t.NumField() {
		name := t.Field(i).Name
		if !slices.ContainsFunc(rows[t.Name()], func(r row) bool { return r.field == t.Name()+"."+name }) {
			out = append(out, name)
		}
	}
	return out
}

// add records a change, with the layer that it comes from.
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

// known copies a rule, and drops one that names no place.
func known(r *profiles.Rule) *profiles.Rule {
	if r == nil || *r == (profiles.Rule{}) {
		return nil
	}
	out := *r
	return &out
}

// ended reports whether a grant with this expiry has ended.
func (c *comparer) ended(expires *time.Time) bool {
	return expires != nil && !c.now.IsZero() && !c.now.Before(*expires)
}

// changed, added and removed begin a change; the class is still Widens.
func (s spot) changed(old, now string) Change {
	return Change{Kind: Changed, Capability: s.capability, Field: s.field, Old: old, New: now, OldRule: s.old, NewRule: s.now}
}

func (s spot) added(now string) Change {
	return Change{Kind: Added, Capability: s.capability, Field: s.field, New: now, NewRule: s.now}
}

func (s spot) removed(old string) Change {
	return Change{Kind: Removed, Capability: s.capability, Field: s.field, Old: old, OldRule: s.old}
}

func (ch Change) as(class Class, says, why string) Change {
	ch.Class, ch.Says, ch.Why = class, says, why
	return ch
}

func (ch Change) undecided(says, why string) Change {
	ch.Undecided = true
	return ch.as(Widens, says, why)
}

// says fills the sentence of the row, its first alternative or the one of an index.
func (s spot) says(i int, args ...any) string {
	text := strings.Split(s.row.says, "|")
	args = append([]any{s.subject}, args...)
	if n := strings.Count(text[i], "%s"); n > 0 {
		args = args[:n]
	}
	if !strings.Contains(text[i], "%") {
		return text[i]
	}
	return fmt.Sprintf(text[i], args...)
}
