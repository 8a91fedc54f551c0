// Package headroom owns the comparison of ceilings between two revisions. A ceiling is an OrgPolicy or a
// TeamPolicy. Headroom is what the documents below the new ceiling may request, and could not request below
// the old one. A compiled set has only agents, so a raised ceiling that no agent uses yet is visible only
// here.
//
// Each field is compared by its merge rule in package layers. A change is headroom unless it is proven to
// narrow or to have no effect. The compile child process calls the package, and `ringd diff` shows the
// result.
package headroom

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// raised explains why headroom matters.
const raised = "documents below it may ask for more; this change alone gives no agent more"

// Ceilings returns the ceilings of a folder.
func Ceilings(policies []schema.Policy) []schema.Policy {
	return slices.DeleteFunc(slices.Clone(policies), func(p schema.Policy) bool { return !layers.IsCeiling(&p) })
}

// Compare returns the changes of each ceiling, the organisation's first. Other documents are ignored. The
// policies are not changed.
func Compare(old, now []schema.Policy) []diff.Agent {
	old, now = Ceilings(old), Ceilings(now)
	out := []diff.Agent{}
	taken := make([]bool, len(now))
	for i := range old {
		j := same(&old[i], now, taken)
		if j < 0 {
			out = append(out, gone(&old[i]))
			continue
		}
		taken[j] = true
		out = append(out, pair(&old[i], &now[j]))
	}
	for j := range now {
		if !taken[j] {
			out = append(out, came(&now[j]))
		}
	}
	slices.SortStableFunc(out, func(a, b diff.Agent) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// same finds the same ceiling in another revision: by kind and name, or else by kind and file. It returns -1
// if there is none.
func same(p *schema.Policy, list []schema.Policy, taken []bool) int {
	for _, is := range []func(q *schema.Policy) bool{
		func(q *schema.Policy) bool { return q.Metadata.Name == p.Metadata.Name },
		func(q *schema.Policy) bool { return q.File == p.File || p.Kind == layers.KindOrg },
	} {
		for j := range list {
			if !taken[j] && list[j].Kind == p.Kind && is(&list[j]) {
				return j
			}
		}
	}
	return -1
}

func gone(p *schema.Policy) diff.Agent {
	name := layers.LayerName(p.Kind, p.Metadata.Name)
	return entry(name, string(diff.Removed),
		[]diff.Change{{Kind: diff.Removed, Class: diff.Headroom, Capability: "ceiling",
			Field: "kind", Layer: name, OldRule: rule(p, "kind"),
			Says: name + " was removed, and bounds nothing any more",
			Why:  raised}})
}

func came(p *schema.Policy) diff.Agent {
	name := layers.LayerName(p.Kind, p.Metadata.Name)
	ch := diff.Change{Kind: diff.Added, Class: diff.Narrows, Capability: "ceiling", Field: "kind", Layer: name,
		NewRule: rule(p, "kind"), Says: name + " is new, and bounds the documents below it"}
	changes := []diff.Change{ch}
	if len(p.Spec.Exceptions) > 0 { // the only part of a ceiling that grants something
		c := newComparer(name, &schema.Policy{Kind: p.Kind}, p)
		c.field("Spec.Exceptions", reflect.ValueOf([]schema.Exception(nil)), reflect.ValueOf(p.Spec.Exceptions),
			"spec.exceptions", "spec.exceptions")
		changes = append(changes, c.out...)
	}
	return entry(name, string(diff.Added), changes)
}

func entry(name, state string, changes []diff.Change) diff.Agent {
	diff.Sort(changes)
	if changes == nil {
		changes, state = []diff.Change{}, "same"
	}
	return diff.Agent{Name: name, State: state, Class: diff.ClassOf(changes), Changes: changes}
}

func pair(old, now *schema.Policy) diff.Agent {
	name := layers.LayerName(now.Kind, now.Metadata.Name)
	c := newComparer(name, old, now)
	if old.Metadata.Name != now.Metadata.Name {
		c.tell(diff.Neutral, diff.Changed, "metadata.name", "metadata.name", old.Metadata.Name, now.Metadata.Name,
			"it was called "+old.Metadata.Name, "a name has no effect")
	}
	if old.Metadata.Parent != now.Metadata.Parent {
		c.undecided("metadata.parent", "metadata.parent", old.Metadata.Parent, now.Metadata.Parent,
			"its parent is another layer")
	}
	c.fields(reflect.ValueOf(old.Spec), reflect.ValueOf(now.Spec), "spec", "spec")
	return entry(name, string(diff.Changed), c.out)
}

// rule returns the position of a value.
func rule(p *schema.Policy, path string) *profiles.Rule {
	o := schema.OriginOf(p, path)
	return &profiles.Rule{File: o.Pos.File, Line: o.Pos.Line, Column: o.Pos.Column, Path: o.Path}
}

// comparer collects the changes of one ceiling. It has the current path in each of the two documents.
type comparer struct {
	name     string
	old, now *schema.Policy
	rules    map[string]fields.Field
	specials map[string]special
	out      []diff.Change
}

func newComparer(name string, old, now *schema.Policy) *comparer {
	return &comparer{name: name, old: old, now: now, rules: fields.ByPolicy(), specials: specials()}
}

func (c *comparer) tell(class diff.Class, kind diff.Kind, was, is, old, now, says, why string) {
	ch := diff.Change{Kind: kind, Class: class, Capability: "ceiling", Field: is, Layer: c.name, Old: clip(old),
		New:     clip(now),
		OldRule: rule(c.old, was), NewRule: rule(c.now, is), Says: says, Why: why}
	switch kind {
	case diff.Added:
		ch.OldRule = nil
	case diff.Removed:
		ch.Field, ch.NewRule = was, nil
	case diff.Changed:
	}
	c.out = append(c.out, ch)
}

// raise reports a changed value that bounds the documents below less than before. lower reports a value that
// bounds them more.
func (c *comparer) raise(kind diff.Kind, was, is, old, now, says string) {
	c.tell(diff.Headroom, kind, was, is, old, now, says, raised)
}

func (c *comparer) lower(kind diff.Kind, was, is, old, now, says string) {
	c.tell(diff.Narrows, kind, was, is, old, now, says, "")
}

// undecided reports a changed value that is not proven to bound as much as before.
func (c *comparer) undecided(was, is, old, now, says string) {
	c.tell(diff.Headroom, diff.Changed, was, is, old, now, is+": "+says,
		"ringd cannot decide whether it bounds as much as before")
	c.out[len(c.out)-1].Undecided = true
}

// fields compares two structs field by field.
func (c *comparer) fields(a, b reflect.Value, was, is string) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		tag := cmp.Or(f.Tag.Get("cue"), f.Name)
		c.field(a.Type().Name()+"."+f.Name, a.Field(i), b.Field(i), was+"."+tag, is+"."+tag)
	}
}

