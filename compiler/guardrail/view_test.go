package guardrail // the rows of the view are not exported

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
)

// TestShownFields: each row is of a field that a view reaches, and makes its value of the struct that holds it.
func TestShownFields(t *testing.T) {
	types := map[string]reflect.Type{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			if types[typ.Name()] == nil {
				types[typ.Name()] = typ
				for f := range typ.Fields() {
					walk(f.Type)
				}
			}
		}
	}
	walk(reflect.TypeFor[profiles.Agent]())
	for name, p := range shownFields(nil) {
		of, field, _ := strings.Cut(name, ".")
		typ := types[of]
		if typ == nil {
			t.Errorf("%s: there is no such type", name)
			continue
		}
		if _, ok := typ.FieldByName(field); !ok {
			t.Errorf("%s: there is no such field", name)
		}
		if p.value != nil {
			p.value(reflect.Zero(typ))
		}
	}
}

// TestNewFieldIsSeen: a field of a profile that no row names is seen as its JSON has it, and is in the schema.
func TestNewFieldIsSeen(t *testing.T) {
	type Binary struct {
		MaxArgs   int64         `json:"maxArgs,omitempty"`
		DenyHosts []string      `json:"denyHosts,omitempty"`
		Rule      profiles.Rule `json:"rule"`
	}
	rows := shownFields(nil)
	got := object(reflect.ValueOf(Binary{1, []string{"a"}, profiles.Rule{File: "policy.yaml"}}), rows)
	want := map[string]any{"maxArgs": int64(1), "denyHosts": []any{"a"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	s := schemaOf(reflect.TypeFor[Binary](), rows)
	if d := cmp.Diff([]any{"denyHosts", "maxArgs"}, s["required"]); d != "" {
		t.Error(d)
	}
}
