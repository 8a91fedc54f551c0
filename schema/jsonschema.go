package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// shapesSchema returns a JSON Schema of the definitions #Policy and #Compact and of all definitions that they
// use. Its draft is 7, which editors support.
func shapesSchema(defs map[string]*Shape) ([]byte, error) {
	definitions := map[string]any{}
	for name, s := range defs {
		definitions[strings.TrimPrefix(name, "#")] = s.body()
	}
	required := func(name string) map[string]any { return map[string]any{"required": []string{name}} }
	short := []any{}
	for _, f := range defs["#Compact"].Fields {
		short = append(short, required(f.Name))
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

// ref returns the schema of s where it is used: a reference if s has a name.
func (s *Shape) ref() map[string]any {
	if s.Name != "" {
		return map[string]any{"$ref": "#/definitions/" + strings.TrimPrefix(s.Name, "#")}
	}
	return s.body()
}

func (s *Shape) body() map[string]any {
	out := map[string]any{}
	if s.Doc != "" {
		out["description"] = s.Doc
	}
	if s.Any {
		return out
	}
	switch s.Kind {
	case Object:
		s.objectSchema(out)
	case List:
		out["type"], out["items"] = "array", s.Item.ref()
		if s.Least > 0 {
			out["minItems"] = s.Least
		}
	case String:
		s.textSchema(out)
	case Int:
		out["type"] = "integer"
		if s.Min != nil {
			out["minimum"] = *s.Min
		}
		if s.Max != nil {
			out["maximum"] = *s.Max
		}
	case Bool:
		out["type"] = "boolean"
	case Null, Float, Bytes:
		out["not"] = map[string]any{} // no definition has this kind
	}
	if s.Says != "" && s.Keys == nil {
		out["errorMessage"] = s.Says
	}
	return out
}

func (s *Shape) objectSchema(out map[string]any) {
	out["type"] = "object"
	if s.Open {
		return
	}
	out["additionalProperties"] = false
	if s.Keys != nil {
		out["patternProperties"] = map[string]any{s.Keys.String(): s.Item.ref()}
		return
	}
	properties := map[string]any{}
	var required []string
	for _, f := range s.Fields {
		property := f.Shape.ref()
		if f.Doc != "" {
			property["description"] = f.Doc
		}
		properties[f.Name] = property
		if f.Required {
			required = append(required, f.Name)
		}
	}
	out["properties"] = properties
	if required != nil {
		out["required"] = required
	}
}

func (s *Shape) textSchema(out map[string]any) {
	out["type"] = "string"
	switch {
	case s.Also != nil: // a pattern accepts these words, so editors do not offer them
		out["anyOf"] = []any{map[string]any{"enum": s.Enum},
			map[string]any{"pattern": "^(" + strings.Join(s.Also, "|") + ")$"}}
	case s.Enum != nil:
		out["enum"] = s.Enum
	}
	if s.Filled {
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
