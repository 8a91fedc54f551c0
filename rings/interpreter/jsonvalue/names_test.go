package jsonvalue_test

import (
	"testing"

	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// An object has a name once, however it is written. Values, names of other objects and text
// that looks like a member do not count.
func TestOnce(t *testing.T) {
	for in, want := range map[string]bool{
		`[]`:                                true,
		`[1,"a","a"]`:                       true,
		`{"a":1,"A":1,"b":"a"}`:             true,
		`[{"a":{"a":[{"a":1},{"a":2}]}}]`:   true,
		`{"a":"\"b\":1","b":1}`:             true,
		`{"a":1,"a":1}`:                     false,
		`[{"amount":500,"amount":5}]`:       false,
		"{\"a\" \n:1,\"\\u0061\":2}":        false,
		`{"x":{"a":1,"b":[{}],"a":2}}`:      false,
		`{"":1,"":2}`:                       false,
		`{"\ud800":1,"\ud801":2}`:           false, // readers make one of them
		`[[{"$ringd":"map","$ringd":"b"}]]`: false,
	} {
		if err := jsonvalue.Once([]byte(in)); (err == nil) != want {
			t.Errorf("%s: %v", in, err)
		}
	}
}
