package diff

import "reflect"

// Known is known, and UnknownFields unknownFields.
func Known(of string) (compared, places string) { return known(of) }

// UnknownFields is unknownFields.
func UnknownFields(t reflect.Type) []string { return unknownFields(t) }

// Residue is what residue tells of two structs.
func Residue(a, b any) []Change {
	c := &comparer{}
	c.residue("x", "x", a, b)
	return c.out
}
