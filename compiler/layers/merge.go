package layers

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// rule is a row of the table with its Go field.
type rule struct {
	fields.Field
	index   int     // index of the field in its struct
	name    string  // name in a policy; empty if authors cannot write it
	special special // merges the field, if its order alone is not enough
}

// special merges a field by its own code. It gets the structs that contain the field, and the paths of these
// structs.
type special func(s *step, own, above any, w site)

// on makes a special of a function on a typed struct.
func on[T any](merge func(s *step, own, above *T, w site)) special {
	return func(s *step, own, above any, w site) { merge(s, own.(*T), above.(*T), w) }
}

// rules groups the rows of the table by their type in package schema, in the order of the table.
type rules struct {
	table    map[string][]fields.Field
	specials map[string]special
	read     map[reflect.Type][]rule
}

func newRules(table []fields.Field) *rules {
	r := &rules{table: map[string][]fields.Field{}, specials: specials(), read: map[reflect.Type][]rule{}}
	for _, f := range table {
		of, _, _ := strings.Cut(f.Policy, ".")
		r.table[of] = append(r.table[of], f)
	}
	return r
}

func (r *rules) of(t reflect.Type) []rule {
	if list, known := r.read[t]; known {
		return list
	}
	var list []rule
	for _, f := range r.table[t.Name()] {
		_, name, _ := strings.Cut(f.Policy, ".")
		if g, ok := t.FieldByName(name); ok {
			list = append(list, rule{f, g.Index[0], g.Tag.Get("cue"), r.specials[f.Policy]})
		}
	}
	r.read[t] = list
	return list
}

// mergeStruct merges each field of a struct of the child with the same field of the layer above. Both are
// pointers to structs of one type.
func (s *step) mergeStruct(own, above any, w site) {
	o, a := reflect.ValueOf(own).Elem(), reflect.ValueOf(above).Elem()
	for _, f := range s.rules.of(o.Type()) {
		if f.special != nil {
			f.special(s, own, above, w)
			continue
		}
		theirs := a.Field(f.index)
		if theirs.IsZero() && !f.Strictest && !f.None && theirs.Kind() != reflect.Bool &&
			theirs.Kind() != reflect.Struct {
			continue // the field is not bounded
		}
		if around, _, dotted := strings.Cut(f.name, "."); dotted {
			s.inheritOrigin(w.field(around))
		}
		s.mergeField(f, o.Field(f.index), theirs, w.field(f.name))
	}
}

// mergeField merges a field by its order.
func (s *step) mergeField(f rule, own, above reflect.Value, w site) {
	switch f.Order {
	case fields.Parts:
		s.mergePart(f, own, above, w)
	case fields.Accumulates:
		if list, ok := own.Addr().Interface().(*[]string); ok { // other lists that accumulate do so with their item
			*list = accumulate(s, w, *list, above.Interface().([]string), same)
		}
	case fields.Subset:
		if list, ok := own.Addr().Interface().(*[]string); ok { // the path of an environment is its key
			*list = mergeSubset(s, w, *list, above.Interface().([]string), f)
		}
	case fields.Stricter, fields.AtMost, fields.AtLeast, fields.Opens, fields.Restrains, fields.Owner:
		s.mergeValue(f, own, above, w)
	case fields.Annotation, fields.Key, fields.Own, fields.Filled:
	}
}

// mergePart merges a field that has fields of its own. If the layer above leaves the field out, it bounds
// nothing, unless the absent value is the strictest one. If the field is a grant (Grant), an agent without
// the field has nothing.
func (s *step) mergePart(f rule, own, above reflect.Value, w site) {
	if own.Kind() == reflect.Struct {
		s.mergeStruct(own.Addr().Interface(), above.Addr().Interface(), w)
		return
	}
	if own.Kind() != reflect.Pointer || own.IsNil() && (above.IsNil() || f.Grant && s.grants) ||
		above.IsNil() && !f.Strictest {
		return
	}
	s.inheritOrigin(w)
	part, bound := reflect.New(own.Type().Elem()), above
	if !own.IsNil() {
		part.Elem().Set(own.Elem())
	}
	if bound.IsNil() {
		bound = reflect.New(own.Type().Elem())
	}
	own.Set(part)
	s.mergeStruct(part.Interface(), bound.Interface(), w)
}

