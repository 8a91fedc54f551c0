package diff

import (
	"reflect"
)

// UnknownFields lists the fields of a type that have no row.
func UnknownFields(t reflect.Type) []string { return unknownFields(t, byType(table())) }

// Fields lists the fields of the table.
func Fields() (out []string) {
	for _, r := range table() {
		out = append(out, r.field)
	}
	return out
}

// Residue is what residue tells of two structs.
func Residue(a, b any) []Change {
	c := &comparer{rows: byType(table())}
	c.residue(spot{field: "x", capability: "x"}, reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
	return c.out
}