// field compares one field by its rule.
func (c *comparer) field(name string, a, b reflect.Value, was, is string) {
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	r, ok := c.rules[name]
	if !ok {
		c.undecided(was, is, show(a), show(b), "this ringd has no rule for the field")
		return
	}
	if special, own := c.specials[name]; own {
		special(c, a, b, was, is)
		return
	}
	switch r.Order {
	case fields.Annotation, fields.Filled, fields.Key, fields.Own:
	case fields.Parts:
		c.parts(a, b, was, is)
	case fields.Subset:
		c.list(r, a, b, was, is)
	case fields.Accumulates:
		c.denials(r, a, b, was, is)
	case fields.Stricter:
		c.word(r, a, b, was, is)
	case fields.AtMost, fields.AtLeast:
		c.number(r, a, b, was, is)
	case fields.Opens, fields.Restrains:
		c.flag(r, a, b, was, is)
	case fields.Owner:
		c.owner(a, b, was, is)
	default:
		c.undecided(was, is, show(a), show(b), "this ringd has no rule for the field")
	}
}

// parts compares a field that has fields of its own: a struct, an optional struct, a list of items, or
// modules by name.
func (c *comparer) parts(a, b reflect.Value, was, is string) {
	switch a.Kind() {
	case reflect.Pointer:
		zero := reflect.New(a.Type().Elem())
		if a.IsNil() {
			a = zero
		}
		if b.IsNil() {
			b = zero
		}
		c.fields(a.Elem(), b.Elem(), was, is)
	case reflect.Struct:
		c.fields(a, b, was, is)
	case reflect.Slice:
		c.items(a, b, was, is)
	default:
		c.undecided(was, is, show(a), show(b), "it is another one")
	}
}

// show formats a value for people.
func show(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return show(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes())
		}
		var out []string
		for i := range v.Len() {
			out = append(out, show(v.Index(i)))
		}
		return strings.Join(out, ", ")
	case reflect.Struct:
		if key, _ := keyed(v.Type().Name()); key != "" {
			return show(v.FieldByName(key))
		}
		return fmt.Sprintf("%v", v.Interface())
	case reflect.Map:
		var out []string
		for _, k := range v.MapKeys() {
			out = append(out, k.String()+"="+show(v.MapIndex(k)))
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.String:
		return v.String()
	default:
		return fmt.Sprint(v.Interface())
	}
}

func clip(s string) string { return canonjson.Truncate(s, 200) }
