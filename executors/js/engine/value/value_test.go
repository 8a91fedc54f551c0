package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/js/engine/value"
)

func limits() value.Limits { return value.Limits{Bytes: 1 << 20, Nodes: 10_000} }

func valid() []string {
	return []string{
		`null`, `true`, ` false `, `0`, `-1.5e+10`, `"a\u0041\n"`, `[]`, `[1, [2, {}]]`, `{"a":{"b":[1]},"__proto__":{"x":1}}`,
		`{"$ringd":"undefined"}`,
		`{"$ringd":"number","value":"NaN"}`, `{"$ringd":"number","value":"-0"}`, `{"$ringd":"number","value":"-Infinity"}`,
		`{"$ringd":"bigint","value":"-120"}`, `{"$ringd":"bigint","value":"0"}`,
		`{"$ringd":"date","value":"2024-02-03T04:05:06.007Z"}`, `{"$ringd":"date","value":null}`,
		`{"$ringd":"date","id":3,"value":"-271821-04-20T00:00:00.000Z"}`,
		`{"$ringd":"map","value":[[1,2],[{"a":1},{"$ringd":"set","value":[1,2]}]]}`,
		`{"$ringd":"set","id":1,"value":[{"$ringd":"ref","id":1}]}`,
		`{"$ringd":"bytes","type":"Uint8Array","value":"AQID"}`, `{"$ringd":"bytes","id":9,"type":"Float64Array","value":"AAAAAAAAAAA="}`,
		`{"$ringd":"error","name":"TypeError","message":"no \"x\""}`, `{"$ringd":"regexp","source":"a\\d","flags":"gi"}`,
		`{"$ringd":"object","id":1,"value":{"self":{"$ringd":"ref","id":1}}}`,
		`{"$ringd":"array","id":1,"value":[{"$ringd":"hole"},{"$ringd":"ref","id":1}]}`,
		`{"$ringd":"entries","value":[["$ringd",1],["a",{"$ringd":"undefined"}]]}`,
		`[{"$ringd":"hole"}]`, strings.Repeat("[", value.MaxDepth) + strings.Repeat("]", value.MaxDepth),
	}
}

func invalid() map[string]string {
	return map[string]string{
		"nothing":                      ``,
		"two values":                   `1 2`,
		"not UTF-8":                    "\"\xff\"",
		"control character":            "\"\n\"",
		"unknown escape":               `"\x"`,
		"half an escape":               `"\u00g0"`,
		"open string":                  `"a`,
		"leading zero":                 `01`,
		"bare point":                   `1.`,
		"NaN":                          `NaN`,
		"comma at the end":             `[1,]`,
		"comma in an object":           `{"a":1,}`,
		"key without quotes":           `{a:1}`,
		"too deep":                     strings.Repeat("[", value.MaxDepth+1) + strings.Repeat("]", value.MaxDepth+1),
		"unknown tag":                  `{"$ringd":"function"}`,
		"tag that is no string":        `{"$ringd":1}`,
		"mark not first":               `{"a":1,"$ringd":"undefined"}`,
		"escaped mark":                 `{"\u0024ringd":"undefined"}`,
		"escaped mark, second":         `{"a":1,"$\u0072ingd":1}`,
		"more keys":                    `{"$ringd":"undefined","x":1}`,
		"keys in another order":        `{"$ringd":"error","message":"a","name":"b"}`,
		"number that JSON has":         `{"$ringd":"number","value":"1"}`,
		"bigint with a point":          `{"$ringd":"bigint","value":"1.0"}`,
		"bigint in hexadecimal":        `{"$ringd":"bigint","value":"0x1"}`,
		"bigint with zeros":            `{"$ringd":"bigint","value":"00"}`,
		"empty bigint":                 `{"$ringd":"bigint","value":"-"}`,
		"date in words":                `{"$ringd":"date","value":"yesterday"}`,
		"date with an offset":          `{"$ringd":"date","value":"2024-02-03T04:05:06.007+02:00"}`,
		"ref to nothing":               `{"$ringd":"ref","id":1}`,
		"ref forward":                  `[{"$ringd":"ref","id":1},{"$ringd":"object","id":1,"value":{}}]`,
		"id twice":                     `[{"$ringd":"set","id":1,"value":[]},{"$ringd":"set","id":1,"value":[]}]`,
		"id zero":                      `{"$ringd":"set","id":0,"value":[]}`,
		"id with a sign":               `{"$ringd":"set","id":-1,"value":[]}`,
		"object without an id":         `{"$ringd":"object","value":{}}`,
		"object of an array":           `{"$ringd":"object","id":1,"value":[]}`,
		"mark in a tagged object":      `{"$ringd":"object","id":1,"value":{"$ringd":"undefined"}}`,
		"map of values":                `{"$ringd":"map","value":[1]}`,
		"map of triples":               `{"$ringd":"map","value":[[1,2,3]]}`,
		"entries with a number as key": `{"$ringd":"entries","value":[[1,2]]}`,
		"hole outside an array":        `{"$ringd":"hole"}`,
		"hole in an object":            `{"a":{"$ringd":"hole"}}`,
		"hole in a set":                `{"$ringd":"set","value":[{"$ringd":"hole"}]}`,
		"unknown bytes":                `{"$ringd":"bytes","type":"Buffer","value":""}`,
		"half an element":              `{"$ringd":"bytes","type":"Uint16Array","value":"AQID"}`,
		"not base64":                   `{"$ringd":"bytes","type":"Uint8Array","value":"A"}`,
		"base64 with a line break":     `{"$ringd":"bytes","type":"Uint8Array","value":"AQ\nID"}`,
		"flags twice":                  `{"$ringd":"regexp","source":"a","flags":"gg"}`,
		"unknown flags":                `{"$ringd":"regexp","source":"a","flags":"x"}`,
	}
}

