package diff_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/profiles/fields"
)

// types lists every struct type of package profiles that a set holds.
func types(t reflect.Type, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		types(t.Elem(), seen)
	case reflect.Struct:
		if p := t.PkgPath(); seen[t] || !strings.HasSuffix(p, "/profiles") || t.Name() == "Rule" {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			types(t.Field(i).Type, seen)
		}
	}
}

// TestEveryFieldHasARow holds that each field of a compiled set has exactly one row in the
// table, and that each row is of a field.
func TestEveryFieldHasARow(t *testing.T) {
	seen := map[reflect.Type]bool{}
	types(reflect.TypeFor[profiles.Set](), seen)
	if len(seen) < 28 {
		t.Fatalf("only %d types: the test looks at too little", len(seen))
	}
	rows := map[string]int{}
	for _, f := range fields.SetTable() {
		rows[f.Field]++
	}
	for typ := range seen {
		for i := range typ.NumField() {
			f := typ.Name() + "." + typ.Field(i).Name
			if rows[f] != 1 {
				t.Errorf("profiles.%s has %d rows: ringd diff compares a field that has one", f, rows[f])
			}
			delete(rows, f)
		}
	}
	for f := range rows {
		t.Errorf("a row is of profiles.%s, which is not there", f)
	}
}

// The type that stands for one that has grown: a field that no rule knows.
func TestUnknownFieldWidens(t *testing.T) {
	type Files struct{ Read, New string }
	got := diff.Residue(&Files{New: "a"}, &Files{New: "b"})
	if len(got) != 1 || got[0].Class != diff.Widens || !got[0].Undecided || got[0].Field != "x.New" {
		t.Errorf("got %+v", got)
	}
	if got := diff.Residue(&Files{Read: "a"}, &Files{Read: "b"}); len(got) != 0 {
		t.Errorf("a known field is told twice: %+v", got)
	}
}

// TestDenials: what a list of denials has more narrows, and what it has less widens.
func TestDenials(t *testing.T) {
	type Binary struct {
		DenyHosts []string `json:"denyHosts"`
	}
	table := []fields.SetField{{Field: "Binary.DenyHosts", Order: fields.Accumulates, Says: "denyHosts %s", None: "none"}}
	for _, tt := range []struct {
		old, now []string
		class    diff.Class
		says     string
	}{
		{nil, []string{"a"}, diff.Narrows, "x: denyHosts a (was none)"},
		{[]string{"a"}, []string{"a", "b"}, diff.Narrows, "x: denyHosts a, b (was a)"},
		{[]string{"a", "b"}, []string{"b"}, diff.Widens, "x: denyHosts b (was a, b)"},
		{[]string{"a"}, []string{"b"}, diff.Widens, "x: denyHosts b (was a)"},
	} {
		got := diff.FieldsBy(table, Binary{tt.old}, Binary{tt.now})
		if len(got) != 1 || got[0].Class != tt.class || got[0].Says != tt.says || got[0].Undecided {
			t.Errorf("%v to %v: %+v", tt.old, tt.now, got)
		}
	}
}

// fill puts something into every field, so that a set has one of everything.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if name == "Agent.Strict" {
			return // an agent in an agent: TestStrict
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"type":"object"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, name)
		v.SetMapIndex(reflect.ValueOf("name"), e)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
		}
	case reflect.String:
		text := map[string]string{"Egress.Mode": "allowlist", "EgressRule.Host": "api.example.test",
			"Agent.MinTier": "wasm", "PathRule.Path": "/a", "Binary.Path": "/usr/bin/git",
			"RuleOfTwo.Mode": "dynamic", "RuleOfTwo.OnThree": "require-approval", "RuleOfTwo.Scope": "run", "EgressRule.Paths": "/v1", "EgressRule.Methods": "GET"}[name]
		if text == "" {
			text = "name"
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(strings.HasPrefix(name, "Powers.") == false && name != "EgressRule.AnyPort")
	case reflect.Int, reflect.Int64:
		v.SetInt(80)
	}
}

// leaf is one value of a filled set: how to reach it, and its field.
type leaf struct {
	field string
	steps []any // int: field or element; string: key
}

func leaves(v reflect.Value, field string, steps []any, out *[]leaf) {
	at := func(i any) []any { return append(slices.Clone(steps), i) }
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			leaves(v.Elem(), field, steps, out)
		}
	case reflect.Map:
		leaves(v.MapIndex(reflect.ValueOf("name")), field, at("name"), out)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			*out = append(*out, leaf{field, steps})
			return
		}
		leaves(v.Index(0), field, at(0), out)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			*out = append(*out, leaf{field, steps})
			return
		}
		for i := range v.NumField() {
			leaves(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name, at(i), out)
		}
	default:
		*out = append(*out, leaf{field, steps})
	}
}

