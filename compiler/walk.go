package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/fields"
)

// unsupportedFields calls report for every set field of a policy that nothing compiles, with its path in the
// full language and the component that would compile it.
func unsupportedFields(policy any, report func(path, by string)) {
	w := &walker{report: report, known: fields.ByPolicy()}
	w.visit(reflect.ValueOf(policy), "")
}

// walker walks the values of a policy.
type walker struct {
	report func(path, by string)
	known  map[string]fields.Field
}

func (w *walker) visit(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.visit(v.Elem(), path)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				w.visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(stringKeys(v))) {
			w.visit(v.MapIndex(reflect.ValueOf(key)), path+"."+key)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.field(v.Type(), v.Type().Field(i), v.Field(i), path)
		}
	}
}

// field reports a field that is set but not supported. A field that has no row in the table of package
// fields is not supported.
func (w *walker) field(of reflect.Type, f reflect.StructField, v reflect.Value, path string) {
	if v.IsZero() {
		return
	}
	at := cmp.Or(f.Tag.Get("cue"), lowerFirst(f.Name))
	if path != "" {
		at = path + "." + at
	}
	switch row, listed := w.known[of.Name()+"."+f.Name]; {
	case !listed:
		w.report(at, "this part of the language")
	case row.Fate == fields.Refused:
		w.report(at, row.By)
	case row.Order == fields.Parts:
		w.visit(v, at)
	}
}

func stringKeys(v reflect.Value) map[string]bool {
	keys := make(map[string]bool, v.Len())
	if v.Type().Key().Kind() == reflect.String {
		for _, k := range v.MapKeys() {
			keys[k.String()] = true
		}
	}
	return keys
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
