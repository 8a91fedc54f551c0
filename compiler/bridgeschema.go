package compiler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringd/ringd/profiles"
)

// Limits of a bridge's JSON Schema.
const (
	maxSchemaBytes = 64 << 10
	maxSchemaDepth = 32
	maxSchemaParts = 2_000
)

// checkBridgeSchema returns the canonical form of a bridge's JSON Schema. It rejects keywords and formats
// that the validator ignores, references out of the schema, and schemas whose check is more expensive than a
// call may be.
func checkBridgeSchema(text []byte) (json.RawMessage, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema is above %dKiB", maxSchemaBytes>>10)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("the schema is not JSON")
	}
	if err := exactJSON(doc, 0); err != nil {
		return nil, err
	}
	const here = "ringd:schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(here, doc); err != nil {
		return nil, schemaError(err)
	}
	compiled, err := c.Compile(here)
	if err != nil {
		return nil, schemaError(err)
	}
	if err := exactKeywords(doc, "", oldDraft(doc)); err != nil {
		return nil, err
	}
	if err := (&schemaCost{memo: map[*jsonschema.Schema]int{}}).check(compiled); err != nil {
		return nil, err
	}
	return profiles.Canonical(text)
}

// exactJSON rejects deep nesting, and numbers that lose digits in canonical JSON.
func exactJSON(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("the schema is nested deeper than %d", maxSchemaDepth)
	}
	switch v := v.(type) {
	case json.Number:
		return exactNumber(v)
	case []any:
		for _, e := range v {
			if err := exactJSON(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := exactJSON(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func exactNumber(n json.Number) error {
	const most = 1<<53 - 1
	whole := !strings.ContainsAny(string(n), ".eE")
	if i, err := n.Int64(); whole && (err != nil || i > most || i < -most) {
		return fmt.Errorf("the number %s is larger than a double holds exactly", clip(string(n)))
	}
	if f, err := n.Float64(); err != nil || f == 0 && strings.ContainsAny(string(n), "123456789") && isTiny(string(n)) {
		return fmt.Errorf("the number %s is not one that a double holds", clip(string(n)))
	}
	return nil
}

// isTiny reports whether a number has a hugely negative exponent: the validator computes
// exactly, digit by digit.
func isTiny(n string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	return strings.ContainsAny(mantissa, "123456789")
}

// schemaCost counts the schemas that one value is checked against. A validator follows every reference, so
// references to references double the work at each level. If a schema refers to itself, the work grows with
// the size of the value, which a guest chooses.
type schemaCost struct {
	memo map[*jsonschema.Schema]int // 0: being counted
}

var (
	errRecursive = errors.New("the schema refers to itself: write out the levels that a value may have")
	errExpensive = fmt.Errorf("the schema has more than %d parts once its references are followed", maxSchemaParts)
)

func (c *schemaCost) check(s *jsonschema.Schema) error {
	_, err := c.of(s)
	return err
}

func (c *schemaCost) of(s *jsonschema.Schema) (int, error) {
	if n, seen := c.memo[s]; seen {
		if n == 0 {
			return 0, errRecursive
		}
		return n, nil
	}
	c.memo[s] = 0
	if s.RecursiveRef != nil || s.DynamicRef != nil {
		return 0, errRecursive
	}
	total := 1
	for _, part := range schemaParts(reflect.ValueOf(*s)) {
		n, err := c.of(part)
		if err != nil {
			return 0, err
		}
		if total += n; total > maxSchemaParts {
			return 0, errExpensive
		}
	}
	c.memo[s] = total
	return total, nil
}

// schemaParts lists every schema below v in any field, so that fields added by later versions of the library
// are counted too.
func schemaParts(v reflect.Value) (parts []*jsonschema.Schema) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[jsonschema.Schema]() {
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					parts = append(parts, schemaParts(v.Field(i))...)
				}
			}
		}
	case reflect.Pointer:
		if s, ok := v.Interface().(*jsonschema.Schema); ok && s != nil {
			return []*jsonschema.Schema{s}
		}
	case reflect.Interface:
		if !v.IsNil() {
			return schemaParts(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, schemaParts(v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			parts = append(parts, schemaParts(v.MapIndex(key))...)
		}
	}
	return parts
}

// noLoader rejects every reference to another document.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s; a schema may refer only to itself", clip(url))
}

// schemaError shortens an error of the validator to one line, without the name that the validator gives to
// the text.
func schemaError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var verr *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &verr) {
		for len(verr.Causes) > 0 {
			verr = verr.Causes[0]
		}
		where := "/" + strings.Join(verr.InstanceLocation, "/")
		lines := strings.Split(verr.Error(), "\n")
		_, what, _ := strings.Cut(lines[len(lines)-1], "': ")
		return fmt.Errorf("not a JSON Schema: at %s: %s", clip(where), clipLine(what))
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("not a JSON Schema: %w", load.Err)
	}
	return fmt.Errorf("not a JSON Schema: %s", clipLine(strings.ReplaceAll(err.Error(), "ringd:schema", "")))
}

func clipLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 160 {
		return string(slices.Concat(r[:160], []rune("…")))
	}
	return s
}
