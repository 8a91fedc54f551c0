package compiler // the walk with a table that lacks a row is not exported

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// TestEveryFieldIsListed holds the table of fields to schema's Go types, both
// ways. A field that is in no list would be refused when it is set; a line that
// names no field is out of date.
func TestEveryFieldIsListed(t *testing.T) {
	listed := map[string]fields.Field{}
	for _, f := range fields.Table() {
		if _, twice := listed[f.Policy]; twice {
			t.Errorf("%s is listed twice", f.Policy)
		}
		listed[f.Policy] = f
	}
	seen := map[string]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			for f := range typ.Fields() {
				name := typ.Name() + "." + f.Name
				if seen[name] {
					continue
				}
				seen[name] = true
				line, ok := listed[name]
				switch {
				case !ok:
					t.Errorf("%s is in no list: say what compiles it, or that nothing does", name)
				case line.Order == fields.Parts:
					walk(f.Type)
				case line.Fate == fields.Compiled && line.Profile+line.By == "", line.Fate == fields.Refused &&
					line.By == "":
					t.Errorf("%s does not say by what", name)
				}
			}
		}
	}
	walk(reflect.TypeFor[schema.Policy]())
	for name := range listed {
		if !seen[name] {
			t.Errorf("%s is listed and not in schema", name)
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d fields seen", len(seen))
	}
}

// TestEveryRefusedFieldIsRefused sets each field that nothing compiles, alone,
// and wants a finding about it.
func TestEveryRefusedFieldIsRefused(t *testing.T) {
	full := fill(reflect.TypeFor[schema.Policy](), 0).Interface().(schema.Policy)
	full.Kind = "AgentPolicy"
	var found []string
	unsupportedFields(full, func(path, by string) { found = append(found, path+": "+by) })
	for _, f := range fields.Table() {
		if f.Fate != fields.Refused {
			continue
		}
		typ, _, _ := strings.Cut(f.Policy, ".")
		if typ == "Policy" {
			continue
		}
		if !slices.ContainsFunc(found, func(g string) bool { return strings.HasSuffix(g, f.By) }) {
			t.Errorf("%s was set and not refused", f.Policy)
		}
	}
}

// TestUnlistedFieldIsRefused proves that the walk fails closed: a field that
// the table forgot is refused, not ignored.
func TestUnlistedFieldIsRefused(t *testing.T) {
	p := schema.Policy{Kind: "AgentPolicy", Spec: schema.Spec{Audit: "strict"}}
	var found []string
	w := &walker{report: func(path, _ string) { found = append(found, path) }, known: fields.ByPolicy()}
	delete(w.known, "Spec.Audit")
	w.visit(reflect.ValueOf(p), "")
	if !slices.Equal(found, []string{"spec.audit"}) {
		t.Errorf("got %v", found)
	}
}

// fill makes a value with every field set.
func fill(typ reflect.Type, depth int) reflect.Value {
	v := reflect.New(typ).Elem()
	if depth > 12 {
		return v
	}
	switch typ.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(fill(typ.Elem(), depth+1))
	case reflect.Slice:
		v.Set(reflect.Append(v, fill(typ.Elem(), depth+1)))
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(fill(typ.Key(), depth+1), fill(typ.Elem(), depth+1))
	case reflect.Struct:
		for i := range typ.NumField() {
			v.Field(i).Set(fill(typ.Field(i).Type, depth+1))
		}
	}
	return v
}
