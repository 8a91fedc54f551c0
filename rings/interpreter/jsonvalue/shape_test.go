package jsonvalue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

func TestScan(t *testing.T) {
	tests := []struct {
		name, in string
		want     jsonvalue.Shape
		error    string
	}{
		{"empty list", `[]`, jsonvalue.Shape{List: true}, ""},
		{"spaced empty list", " [ \n ] ", jsonvalue.Shape{List: true}, ""},
		{"one", `[ {"a":[1,2]} ]`, jsonvalue.Shape{List: true, Count: 1, First: []byte(`{"a":[1,2]}`)}, ""},
		{"three", `["a,]",[1,2],3]`, jsonvalue.Shape{List: true, Count: 3, First: []byte(`"a,]"`)}, ""},
		{"escaped quote", `["\"],[",2]`, jsonvalue.Shape{List: true, Count: 2, First: []byte(`"\"],["`)}, ""},
		{"object", `{"a":[1,2,3]}`, jsonvalue.Shape{}, ""},
		{"scalar", `-1.5e-10`, jsonvalue.Shape{}, ""},
		{"marked", `[{"$ringd":"x"}]`, jsonvalue.Shape{List: true, Count: 1, First: []byte(`{"$ringd":"x"}`), Marked: true}, ""},
		{"marked, escaped", `{"\u0024ring\u0064":"x"}`, jsonvalue.Shape{Marked: true}, ""},
		{"nothing", ``, jsonvalue.Shape{}, "not one JSON value"},
		{"torn", `[1`, jsonvalue.Shape{}, "not one JSON value"},
		{"two", `1 2`, jsonvalue.Shape{}, "not one JSON value"},
		{"bytes", "\"\xff\"", jsonvalue.Shape{}, "not UTF-8"},
		{"deep", strings.Repeat("[", 101) + strings.Repeat("]", 101), jsonvalue.Shape{}, "nested deeper"},
		{"very deep", strings.Repeat(`{"$ringd":`, 500) + "1" + strings.Repeat("}", 500), jsonvalue.Shape{}, "nested deeper"},
		{"exponent", `1e1000`, jsonvalue.Shape{}, "exponent"},
		{"exponent, padded", `[1e+000999]`, jsonvalue.Shape{List: true, Count: 1, First: []byte(`1e+000999`)}, ""},
		{"digits", strings.Repeat("1", 401), jsonvalue.Shape{}, "characters"},
		{"numbers in a string", `"1e99999999"`, jsonvalue.Shape{}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := jsonvalue.Scan([]byte(test.in))
			if test.error != "" {
				if err == nil || !strings.Contains(err.Error(), test.error) {
					t.Errorf("error %v, want %q", err, test.error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name, schema, in string
		marked           bool
		want             string // the value, or after "!" a part of the error
	}{
		{"plain", `{"type":"object"}`, `{"b":1,"a":2}`, false, `{"a":2,"b":1}`},
		{"number keeps its digits", `{"type":"integer"}`, `12345678901234567890`, false, `12345678901234567890`},
		{"first mistake", `{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",7]}`, false, `!$.a.1: got number, want string`},
		{"unknown member", `{"additionalProperties":false}`, `{"__proto__":1}`, false, `!additional properties '__proto__' not allowed`},
		{"format", `{"format":"uri"}`, `"not a uri"`, false, `!is not valid uri`},
		{"undefined member", `{"additionalProperties":false,"properties":{"a":{}}}`, `{"a":1,"b":{"$ringd":"undefined"}}`, true, `{"a":1}`},
		{"undefined required member", `{"required":["b"]}`, `{"b":{"$ringd":"undefined"}}`, true, `!missing property 'b'`},
		{"minus zero", `{"type":"number"}`, `{"$ringd":"number","value":"-0"}`, true, `0`},
		{"not a number", `{"type":"object"}`, `{"$ringd":"number","value":"NaN"}`, true, `!$ is not plain JSON (number)`},
		{"map", `{}`, `{"a":[{"$ringd":"map","value":[]}]}`, true, `!$.a[0] is not plain JSON (map)`},
		{"undefined in a list", `{}`, `[{"$ringd":"undefined"}]`, true, `!$[0] is not plain JSON`},
		{"kind is an object", `{}`, `{"$ringd":{"$ringd":1}}`, true, `!$ is not plain JSON`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := jsonvalue.Compile([]byte(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			got, err := jsonvalue.Validate([]byte(test.in), test.marked, s)
			if part, bad := strings.CutPrefix(test.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "ringd:") {
					t.Errorf("error %v, want %q", err, part)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("%s %v, want %s", got, err, test.want)
			}
		})
	}
}

// Schemas that are compiled together all have to fit, and do not see each other: what one
// evaluates is not evaluated for the next.
func TestSeveralSchemas(t *testing.T) {
	s, err := jsonvalue.Compile(
		[]byte(`{"properties":{"a":{"$ref":"#/$defs/n"}},"unevaluatedProperties":false,"$defs":{"n":{"type":"integer"}}}`),
		[]byte(`{"properties":{"a":{"maximum":3},"b":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	for in, fits := range map[string]bool{`{"a":3}`: true, `{"a":4}`: false, `{"a":"x"}`: false, `{"a":1,"b":1}`: false,
		`{}`: true} {
		if _, err := jsonvalue.Validate([]byte(in), false, s); (err == nil) != fits {
			t.Errorf("%s: %v", in, err)
		}
	}
	if _, err := jsonvalue.Compile([]byte(`true`), []byte(`{"type":"strnig"}`)); err == nil {
		t.Error("a schema that is none was compiled with another")
	}
}

// TestKnown: a value has to fit every text that is not empty, and a text is compiled once.
func TestKnown(t *testing.T) {
	a, b := json.RawMessage(`{"type":"integer"}`), json.RawMessage(`{"maximum":3}`)
	k := jsonvalue.Known{}
	for in, fits := range map[string]bool{`3`: true, `4`: false, `"x"`: false} {
		if err := k.Fit(json.RawMessage(in), a, nil, b); (err == nil) != fits {
			t.Errorf("%s: %v", in, err)
		}
	}
	if err := k.Fit(json.RawMessage(`"x"`), nil); err != nil || len(k) != 1 {
		t.Errorf("without a text: %v, %d known", err, len(k))
	}
	if err := k.Fit(json.RawMessage(`1`), json.RawMessage(`{"type":"strnig"}`)); err == nil {
		t.Error("a schema that is none let a value pass")
	}
	one, _ := k.Compile(nil, a, b)
	if again, err := (jsonvalue.Known{}).Compile(k, a, b); err != nil || again != one {
		t.Errorf("compiled again: %v", err)
	}
}

func TestSchemasLoadNothing(t *testing.T) {
	for _, text := range []string{`{"$ref":"http://127.0.0.1:9/x"}`, `{"$ref":"file:///etc/passwd"}`,
		`{"$ref":"other.json"}`,
		`{"$schema":"https://example.com/meta"}`, `{"$dynamicRef":"https://example.com/x"}`, `{`, `7`, `{"type":"strnig"}`, `{"pattern":"(?=x)"}`} {
		if _, err := jsonvalue.Compile([]byte(text)); err == nil {
			t.Errorf("%s was compiled", text)
		}
	}
}

// The longest messages stay short, whatever the names in a value are.
func TestFindingsAreBounded(t *testing.T) {
	s, err := jsonvalue.Compile([]byte(`{"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = jsonvalue.Validate([]byte(`{"`+strings.Repeat("é", 5000)+`":1}`), false, s)
	if err == nil || len(err.Error()) > 500 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

// A value that passes means the same to another reader of JSON.
func FuzzValidate(f *testing.F) {
	for _, in := range []string{`{"a":1,"a":"x"}`, `[{"$ringd":"undefined"}]`, `{"$ringd":"map","value":[[1,2]]}`,
		`1e400`,
		`{"\ud800":1}`, `{"__proto__":{"a":1}}`, `[[[[1]]]]`, `"\u0000"`, `{"a":{"$ringd":"undefined"}}`, `-0`, `{"$ringd":"hole"}`} {
		f.Add([]byte(in))
	}
	s, err := jsonvalue.Compile([]byte(`{"type":["object","array","number"],"properties":{"a":{"type":"integer","minimum":3,"multipleOf":0.5}},
		"items":{"anyOf":[{"type":"string","pattern":"^[a-z]+$"},{"type":"object","maxProperties":2}]},"uniqueItems":true}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		sh, err := jsonvalue.Scan(in)
		if err != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatal("passed and is not JSON")
		}
		if sh.List {
			var list []json.RawMessage
			if err := json.Unmarshal(in, &list); err != nil || len(list) != sh.Count {
				t.Fatalf("%d elements, counted %d: %v", len(list), sh.Count, err)
			}
			if len(list) > 0 && string(list[0]) != string(sh.First) {
				t.Fatalf("first %q, want %q", sh.First, list[0])
			}
		}
		out, err := jsonvalue.Validate(in, sh.Marked, s)
		if err != nil {
			return
		}
		again, err := jsonvalue.Scan(out)
		if err != nil || again.Marked {
			t.Fatalf("the plain form %q: %v, marked %v", out, err, again.Marked)
		}
		twice, err := jsonvalue.Validate(out, false, s)
		if err != nil || string(twice) != string(out) {
			t.Fatalf("not stable: %q then %q: %v", out, twice, err)
		}
	})
}
