package diff

import (
	"reflect"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/fields"
)

// Residue is what residue tells of two structs.
func Residue(a, b any) []Change {
	c := newComparer(time.Time{}, fields.SetTable())
	c.residue(spot{field: "x", capability: "x"}, reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
	return c.out
}

// CompareBy compares two sets by another table than that of package fields.
func CompareBy(table []fields.SetField, old, now *profiles.Set) []Change {
	return compare(old, now, newComparer(time.Time{}, table)).Changes()
}

// FieldsBy compares two structs of one type by a table.
func FieldsBy(table []fields.SetField, a, b any) []Change {
	c := newComparer(time.Time{}, table)
	c.fields(spot{subject: "x", capability: "x"}, reflect.ValueOf(a), reflect.ValueOf(b))
	return c.out
}

// Changes are those of all agents.
func (r Report) Changes() []Change {
	var out []Change
	for _, a := range r.Agents {
		out = append(out, a.Changes...)
	}
	return out
}
