package diff

import (
	"reflect"
	"time"
)

// Residue is what residue tells of two structs.
func Residue(a, b any) []Change {
	c := newComparer(time.Time{})
	c.residue(spot{field: "x", capability: "x"}, reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
	return c.out
}
