package guardrail

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Schemas returns the JSON Schemas of the guardrail inputs, by the value of `on`.
func Schemas() map[string]any {
	return map[string]any{
		OnPolicy: titled("What a guardrail on the policy sees", schemaOf(reflect.TypeFor[Input]())),
		OnCall:   titled("What a guardrail on calls sees", schemaOf(reflect.TypeFor[Call]())),
	}
}

func titled(title string, s map[string]any) map[string]any {
	s["$schema"], s["title"] = "http://json-schema.org/draft-07/schema#", title
	return s
}

// schemaOf returns the JSON Schema of a type of this package. Objects have exactly the listed fields.
func schemaOf(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[json.RawMessage]() { // any value: the arguments of a call
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Struct:
		return objectOf(t)
	default:
		return map[string]any{"not": map[string]any{}} // not used by this package
	}
}

func objectOf(t reflect.Type) map[string]any {
	fields, names := map[string]any{}, []string{}
	for f := range t.Fields() {
		one := schemaOf(f.Type)
		if text := f.Tag.Get("doc"); text != "" {
			one["description"] = text
		}
		if text, ok := f.Tag.Lookup("enum"); ok {
			one["enum"] = anyOf(strings.Split(text, ","))
		}
		name := f.Tag.Get("json")
		fields[name], names = one, append(names, name)
	}
	slices.Sort(names)
	return map[string]any{"type": "object", "additionalProperties": false, "properties": fields,
		"required": anyOf(names)}
}

func anyOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}