// mergeValue merges a word, a number, a date or a switch. A child without the field gets the value of the
// layer above. If the field grants something, an agent without the field has nothing.
func (s *step) mergeValue(f rule, own, above reflect.Value, w site) {
	switch _, read := number(f.Unit, above); {
	case above.Kind() == reflect.Bool: // a power, which cannot be absent
		s.mergePower(f, own, above, w)
	case above.IsZero() && f.Strictest && !own.IsZero() && own.String() != f.Words[len(f.Words)-1]:
		around := w.above[:strings.LastIndexByte(w.above, '.')]
		s.refuse(CodeWidens, site{w.own, around}, "leave it out, or let "+s.owner(around)+" write it",
			"%s is looser than %s, which applies because %s leaves the field out", clip(own.String()),
			f.Words[len(f.Words)-1], s.shown(around))
		own.SetZero()
		delete(s.child.Origins, w.own)
	case above.IsZero() || f.Unit != "" && f.Unit != fields.Date && !read:
	case own.IsZero():
		if !f.Grant || !s.grants {
			s.take(own, above, w)
		}
	default:
		if s.refuseWider(f, own, above, w) {
			s.take(own, above, w)
		}
	}
}

// take copies a value of the layer above to the child, with its positions.
func (s *step) take(own, above reflect.Value, w site) {
	schema.MoveOrigins(s.child.Origins, w.own, s.parent.Origins, w.above, above.Interface())
	own.Set(above)
}

// refuseWider reports a value that allows more than the value of the layer above.
func (s *step) refuseWider(f rule, own, above reflect.Value, w site) bool {
	mine, theirs := written(own), written(above)
	switch f.Order {
	case fields.Stricter:
		i, j := slices.Index(f.Words, mine), slices.Index(f.Words, theirs)
		if i < 0 || j < 0 || i >= j { // the compiler rejects unknown words
			return false
		}
		s.refuse(CodeWidens, w, fmt.Sprintf("write %s, or leave it out", strings.Join(f.Words[j:], " or ")),
			"%s is looser than %s at %s", clip(mine), theirs, s.shown(w.above))
	case fields.AtMost:
		return s.refuseMore(f, own, above, w)
	case fields.AtLeast:
		n, ok := number(f.Unit, own)
		least, _ := number(f.Unit, above)
		if !ok || n >= least {
			return false
		}
		s.refuse(CodeWidens, w, "write at least "+theirs+", or leave it out", "%s is below the %s of %s", mine, theirs,
			s.shown(w.above))
	case fields.Opens:
		if mine != "true" || theirs != "false" {
			return false
		}
		s.refuse(CodeWidens, w, "write false, or leave it out", "is true, and %s does not allow that", s.shown(w.above))
	case fields.Restrains:
		if mine != "false" || theirs != "true" {
			return false
		}
		s.refuse(CodeWidens, w, "write true, or leave it out", "is false, and %s requires true", s.shown(w.above))
	case fields.Owner:
		return s.refuseOther(own, above, w)
	default:
		return false
	}
	return true
}

// refuseMore reports a number or a date that is above the one of the layer.
func (s *step) refuseMore(f rule, own, above reflect.Value, w site) bool {
	mine, theirs := written(own), written(above)
	if f.Unit == fields.Date {
		if !later(mine, theirs) {
			return false
		}
		s.refuse(CodeWidens, w, "write "+theirs+" or sooner, or leave it out", "%s is later than %s at %s", mine,
			theirs, s.shown(w.above))
		return true
	}
	n, ok := number(f.Unit, own)
	most, _ := number(f.Unit, above)
	if !ok || n <= most {
		return false
	}
	s.tooMuch(w, mine, theirs)
	return true
}

