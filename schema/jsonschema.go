package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// JSONSchema returns a JSON Schema (draft 7, which editors know) of both forms,
// made from policy.cue. What it accepts is close to what Decode accepts; what
// compares two values, such as a name used twice, only Decode knows.
func JSONSchema() ([]byte, error) {
	defs, err := shapes(policyCUE)
	if err != nil {
		return nil, err
	}
	definitions := map[string]any{}
	for name, s := range defs {
		definitions[strings.TrimPrefix(name, "#")] = s.body()
	}
	required := func(name string) map[string]any { return map[string]any{"required": []string{name}} }
	short := []any{}
	for _, f := range defs["#Compact"].fields {
		short = append(short, required(f.name))
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"title":       "ringd policy",
		"description": "A policy for the code of agents, in the full language or in the compact form.",
		"type":        "object",
		"if":          map[string]any{"anyOf": short},
		"then":        map[string]any{"$ref": "#/definitions/Compact"},
		"else":        map[string]any{"$ref": "#/definitions/Policy"},
		"definitions": definitions,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the JSON Schema: %w", err)
	}
	return append(text, '\n'), nil
}

// ref is s where it is used: by name if it has one.
func (s *shape) ref() map[string]any {
	if s.name != "" {
		return map[string]any{"$ref": "#/definitions/" + strings.TrimPrefix(s.name, "#")}
	}
	return s.body()
}

func (s *shape) body() map[string]any {
	out := map[string]any{}
	if s.doc != "" {
		out["description"] = s.doc
	}
	if s.any {
		return out
	}
	switch s.kind {
	case kindObject:
		s.objectSchema(out)
	case kindList:
		out["type"], out["items"] = "array", s.item.ref()
		if s.least > 0 {
			out["minItems"] = s.least
		}
	case kindString:
		s.textSchema(out)
	case kindInt:
		out["type"] = "integer"
		if s.min != nil {
			out["minimum"] = *s.min
		}
		if s.max != nil {
			out["maximum"] = *s.max
		}
	case kindBool:
		out["type"] = "boolean"
	case kindNull, kindFloat, kindBytes:
		out["not"] = map[string]any{} // no definition is of this kind
	}
	if s.says != "" && s.keys == nil {
		out["errorMessage"] = s.says
	}
	return out
}

func (s *shape) objectSchema(out map[string]any) {
	out["type"] = "object"
	if s.open {
		return
	}
	out["additionalProperties"] = false
	if s.keys != nil {
		out["patternProperties"] = map[string]any{s.keys.String(): s.item.ref()}
		return
	}
	properties := map[string]any{}
	var required []string
	for _, f := range s.fields {
		property := f.shape.ref()
		if f.doc != "" {
			property["description"] = f.doc
		}
		properties[f.name] = property
		if f.required {
			required = append(required, f.name)
		}
	}
	out["properties"] = properties
	if required != nil {
		out["required"] = required
	}
}

func (s *shape) textSchema(out map[string]any) {
	out["type"] = "string"
	if s.enum != nil {
		out["enum"] = s.enum
	}
	if s.filled {
		out["minLength"] = 1
	}
	var all []any
	for _, m := range s.match {
		rule := map[string]any{"pattern": m.source}
		if m.not {
			rule = map[string]any{"not": rule}
		}
		all = append(all, rule)
	}
	if all != nil {
		out["allOf"] = all
	}
}
