package compiler

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// unsupportedFields calls report for every set field of a policy that nothing compiles: its
// path in the full language, and what would compile it.
func unsupportedFields(policy any, report func(path, by string)) {
	w := &walker{report: report, known: map[string]Field{}}
	for _, f := range Fields() {
		w.known[f.Go] = f
	}
	w.visit(reflect.ValueOf(policy), "")
}

// walker goes through the values of a policy.
type walker struct {
	report func(path, by string)
	known  map[string]Field
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
			w.field(v.Type().Name()+"."+v.Type().Field(i).Name, v.Field(i), path)
		}
	}
}

func (w *walker) field(goName string, v reflect.Value, path string) {
	if v.IsZero() {
		return
	}
	f, listed := w.known[goName]
	if !listed {
		f = Field{Go: goName, Name: lowerFirst(goName[strings.IndexByte(goName, '.')+1:]), Fate: Refused, By: "this part of the language"}
	}
	at := f.Name
	if path != "" {
		at = path + "." + f.Name
	}
	switch f.Fate {
	case Refused:
		w.report(at, f.By)
	case Parts:
		w.visit(v, at)
	case Compiled, Annotation:
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
