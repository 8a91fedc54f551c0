package schema

// In the package: what is held together here, the shapes, the definitions in
// CUE and the Go types, is not exported.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

func definitions(t testing.TB) map[string]*Shape {
	t.Helper()
	defs, err := ParseShapes(policyCUE)
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

// verdicts compares what the shapes and what CUE itself say of a tree.
type verdicts struct {
	t    testing.TB
	defs map[string]*Shape
	ctx  *cue.Context
	def  map[string]cue.Value
	used int
}

func newVerdicts(t testing.TB) *verdicts {
	v := &verdicts{t: t, defs: definitions(t), def: map[string]cue.Value{}}
	v.renew()
	return v
}

// renew starts a fresh context: a used one grows and slows.
func (v *verdicts) renew() {
	v.ctx, v.used = cuecontext.New(), 0
	root := v.ctx.CompileString(policyCUE)
	if err := root.Err(); err != nil {
		v.t.Fatal(err)
	}
	for name := range v.defs {
		v.def[name] = root.LookupPath(cue.MakePath(cue.Def(name)))
	}
}

// shape is the verdict of the shapes alone, without what compares two values.
func (v *verdicts) shape(doc *node, form string) (bool, Diagnostics) {
	found := &findings{}
	c := &checker{findings: found}
	c.value(doc, v.defs[form], nil)
	for _, d := range found.list {
		if d.Code != CodeDuplicateName && d.Severity == Error {
			return false, found.list
		}
	}
	return true, found.list
}

func (v *verdicts) cue(doc *node, form string) (bool, error) {
	if v.used++; v.used > 100 {
		v.renew()
	}
	text, err := json.Marshal(doc.plainValue())
	if err != nil {
		v.t.Fatal(err)
	}
	err = v.def[form].Unify(v.ctx.CompileBytes(text)).Validate(cue.Concrete(true))
	return err == nil, err
}

func (v *verdicts) agree(doc *node, form, what string) bool {
	v.t.Helper()
	shapeSays, found := v.shape(doc, form)
	cueSays, err := v.cue(doc, form)
	if shapeSays != cueSays {
		v.t.Errorf("%s: the shapes say %t (%v), CUE says %t (%v)", what, shapeSays, found, cueSays, err)
	}
	return shapeSays
}

func trees(t testing.TB) map[string]*node {
	t.Helper()
	out := map[string]*node{}
	files, err := filepath.Glob("../testdata/policies/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d policies, %v", len(files), err)
	}
	for _, file := range append(files, "testdata/everything.yaml", "testdata/everything-compact.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := &findings{file: file}
		docs := readYAML(text, found)
		if len(docs) != 1 {
			t.Fatalf("%s: %v", file, found.list)
		}
		out[filepath.Base(file)] = docs[0]
	}
	return out
}

func form(doc *node) string {
	if doc.get("apiVersion") == nil {
		return "#Compact"
	}
	return "#Policy"
}

// The shapes check policies instead of CUE, so they must not be a bit more
// lenient: every policy, and every policy with one value replaced, removed,
// renamed or repeated, gets the same verdict from both.
func TestShapesAgreeWithCUE(t *testing.T) {
	v := newVerdicts(t)
	stride := 19 // of 5,000 changes; RINGD_EXHAUSTIVE=1 tries all in 20 s
	if os.Getenv("RINGD_EXHAUSTIVE") != "" {
		stride = 1
	} else if testing.Short() {
		stride = 37
	}
	for name, doc := range trees(t) {
		if !v.agree(doc, form(doc), name) {
			t.Errorf("%s is refused", name)
		}
		if !strings.HasPrefix(name, "everything") {
			continue
		}
		refused, tried := 0, 0
		mutate(doc, func(what string) {
			if tried++; tried%stride != 0 {
				return
			}
			if !v.agree(doc, form(doc), name+": "+what) {
				refused++
			}
		})
		if refused == 0 {
			t.Errorf("%s: no change of it is refused", name)
		}
	}
}

// mutate calls try with every small change of the tree, and undoes it.
func mutate(n *node, try func(what string)) {
	replacements := []*node{
		{kind: String, text: ""}, {kind: String, text: "x"}, {kind: String, text: "../x"},
		{kind: Int, text: "0"}, {kind: Int, text: "-1"}, {kind: Int, text: "70000"}, {kind: Float, text: "1.5"},
		{kind: Bool, text: "true"}, {kind: Null}, {kind: List, items: []*node{}}, {kind: Object},
		{kind: String, text: n.text + " "}, {kind: String, text: n.text + "\n"}, {kind: String, text: n.text + ".."},
		{kind: String, text: strings.ToUpper(n.text)},
	}
	if n.kind == Object || n.kind == List {
		for i, child := range n.items {
			what := child.text
			if n.kind == Object {
				what = n.names[i]
			}
			for _, other := range replacements {
				n.items[i] = other
				try(what + " is " + other.found())
			}
			n.items[i] = child
			mutate(child, try)
		}
		mutateFields(n, try)
	}
}

