package pause_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// fill sets every field below v to a value that is not zero, but for policies.
func fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1e9, 0).UTC()))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":1}`))
		return
	case reflect.TypeFor[profiles.Agent](), reflect.TypeFor[profiles.Decision]():
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	}
}

// TestNamesOnDisk compares the JSON names of a record and of its calls, in their order, with
// those of the records that are on disk already.
func TestNamesOnDisk(t *testing.T) {
	var r pause.Record
	fill(reflect.ValueOf(&r).Elem())
	b, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:9d5066ac6842772977b3add34f627341fb4f4f44d3daadd4490684ddc8f813c7"
	if got := pause.Digest(b); got != want {
		t.Errorf("digest %s, want %s: the JSON of a record has changed:\n%s", got, want, b)
	}
}