func TestCheck(t *testing.T) {
	for _, text := range valid() {
		if err := value.Check([]byte(text), limits()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for name, text := range invalid() {
		t.Run(name, func(t *testing.T) {
			if err := value.Check([]byte(text), limits()); !errors.Is(err, value.ErrInvalid) {
				t.Errorf("%s: %v, want a refusal", text, err)
			}
		})
	}
}

func TestCheckLimits(t *testing.T) {
	text := []byte(`[1,[2,3]]`)
	for _, l := range []value.Limits{{}, {Bytes: 8, Nodes: 5}, {Bytes: 9, Nodes: 4}} {
		if err := value.Check(text, l); !errors.Is(err, value.ErrInvalid) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if err := value.Check(text, value.Limits{Bytes: 9, Nodes: 5}); err != nil {
		t.Error(err)
	}
}

func TestFromJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `{"a":[1,2]}`, `{"a":[1,2]}`},
		{"forged tag", `{"$ringd":"undefined"}`, `{"$ringd":"entries","value":[["$ringd","undefined"]]}`},
		{"forged tag inside", `[1,{"a":{"$ringd":"ref","id":1}}]`, `[1,{"a":{"$ringd":"entries","value":[["$ringd","ref"],["id",1]]}}]`},
		{"escaped mark", `{"\u0024ringd":"hole","b":2}`, `{"$ringd":"entries","value":[["$ringd","hole"],["b",2]]}`},
		{"halves of pairs stay apart", `{"\ud800": "\udc00", "\ud801" : ["\ud83d\ude00"]}`, `{"\ud800":"\udc00","\ud801":["\ud83d\ude00"]}`},
		{"halves beside a mark", `{"$ringd":"\ud800","\ud801":{ }}`, `{"$ringd":"entries","value":[["$ringd","\ud800"],["\ud801",{}]]}`},
		{"text stays as written", `["\u0061\/", 1.50e+01 ,null,true]`, `["\u0061\/",1.50e+01,null,true]`},
		{"mark as a value", `["$ringd"]`, `["$ringd"]`},
		{"big numbers stay", `{"$ringd":12345678901234567890}`, `{"$ringd":"entries","value":[["$ringd",12345678901234567890]]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := value.FromJSON([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if err := value.Check(got, limits()); err != nil {
				t.Error(err)
			}
		})
	}
	for _, bad := range []string{``, `{`, `1 2`, `{"$ringd":1} 2`} {
		if _, err := value.FromJSON([]byte(bad)); !errors.Is(err, value.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// FuzzCheck: no panic, and what is accepted is JSON.
func FuzzCheck(f *testing.F) {
	for _, s := range valid() {
		f.Add([]byte(s))
	}
	for _, s := range invalid() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := value.Check(text, limits())
		if err == nil && !json.Valid(text) {
			t.Errorf("accepted what is not JSON: %q", text)
		}
		if err != nil && !errors.Is(err, value.ErrInvalid) {
			t.Errorf("refused without a reason: %v", err)
		}
	})
}

// FuzzFromJSON: every JSON value becomes a valid tagged one, and no object of it
// keeps the mark.
func FuzzFromJSON(f *testing.F) {
	for _, s := range valid() {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"\u0024ringd":1}`))
	f.Add([]byte(`{"\ud800":1,"\ud801":{"$ringd":[]}}`))
	f.Fuzz(func(t *testing.T, plain []byte) {
		tagged, err := value.FromJSON(plain)
		if err != nil {
			return
		}
		l := value.Limits{Bytes: 1 << 30, Nodes: 1 << 30}
		if err := value.Check(tagged, l); err != nil && !strings.Contains(err.Error(), "nested deeper") &&
			!strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("%q became %q: %v", plain, tagged, err)
		}
		if !bytes.Contains(tagged, []byte(value.Mark)) {
			var want bytes.Buffer
			if err := json.Compact(&want, plain); err != nil || want.String() != string(tagged) &&
				string(plain) != string(tagged) {
				t.Errorf("%q became %q", plain, tagged)
			}
		}
	})
}