// refuseOther reports a value that only the owner may set: a word, or a power of files, inputs and hosts.
func (s *step) refuseOther(own, above reflect.Value, w site) bool {
	mine, theirs := written(own), written(above)
	switch {
	case mine == theirs:
		return false
	case own.Kind() == reflect.Pointer:
		s.refuse(CodePowerMismatch, w, hintPowers, "is %s, and %s says %s", mine, s.shown(w.above), theirs)
	default:
		s.refuse(CodeWidens, w, fmt.Sprintf("write %s, or leave it out", clip(theirs)), "%s is not %s, as %s has it",
			clip(mine), clip(theirs), s.shown(w.above))
	}
	return true
}

const hintPowers = "leave it out: powers belong to the layer that states them first"

// mergePower gives a bridge the power that the owner of the bridge declares, because the rule of two depends
// on it.
func (s *step) mergePower(f rule, own, above reflect.Value, w site) {
	if own.Bool() == above.Bool() {
		return
	}
	hint := fmt.Sprintf("write %s: %t, as the owner does: powers are a property of the bridge", f.name, above.Bool())
	s.refuse(CodePowerMismatch, w, hint, "is %t, and %s says %t", own.Bool(), s.shown(w.above), above.Bool())
	own.Set(above)
}

// bound is a list of the layer above that bounds a list of the child.
type bound struct {
	list  []string
	grant bool              // an agent without the list has nothing
	holds func(string) bool // reports whether an item is within the list
	blunt bool              // no item is suggested for a rejected one
}

func mergeSubset(s *step, w site, own, above []string, f rule) []string {
	if above == nil && (own == nil || !f.None) {
		return own
	}
	return mergeWithin(s, w, own, bound{list: append([]string{}, above...), grant: f.Grant,
		holds: Covering(f.Items, above), blunt: f.Items == fields.Paths})
}

// mergeWithin keeps the items that are within the list of the layer above. If the list grants something, an
// agent without the list has nothing. If the list only restricts and every item is rejected, the agent gets
// the list of the layer above.
func mergeWithin(s *step, w site, own []string, b bound) []string {
	if own == nil {
		if s.grants && b.grant {
			return nil
		}
		return inherit(s, w, b.list)
	}
	names := b.list
	if b.blunt {
		names = nil
	}
	refused := map[int]bool{}
	for i, item := range own {
		if !b.holds(item) {
			s.notAllowed(site{index(w.own, i), w.above}, item, names)
			refused[i] = true
		}
	}
	if !b.grant && len(own) > 0 && len(refused) == len(own) {
		schema.ForgetOrigins(s.child.Origins, w.own, own)
		return inherit(s, w, b.list)
	}
	return keep(s, w.own, own, refused)
}

// number parses a value of a unit. It returns false if the value is absent or invalid, which the compiler
// rejects.
func number(unit fields.Unit, v reflect.Value) (int64, bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() || !v.Elem().CanInt() {
			return 0, false
		}
		return v.Elem().Int(), true
	}
	if v.Kind() != reflect.String {
		return 0, false
	}
	return readUnit(unit, v.String())
}

func readUnit(unit fields.Unit, text string) (int64, bool) {
	switch unit {
	case fields.Size:
		return schema.Size(text)
	case fields.Duration:
		return schema.Duration(text)
	case fields.Rate:
		return schema.Rate(text)
	case fields.Count, fields.Date:
	}
	return 0, false
}

// showUnit formats a number in the form of policies.
func showUnit(unit fields.Unit, n int64) string {
	switch unit {
	case fields.Size:
		return schema.ShowSize(n)
	case fields.Duration:
		return schema.ShowDuration(n)
	case fields.Rate:
		return strconv.FormatInt(n, 10) + "/m"
	case fields.Count, fields.Date:
	}
	return strconv.FormatInt(n, 10)
}

// written formats a scalar in the form of policies. It returns "" if it is absent.
func written(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.String {
		return v.String()
	}
	return fmt.Sprint(v.Interface())
}
