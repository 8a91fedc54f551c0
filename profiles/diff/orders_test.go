package diff_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/profiles/fields"
)

// wrongOrders compares sets that differ by one number or one switch, and lists the fields of a table that have another
// class than is expected: more and on widen, but where a field takes something away.
// An empty field stands for all. Hosts have code of their own.
func wrongOrders(table []fields.SetField, field string) (wrong []string) {
	takes := []string{"Approval.Count", "Binary.SafeConfig", "Python.EndOnDenied"}
	var all []leaf
	leaves(reflect.ValueOf(filled()).Elem(), "", nil, &all)
	for _, l := range all {
		i := slices.IndexFunc(table, func(f fields.SetField) bool { return f.Field == l.field })
		if i < 0 || field != "" && l.field != field || table[i].Order == fields.Key || table[i].Order == fields.Coded ||
			strings.HasPrefix(l.field, "Powers.") {
			continue
		}
		old, now := filled(), filled()
		change(reflect.ValueOf(now).Elem(), l.steps)
		want := diff.Widens
		switch before := at(reflect.ValueOf(old).Elem(), l.steps); before.Kind() {
		case reflect.Int64:
		case reflect.Bool:
			if before.Bool() {
				old, now = now, old
			}
		default:
			continue
		}
		if slices.Contains(takes, l.field) {
			want = diff.Narrows
		}
		changes := diff.CompareBy(table, old, now)
		if len(changes) > 0 && (strings.HasPrefix(changes[0].Field, "egress.allow") ||
			strings.HasPrefix(changes[0].Field, "egress.deny")) {
			continue
		}
		if len(changes) == 0 || diff.ClassOf(changes) != want || changes[0].Undecided &&
			l.field != "Binary.Interpreted" {
			wrong = append(wrong, fmt.Sprintf("%s: want %s: %+v", l.field, want, changes))
		}
	}
	return wrong
}

// at is the value at the end of the steps.
func at(v reflect.Value, steps []any) reflect.Value {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if len(steps) == 0 {
		return v
	}
	switch s := steps[0].(type) {
	case string:
		return at(v.MapIndex(reflect.ValueOf(s)), steps[1:])
	case int:
		if v.Kind() == reflect.Slice {
			return at(v.Index(s), steps[1:])
		}
		return at(v.Field(s), steps[1:])
	}
	return v
}

// TestOrders holds the classes of all numbers and switches, and is a canary of itself: no row of them may have another
// order.
func TestOrders(t *testing.T) {
	for _, w := range wrongOrders(fields.SetTable(), "") {
		t.Error(w)
	}
	turned := 0
	other := map[fields.Order]fields.Order{fields.AtMost: fields.AtLeast, fields.AtLeast: fields.AtMost,
		fields.Opens: fields.Restrains, fields.Restrains: fields.Opens}
	for i, f := range fields.SetTable() {
		typ := kindOf(f.Field)
		if other[f.Order] == "" || typ != reflect.Int64 && typ != reflect.Bool {
			continue
		}
		table := fields.SetTable()
		table[i].Order = other[f.Order]
		turned++
		if len(wrongOrders(table, f.Field)) == 0 {
			t.Errorf("%s has the order %q instead of %q, and no class differs", f.Field, table[i].Order, f.Order)
		}
	}
	if turned < 30 {
		t.Errorf("only %d rows have an order that can be turned round", turned)
	}
}

// kindOf is the kind of a field of package profiles.
func kindOf(field string) reflect.Kind {
	seen := map[reflect.Type]bool{}
	types(reflect.TypeFor[profiles.Set](), seen)
	typ, name, _ := strings.Cut(field, ".")
	for t := range seen {
		if f, is := t.FieldByName(name); is && t.Name() == typ {
			if f.Type.Kind() == reflect.Pointer {
				return f.Type.Elem().Kind()
			}
			return f.Type.Kind()
		}
	}
	return reflect.Invalid
}
