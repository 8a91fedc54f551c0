package guardrail

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Schemas returns the JSON Schemas of the guardrail inputs, by the value of `on`.
func Schemas() map[string]any {
	shown := shownFields(nil)
	return map[string]any{
		OnPolicy: titled("What a guardrail on the policy sees", schemaOf(reflect.TypeFor[Input](), shown)),
		OnCall:   titled("What a guardrail on calls sees", schemaOf(reflect.TypeFor[Call](), shown)),
	}
}

func titled(title string, s map[string]any) map[string]any {
	s["$schema"], s["title"] = "http://json-schema.org/draft-07/schema#", title
	return s
}

// schemaOf returns the JSON Schema of a value in the input of a guardrail. Objects have exactly the listed fields.
func schemaOf(t reflect.Type, shown map[string]property) map[string]any {
	switch t {
	case reflect.TypeFor[json.RawMessage](): // any value: the arguments of a call
		return map[string]any{}
	case reflect.TypeFor[Effective]():
		t = reflect.TypeFor[profiles.Agent]()
	case reflect.TypeFor[profiles.ImportRule](), reflect.TypeFor[profiles.PathRule](),
		reflect.TypeFor[profiles.Pattern](), reflect.TypeFor[profiles.AskRule](), reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string"}
	case reflect.TypeFor[*profiles.Rule]():
		return map[string]any{"type": "boolean"}
	case reflect.TypeFor[*int64](): // a limit
		return map[string]any{"type": "integer"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(t.Elem(), shown), map[string]any{"type": "null"}}}
	case reflect.Slice, reflect.Map:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), shown)}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Struct:
		return objectSchema(propertiesOf(t, shown), shown)
	default:
		return map[string]any{"not": map[string]any{}} // no input has a value of this type
	}
}

func objectSchema(of []property, shown map[string]property) map[string]any {
	fields, inside := map[string]any{}, map[string][]property{}
	for _, p := range of {
		if around, name, dotted := strings.Cut(p.name, "."); dotted {
			p.name = name
			inside[around] = append(inside[around], p)
			continue
		}
		one := schemaOf(p.of, shown)
		if p.doc != "" {
			one["description"] = p.doc
		}
		if p.enum != "" {
			one["type"], one["enum"] = "string", anyOf(strings.Split(p.enum, ","))
		}
		fields[p.name] = one
	}
	for around, list := range inside {
		fields[around] = objectSchema(list, shown)
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": fields,
		"required": anyOf(slices.Sorted(maps.Keys(fields)))}
}

func anyOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}
