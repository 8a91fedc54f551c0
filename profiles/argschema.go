package profiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ringd/ringd/profiles/canonjson"
)

// Limits of the schema in a grant.
const (
	maxSchemaBytes = 16 << 10
	maxSchemaDepth = 16
)

// canonicalArguments returns the canonical form of a schema that narrows arguments. It accepts the part of
// JSON Schema 2020-12 that constrains one value and has no references. An unknown keyword is rejected, since
// it would narrow nothing. The ring compiles the schema and finds the other errors.
func canonicalArguments(text []byte) (json.RawMessage, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema has more than %d bytes", maxSchemaBytes)
	}
	if err := canonjson.Check(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the schema is not JSON")
	}
	if err := check(v, 0); err != nil {
		return nil, err
	}
	return canonjson.Canonical(text)
}

// keywordKind says what kind of value a keyword has.
type keywordKind uint8

const (
	unknownKeyword keywordKind = iota
	plainKeyword               // not a schema
	schemaKeyword              // a schema
	listKeyword                // a list of schemas
	mapKeyword                 // schemas by name
)

func keyword(name string) keywordKind {
	switch name {
	case "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength",
		"pattern", "minItems", "maxItems", "uniqueItems", "required", "minProperties", "maxProperties", "minContains",
		"maxContains",
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

func check(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("the schema is nested deeper than %d", maxSchemaDepth)
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
			return fmt.Errorf("%q is not a keyword that a grant may use", canonjson.Clip(name))
		default:
			return fmt.Errorf("%q is not a keyword that a grant may use", canonjson.Clip(name))
		}
		for _, s := range below {
			if err := check(s, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// exactNumbers rejects numbers that canonical JSON would change.
func exactNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		i, whole := v.Int64()
		mantissa, _, _ := strings.Cut(strings.ToLower(string(v)), "e")
		integer := !strings.ContainsAny(string(v), ".eE")
		switch {
		case err != nil, f == 0 && strings.ContainsAny(mantissa, "123456789"),
			integer && (whole != nil || i > canonjson.MaxExact || i < -canonjson.MaxExact):
			return fmt.Errorf("no double holds the number %s", canonjson.Clip(string(v)))
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