// change alters the value at the end of the steps.
func change(v reflect.Value, steps []any) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if len(steps) > 0 {
		switch s := steps[0].(type) {
		case string:
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(reflect.ValueOf(s)))
			change(e, steps[1:])
			v.SetMapIndex(reflect.ValueOf(s), e)
		case int:
			if v.Kind() == reflect.Slice {
				change(v.Index(s), steps[1:])
			} else {
				change(v.Field(s), steps[1:])
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Struct:
		v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Hour)))
	case reflect.Slice:
		v.SetBytes([]byte(`{"type":"array"}`))
	}
}

func filled() *profiles.Set {
	var s profiles.Set
	fill(reflect.ValueOf(&s).Elem(), "")
	return &s
}

// TestEveryFieldIsTold changes every value of a set that has one of everything: each
// is told, but those that only say where something stands.
func TestEveryFieldIsTold(t *testing.T) {
	var all []leaf
	leaves(reflect.ValueOf(filled()).Elem(), "", nil, &all)
	if len(all) < 200 {
		t.Fatalf("only %d values", len(all))
	}
	silent := []string{"Set.Revision", // the report has both
		"Module.Source", // its digest is another one then
		"Pattern.Rule", "Layer.File"}
	told := 0
	for _, l := range all {
		now := filled()
		change(reflect.ValueOf(now).Elem(), l.steps)
		r := diff.Compare(filled(), now, diff.Config{})
		quiet := strings.HasPrefix(l.field, "Rule.") || slices.Contains(silent, l.field)
		switch n := len(r.Changes()); {
		case n == 0 && !quiet:
			t.Errorf("%s %v: a change is not told", l.field, l.steps)
		case n > 0 && quiet:
			t.Errorf("%s: told, and it is no change: %+v", l.field, r.Changes())
		case n > 0:
			told++
		}
	}
	t.Logf("%d values, %d told", len(all), told)
}

// TestStrict changes what mode audit records as refused.
func TestStrict(t *testing.T) {
	audit := func(strict *profiles.Agent) *profiles.Set {
		return &profiles.Set{Agents: map[string]profiles.Agent{
			"a": {Name: "a", Mode: profiles.ModeAudit, Strict: strict}}}
	}
	granted := &profiles.Agent{Name: "a", Files: profiles.Files{Read: []profiles.PathRule{{Path: "/data"}}}}
	for _, tt := range []struct {
		old, now *profiles.Agent
		want     diff.Class
		changes  int
	}{{granted, granted, diff.Neutral, 0}, {&profiles.Agent{Name: "a"}, granted, diff.Widens, 1},
		{granted, &profiles.Agent{Name: "a"}, diff.Narrows, 1},
		{nil, granted, diff.Widens, 1}, {&profiles.Agent{Name: "a", Strict: granted}, granted, diff.Widens, 2}} {
		if r := diff.Compare(audit(tt.old), audit(tt.now), diff.Config{}); r.Class != tt.want ||
			len(r.Changes()) != tt.changes {
			t.Errorf("want %s: %+v", tt.want, r.Changes())
		}
	}
}

func TestNothingChanged(t *testing.T) {
	r := diff.Compare(filled(), filled(), diff.Config{})
	if r.Class != diff.Neutral || len(r.Changes()) != 0 || r.Agents[0].State != "same" {
		t.Errorf("%+v", r)
	}
	if r := diff.Compare(nil, nil, diff.Config{}); r.Class != diff.Neutral || len(r.Agents) != 0 {
		t.Errorf("of nothing: %+v", r)
	}
	if c := diff.Class(9); c.String() != "widens" {
		t.Errorf("an unknown class is %s", c)
	}
	var c diff.Class
	if err := json.Unmarshal([]byte(`"better"`), &c); err == nil || c != diff.Widens {
		t.Errorf("read %v, %v", c, err)
	}
	for _, want := range []diff.Class{diff.Widens, diff.Narrows, diff.Neutral} {
		text, err := json.Marshal(want)
		if err != nil || json.Unmarshal(text, &c) != nil || c != want || string(text) != fmt.Sprintf("%q", want) {
			t.Errorf("%v: %s, %v", want, text, err)
		}
	}
}
