package profiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds of the schema in a grant.
const (
	maxGrantSchemaBytes = 16 << 10
	maxGrantSchemaDepth = 16
)

// grantSchema gives the canonical form of a schema that narrows arguments. It
// takes the part of JSON Schema 2020-12 that says something about one value and
// refers to nothing: a keyword that nothing checks would narrow nothing. The
// ring compiles the schema, which finds the rest.
func grantSchema(text []byte) (json.RawMessage, error) {
	if len(text) > maxGrantSchemaBytes {
		return nil, fmt.Errorf("the schema has more than %d bytes", maxGrantSchemaBytes)
	}
	if err := plainJSON(text, "schema"); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the schema is not JSON")
	}
	if err := checkGrantSchema(v, 0); err != nil {
		return nil, err
	}
	return Canonical(text)
}

// keywordKind says what stands in a keyword.
type keywordKind uint8

const (
	unknownKeyword keywordKind = iota
	plainKeyword               // no schema
	schemaKeyword              // a schema
	listKeyword                // a list of schemas
	mapKeyword                 // schemas by name
)

func keyword(name string) keywordKind {
	switch name {
	case "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
		"pattern", "minItems", "maxItems", "uniqueItems", "required", "minProperties", "maxProperties", "minContains", "maxContains",
		"dependentRequired", "title", "description":
		return plainKeyword
	case "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else":
		return schemaKeyword
	case "prefixItems", "allOf", "anyOf", "oneOf":
		return listKeyword
	case "properties", "patternProperties", "dependentSchemas":
		return mapKeyword
	default:
		return unknownKeyword
	}
}

func checkGrantSchema(v any, depth int) error {
	if depth > maxGrantSchemaDepth {
		return fmt.Errorf("the schema is nested deeper than %d", maxGrantSchemaDepth)
	}
	if _, is := v.(bool); is {
		return nil
	}
	object, is := v.(map[string]any)
	if !is {
		return errors.New("a schema is an object, true or false")
	}
	for name, value := range object {
		var below []any
		switch keyword(name) {
		case plainKeyword:
			if err := exactNumbers(value); err != nil {
				return err
			}
		case schemaKeyword:
			below = []any{value}
		case listKeyword:
			list, ok := value.([]any)
			if !ok || len(list) == 0 {
				return fmt.Errorf("%s is a list of schemas", name)
			}
			below = list
		case mapKeyword:
			named, ok := value.(map[string]any)
			if !ok {
				return fmt.Errorf("%s is an object of schemas", name)
			}
			for _, s := range named {
				below = append(below, s)
			}
		case unknownKeyword:
			return fmt.Errorf("%q is not a keyword that a grant may use", clip(name))
		default:
			return fmt.Errorf("%q is not a keyword that a grant may use", clip(name))
		}
		for _, s := range below {
			if err := checkGrantSchema(s, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// exactNumbers refuses numbers that canonical JSON would change.
func exactNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		i, whole := v.Int64()
		mantissa, _, _ := strings.Cut(strings.ToLower(string(v)), "e")
		integer := !strings.ContainsAny(string(v), ".eE")
		switch {
		case err != nil, f == 0 && strings.ContainsAny(mantissa, "123456789"),
			integer && (whole != nil || i > maxExact || i < -maxExact):
			return fmt.Errorf("no double holds the number %s", clip(string(v)))
		}
	case []any:
		for _, e := range v {
			if err := exactNumbers(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := exactNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// plainJSON refuses text that two readers may take for different values: not
// UTF-8, half characters, repeated keys, text after the value.
func plainJSON(b []byte, what string) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("the %s are not UTF-8", what)
	}
	if err := noRepeats(b); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the %s end early", what)
		}
		return err
	}
	if loneSurrogate(b) {
		return fmt.Errorf("the %s escape half a character", what)
	}
	return nil
}
