package api

// Inside the package: decode is the one way in for bodies and is not exported.

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ringd/ringd/schema/wire"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"executor":"js","program":{"source":"1+1"},"wait_ms":5}`,
		`{"executor":"js","program":{"source":"1"},"inputs":{"a":{"b":[1,2,{"c":null}]}}}`,
		`{"answers":[{"call":"c1","value":{"x":1}},{"call":"c2","error":{"message":"no"}}]}`,
		`{"Executor":"js"}`, `{"executor":"js","executor":"py"}`, `null`, `[]`, `{} {}`, `{"a":`, "\xff", `{"program":null}`,
		strings.Repeat("[", 200), `{"answers":[{"Call":"c1"}]}`, `{"verdict":"allow","digest":"d"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range []any{&wire.RunRequest{}, &wire.Answers{}, &wire.ApprovalAnswer{}} {
			err := decode(raw, v)
			if err != nil {
				var own *codedError
				if !errors.As(err, &own) || own.status != http.StatusBadRequest {
					t.Fatalf("%T: %v is no refusal with a code", v, err)
				}
				continue
			}
			// What was taken says the same when it is written and read again.
			again, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			other := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			if err := decode(again, other); err != nil {
				t.Fatalf("%s was taken, %s is refused: %v", raw, again, err)
			}
			once, err := json.Marshal(other)
			if err != nil || !bytes.Equal(again, once) {
				t.Fatalf("%s and %s, %v", again, once, err)
			}
		}
	})
}

func FuzzMatches(f *testing.F) {
	f.Add(`"sha256:1"`, "sha256:1")
	f.Add(`W/"a", "b"`, "b")
	f.Add(`*`, "")
	f.Fuzz(func(t *testing.T, header, revision string) {
		if matches(header, revision) && header != "*" && !strings.Contains(header, "*") &&
			!strings.Contains(header, revision) {
			t.Fatalf("%q matches %q", header, revision)
		}
	})
}