func mutateFields(n *node, try func(what string)) {
	for i, name := range n.names {
		n.names[i] = name + "x"
		try(name + " is renamed")
		n.names[i] = name
		names, items := n.names, n.items
		n.names = append(append([]string{}, names[:i]...), names[i+1:]...)
		n.items = append(append([]*node{}, items[:i]...), items[i+1:]...)
		try(name + " is removed")
		n.names, n.items = names, items
	}
}

// A lenient shape would be caught by TestShapesAgreeWithCUE.
func TestAgreementCanFail(t *testing.T) {
	v := newVerdicts(t)
	v.defs["#Metadata"].Field("owner").Required = false
	doc := trees(t)["compact.yaml"]
	if shapeSays, _ := v.shape(doc, "#Compact"); !shapeSays {
		t.Fatal("the compact policy is refused")
	}
	full := trees(t)["orchestrator.yaml"]
	metadata := full.get("metadata")
	for i, name := range metadata.names {
		if name == "owner" {
			metadata.names = append(metadata.names[:i], metadata.names[i+1:]...)
			metadata.items = append(metadata.items[:i], metadata.items[i+1:]...)
			break
		}
	}
	shapeSays, _ := v.shape(full, "#Policy")
	cueSays, _ := v.cue(full, "#Policy")
	if !shapeSays || cueSays {
		t.Errorf("shapes %t, CUE %t: want the lenient shape to differ", shapeSays, cueSays)
	}
}

// Every field of the definitions has a place in the Go types and the other way
// round, so that nothing an author writes is dropped.
func TestDefinitionsAndTypesHaveTheSameFields(t *testing.T) {
	defs := definitions(t)
	want, got := map[string]bool{}, map[string]bool{}
	shapeFields(defs["#Policy"], "", want)
	typeFields(reflect.TypeFor[Policy](), "", got)
	for path := range want {
		if !got[path] {
			t.Errorf("%s has no Go field", path)
		}
	}
	for path := range got {
		if !want[path] {
			t.Errorf("%s is not in policy.cue", path)
		}
	}
	if len(want) < 100 {
		t.Errorf("%d fields, want at least 100", len(want))
	}
}

func shapeFields(s *Shape, path string, into map[string]bool) {
	switch {
	case s.Kind == List:
		shapeFields(s.Item, path+"[]", into)
	case s.Keys != nil:
		shapeFields(s.Item, path+"{}", into)
	case s.Kind == Object && !s.Open:
		for _, f := range s.Fields {
			shapeFields(f.Shape, path+"."+f.Name, into)
		}
	default:
		into[path] = true
	}
}

func typeFields(typ reflect.Type, path string, into map[string]bool) {
	switch {
	case typ.Kind() == reflect.Pointer:
		typeFields(typ.Elem(), path, into)
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		typeFields(typ.Elem(), path+"[]", into)
	case typ.Kind() == reflect.Map:
		typeFields(typ.Elem(), path+"{}", into)
	case typ.Kind() == reflect.Struct:
		for i := range typ.NumField() {
			if tag := typ.Field(i).Tag.Get("cue"); tag != "" {
				typeFields(typ.Field(i).Type, path+"."+tag, into)
			}
		}
	default:
		into[path] = true
	}
}

// every field is set in testdata/everything.yaml and arrives in the Go value.
func TestEverythingArrives(t *testing.T) {
	text, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policies, found := Decode([]Source{{Name: "everything.yaml", Data: text}})
	if len(found) > 0 || len(policies) != 1 {
		t.Fatal(found)
	}
	set := map[string]bool{}
	filled(reflect.ValueOf(policies[0]), set)
	for field, ok := range set {
		if !ok {
			t.Errorf("%s is set nowhere", field)
		}
	}
	if len(set) < 80 {
		t.Errorf("%d fields, want at least 80", len(set))
	}
}

// filled notes for every tagged field of every type whether a value has it.
func filled(v reflect.Value, set map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			filled(v.Elem(), set)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Tag.Get("cue") == "" {
				continue
			}
			name := v.Type().Name() + "." + f.Name
			set[name] = set[name] || !v.Field(i).IsZero()
			filled(v.Field(i), set)
		}
	case reflect.Slice:
		for i := range v.Len() {
			filled(v.Index(i), set)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			filled(v.MapIndex(key), set)
		}
	}
}
