package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/schema/wire"
)

// maxDepth limits the nesting of a body.
const maxDepth = 100

func invalid(format string, args ...any) error {
	return &codedError{http.StatusBadRequest, wire.CodeRequestInvalid, fmt.Sprintf(format, args...)}
}

// body reads the whole body, with a size limit.
func (s *Server) body(c *call) ([]byte, error) {
	r := c.r
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" || (params["charset"] != "" &&
		!strings.EqualFold(params["charset"], "utf-8")) {
		return nil, &codedError{http.StatusUnsupportedMediaType, wire.CodeMediaType,
			"the body must be application/json in UTF-8"}
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &codedError{http.StatusUnsupportedMediaType, wire.CodeMediaType, "the body must not be encoded"}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.w, r.Body, s.cfg.BodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &codedError{http.StatusRequestEntityTooLarge, wire.CodeTooLarge,
			fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit)}
	case err != nil:
		return nil, invalid("the body could not be read")
	}
	c.read = true
	return raw, nil
}

// decode decodes one JSON value into v, a pointer. It refuses what encoding/json accepts: unknown and
// repeated fields, names in another case, trailing data, text that is not UTF-8, deep nesting.
func decode(raw []byte, v any) error {
	if err := wellFormed(raw); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return invalid("invalid body: %s", withoutGoTypes(err))
	}
	return exactNames(raw, reflect.TypeOf(v).Elem(), "")
}

// withoutGoTypes returns an error of encoding/json without the names of Go types.
func withoutGoTypes(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return cmp.Or(kind.Field, "it") + jsonKind(kind.Type) + ", not " + withArticle(kind.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// jsonKind returns the kind of JSON value of a Go type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.Struct, reflect.Map:
		return " must be an object"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			return " must be an array"
		}
		return " must be a base64 string"
	case reflect.String:
		return " must be a string"
	case reflect.Bool:
		return " must be true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return " must be an integer"
	default:
		return " has the wrong type"
	}
}

// withArticle returns the Value of a [json.UnmarshalTypeError] with its article. A number that does not fit is
// "number 1.5".
func withArticle(value string) string {
	switch {
	case value == "array", value == "object":
		return "an " + value
	case value == "bool":
		return "a boolean"
	case strings.HasPrefix(value, "number "):
		return strings.TrimPrefix(value, "number ")
	default:
		return "a " + value
	}
}

// wellFormed parses raw once: one value, no repeated name, limited depth.
func wellFormed(raw []byte) error {
	if !utf8.Valid(raw) {
		return invalid("the body is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []*level
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return invalid("the body is empty")
		}
		if err != nil {
			return invalid("the body is not JSON")
		}
		if open, err = step(open, tok); err != nil {
			return err
		}
		if len(open) == 0 {
			break
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("data after the JSON value")
	}
	return nil
}

// level is one open object or array.
type level struct {
	names  map[string]bool // nil for an array
	inside bool            // a name was read, and its value follows
}

func step(open []*level, tok json.Token) ([]*level, error) {
	var top *level
	if len(open) > 0 {
		top = open[len(open)-1]
	}
	if d, ok := tok.(json.Delim); ok && (d == '}' || d == ']') {
		return open[:len(open)-1], nil
	}
	if top != nil && top.names != nil && !top.inside {
		name, _ := tok.(string)
		if top.names[name] {
			return open, invalid("the name %q is twice in one object", clip(name))
		}
		top.names[name], top.inside = true, true
		return open, nil
	}
	if top != nil {
		top.inside = false
	}
	d, ok := tok.(json.Delim)
	switch {
	case !ok:
		return open, nil
	case len(open) == maxDepth:
		return open, invalid("the body is nested deeper than %d", maxDepth)
	case d == '{':
		return append(open, &level{names: map[string]bool{}}), nil
	default:
		return append(open, &level{}), nil
	}
}

// exactNames refuses names that encoding/json matched in another case. It also refuses null for a field of
// the caller: it would count as an omitted field, such as grants that narrow nothing.
func exactNames(raw []byte, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return invalid("%s is null; leave the field out instead",
			clip(cmp.Or(strings.TrimSuffix(path, "."), "the body")))
	}
	switch t.Kind() {
	case reflect.Struct:
		members := map[string]json.RawMessage{}
		if json.Unmarshal(raw, &members) != nil {
			return nil // a type with its own decoder
		}
		fields := map[string]reflect.Type{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			fields[name] = t.Field(i).Type
		}
		for name, member := range members {
			field, ok := fields[name]
			if !ok {
				return invalid("unknown field %q", clip(path+name))
			}
			if err := exactNames(member, field, path+name+"."); err != nil {
				return err
			}
		}
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return nil
		}
		for i, item := range items {
			if err := exactNames(item, t.Elem(), fmt.Sprintf("%s%d.", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// clip truncates text of a request in a message.
func clip(s string) string { return canonjson.Truncate(s, 80) }
