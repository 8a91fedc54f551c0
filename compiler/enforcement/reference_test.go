package enforcement_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/compiler/enforcement"
	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// TestReference holds the reference of fields in docs/POLICY.md equal to the definitions of the language and the table
// of its fields. The sentence of a field is its comment in schema/policy.cue, which `ringd schema` prints too.
func TestReference(t *testing.T) {
	defs, err := schema.ParseShapes(schema.CUE())
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{t: t, rows: fields.ByPolicy(), levels: levels(), seen: map[string]bool{}}
	r.object(defs["#Policy"], reflect.TypeFor[schema.Policy]())
	r.object(defs["#Compact"], nil)
	r.scalars(defs)
	hold(t, "docs/POLICY.md", "<!-- fields -->\n", "<!-- end of fields -->\n", r.out.String())
}

// hold compares the part of a document between two marks, or writes it.
func hold(t *testing.T, name, begin, end, part string) {
	t.Helper()
	name = filepath.Join(root, name)
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(have, []byte(begin))
	_, tail, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("%s: no marks of the table", name)
	}
	want := string(head) + begin + part + end + string(tail)
	if want == string(have) {
		return
	}
	if os.Getenv("RINGD_UPDATE") == "" {
		t.Fatalf("%s is not what the tables say: RINGD_UPDATE=1 writes it", name)
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// levels says of each field how far it is enforced, and in which executors if they differ.
func levels() map[string]string {
	out := map[string]string{}
	for _, row := range enforcement.Rows() {
		var order []string
		in := map[string][]string{}
		for _, c := range row.Cells {
			level := string(c.Level)
			if in[level] == nil {
				order = append(order, level)
			}
			in[level] = append(in[level], c.Executor)
		}
		text := order[0]
		if len(order) > 1 {
			for i, level := range order {
				order[i] = level + " (" + strings.Join(in[level], ", ") + ")"
			}
			text = strings.Join(order, ", ")
		}
		for _, f := range row.Fields {
			out[f] = text
		}
	}
	return out
}

// reference writes a table for each object that has a definition of its own, in the order in which they are used.
type reference struct {
	t      *testing.T
	rows   map[string]fields.Field
	levels map[string]string
	seen   map[string]bool
	out    strings.Builder
}

// object writes the table of an object, and those of the objects in it. The Go type is nil for the compact form.
func (r *reference) object(s *schema.Shape, of reflect.Type) {
	if r.seen[s.Name] {
		return
	}
	r.seen[s.Name] = true
	r.need(s.Name, s.Doc)
	header := "| field | type | stricter | level | |\n|---|---|---|---|---|\n"
	if of == nil {
		header = "| field | type | |\n|---|---|---|\n"
	}
	fmt.Fprintf(&r.out, "#### Type %s\n\n%s\n\n%s", title(s), line(s.Doc), header)
	var inner []func()
	r.list(s, of, "", "", &inner)
	r.out.WriteString("\n")
	for _, write := range inner {
		write()
	}
}

// list writes the rows of an object, those of objects without a definition of their own among them. Where schema has
// no type for such an object, as for globals, its fields are those of the type around it, with tags such as globals.deny.
func (r *reference) list(s *schema.Shape, of reflect.Type, prefix, tag string, inner *[]func()) {
	for _, f := range s.Fields {
		name := prefix + f.Name
		r.need(s.Name+" "+name, f.Doc)
		row, typ, inside := r.goField(of, tag+f.Name)
		kind := typeOf(f.Shape)
		if f.Required {
			kind += ", required"
		}
		if of == nil {
			fmt.Fprintf(&r.out, "| `%s` | %s | %s |\n", name, kind, line(f.Doc))
		} else {
			fmt.Fprintf(&r.out, "| `%s` | %s | %s | %s | %s |\n", name, kind, orderOf(row),
				r.levels[row.Policy], line(f.Doc))
		}
		switch shape := element(f.Shape); {
		case shape.Kind != schema.Object || shape.Open:
		case shape.Name != "":
			*inner = append(*inner, func() { r.object(shape, typ) })
		default:
			r.list(shape, typ, name+".", inside, inner)
		}
	}
}

// goField finds the row of a field by its tag, and the type of its value. If only fields in it have tags, it is the
// type around it, and inside is what their tags begin with.
func (r *reference) goField(of reflect.Type, tag string) (row fields.Field, typ reflect.Type, inside string) {
	if of == nil {
		return fields.Field{}, nil, ""
	}
	for f := range of.Fields() {
		switch is := f.Tag.Get("cue"); {
		case is == tag:
			typ = f.Type
			for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, typ.Kind()) {
				typ = typ.Elem()
			}
			return r.rows[of.Name()+"."+f.Name], typ, ""
		case strings.HasPrefix(is, tag+"."):
			return fields.Field{Order: fields.Parts}, of, tag + "."
		}
	}
	r.t.Errorf("no field of schema.%s is %s", of.Name(), tag)
	return fields.Field{}, nil, ""
}

// need fails the test for a field that its definition does not describe.
func (r *reference) need(name, doc string) {
	if doc == "" {
		r.t.Errorf("%s: write what it is as its comment in schema/policy.cue", name)
	}
}

// scalars writes the types of values.
func (r *reference) scalars(defs map[string]*schema.Shape) {
	r.out.WriteString("#### Types of values\n\n| type | value |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		switch s := defs[name]; {
		case s.Kind == schema.Object && !s.Open:
		case s.Enum != nil:
			fmt.Fprintf(&r.out, "| %s | %s |\n", title(s), words(s.Enum))
		default:
			fmt.Fprintf(&r.out, "| %s | %s |\n", title(s), strings.TrimPrefix(line(cmp.Or(s.Says, s.Doc)), "must be "))
		}
	}
}

func title(s *schema.Shape) string { return strings.TrimPrefix(s.Name, "#") }

// line is a text as one line of Markdown.
func line(doc string) string {
	return strings.NewReplacer("*", `\*`, "<", `\<`, "|", `\|`).Replace(strings.Join(strings.Fields(doc), " "))
}

func words(list []string) string { return "`" + strings.Join(list, "`, `") + "`" }

// element is what a list or a map consists of.
func element(s *schema.Shape) *schema.Shape {
	for s.Item != nil {
		s = s.Item
	}
	return s
}

// typeOf names the type of a value.
func typeOf(s *schema.Shape) string {
	switch {
	case s.Kind == schema.List:
		return "list of " + typeOf(s.Item)
	case s.Keys != nil:
		return "map of " + typeOf(s.Item)
	case s.Name != "" && s.Kind == schema.Object && !s.Open:
		return "[" + title(s) + "](#type-" + strings.ToLower(title(s)) + ")"
	case s.Name != "":
		return title(s)
	case s.Enum != nil:
		return words(s.Enum)
	case s.Kind == schema.Bool:
		return "bool"
	case s.Kind == schema.Object:
		return "object"
	default:
		return "text"
	}
}

// orderOf says which value is stricter than another.
func orderOf(row fields.Field) string {
	switch row.Order {
	case fields.AtMost:
		if row.Unit == fields.Date {
			return "sooner"
		}
		return "lower"
	case fields.AtLeast:
		return "higher"
	case fields.Subset:
		return "fewer"
	case fields.Accumulates:
		return "more"
	case fields.Opens:
		return "`false`"
	case fields.Restrains:
		return "`true`"
	case fields.Stricter:
		return words(row.Words[len(row.Words)-1:])
	case fields.Parts, fields.Filled:
		return ""
	default:
		return string(row.Order)
	}
}
