package canonjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Strict decodes the flat object raw into the struct that v points to. Names must match exactly:
// encoding/json alone would accept "Argv" for "argv".
func Strict(kind string, raw json.RawMessage, v any, required ...string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return fmt.Errorf("%s is a JSON object", kind)
	}
	known := Fields(reflect.TypeOf(v).Elem())
	for name, value := range fields {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s has no field %q: it has %s", kind, Clip(name), strings.Join(known, ", "))
		}
		if string(value) == "null" && name != "args" || !mayHoldNull(name) && holdsNull(value) {
			return fmt.Errorf("%s.%s is or holds null", kind, name)
		}
	}
	for _, name := range required {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("%s.%s is missing", kind, name)
		}
	}
	if err := json.Unmarshal(raw, v); err != nil {
		var bad *json.UnmarshalTypeError
		if errors.As(err, &bad) {
			return fmt.Errorf("%s.%s cannot be a %s", kind, bad.Field, bad.Value)
		}
		return fmt.Errorf("%s is not valid", kind)
	}
	return nil
}

// Fields returns the JSON names of the fields of a struct in their order, including those of embedded
// structs.
func Fields(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// mayHoldNull reports whether a field holds JSON that belongs to the caller, where null is allowed.
func mayHoldNull(name string) bool { return name == "args" || name == "arguments" || name == "bridges" }

// holdsNull reports whether a JSON value contains null, which encoding/json would read as an empty value.
func holdsNull(value json.RawMessage) bool {
	for dec := json.NewDecoder(bytes.NewReader(value)); ; {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		if tok == nil {
			return true
		}
	}
}

// ReplaceTail replaces the suffix from of b by to. It returns false if b does not end with from.
func ReplaceTail(b []byte, from, to string) ([]byte, bool) {
	head, ok := bytes.CutSuffix(b, []byte(from))
	if !ok {
		return nil, false
	}
	return append(append([]byte(nil), head...), to...), true
}
