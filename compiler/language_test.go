package compiler // the table of fields is not exported: it is how the compiler works, not what it offers

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/schema"
)

// TestEveryFieldIsListed holds the table of fields to schema's Go types, both
// ways. A field that is in no list would be refused when it is set; a line that
// names no field is out of date.
func TestEveryFieldIsListed(t *testing.T) {
	listed := map[string]language{}
	for _, f := range fields() {
		if _, twice := listed[f.goName]; twice {
			t.Errorf("%s is listed twice", f.goName)
		}
		listed[f.goName] = f
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
				case line.fate == parts:
					walk(f.Type)
				case line.fate == compiled && line.by == "", line.fate == refused && line.by == "":
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
	d := &document{compilation: &compilation{}, policy: &full}
	d.unsupported()
	for _, f := range fields() {
		if f.fate != refused {
			continue
		}
		typ, _, _ := strings.Cut(f.goName, ".")
		if typ == "Policy" {
			continue
		}
		found := slices.ContainsFunc(d.found, func(g schema.Diagnostic) bool {
			return g.Code == CodeUnsupported && strings.HasSuffix(g.Msg, f.by)
		})
		if !found {
			t.Errorf("%s was set and not refused", f.goName)
		}
	}
}

// TestUnlistedFieldIsRefused proves that the walk fails closed: a field that
// the table forgot is refused, not ignored.
func TestUnlistedFieldIsRefused(t *testing.T) {
	p := schema.Policy{Kind: "AgentPolicy", Spec: schema.Spec{Audit: "strict"}}
	d := &document{compilation: &compilation{}, policy: &p}
	w := &walker{document: d, known: map[string]language{}}
	for _, f := range fields() {
		if f.goName != "Spec.Audit" {
			w.known[f.goName] = f
		}
	}
	w.visit(reflect.ValueOf(p), "")
	if len(d.found) != 1 || d.found[0].Code != CodeUnsupported {
		t.Errorf("got %v", d.found)
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

func TestReadUnit(t *testing.T) {
	d := &document{compilation: &compilation{}, policy: &schema.Policy{}}
	for text, want := range map[string]int64{"64MiB": 64 << 20, "1KiB": 1024, "3GiB": 3 << 30, "5B": 5, "0B": 0} {
		if got, ok := d.size("x", text); !ok || got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for text, want := range map[string]int64{"500ms": 500, "30s": 30_000, "5m": 300_000, "2h": 7_200_000} {
		if got, ok := d.duration("x", text); !ok || got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "B", "64", "64MB", "64 MiB", "-1B", "+1B", "1.5GiB", "9999999999999GiB", "0x10B", "1_000B", "１B", "s", "5min", "1e3s"} {
		if got, ok := d.size("x", text); ok {
			t.Errorf("size %q: %d", text, got)
		}
		if got, ok := d.duration("x", text); ok {
			t.Errorf("duration %q: %d", text, got)
		}
	}
}
