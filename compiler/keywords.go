package compiler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/spelling"
)

// keywordKind is the kind of value of a JSON Schema keyword.
type keywordKind uint8

const (
	aValue   keywordKind = iota // not a schema
	aSchema                     // a schema, or a list of them
	aMap                        // schemas by name
	noEffect                    // a keyword that the validator ignores
)

// keyword returns the kind of a JSON Schema keyword, or false if the keyword is unknown. JSON Schema
// ignores unknown keywords, so a typo would widen the grant. That is why unknown keywords are rejected.
// Names that start with x- are the author's own.
func keyword(name string, old bool) (keywordKind, bool) {
	switch name {
	case "$schema", "$id", "$anchor", "$ref", "$comment", "$dynamicRef", "$dynamicAnchor", "$recursiveRef",
		"$recursiveAnchor",
		"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
		"type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
		"maxLength", "minLength",
		"pattern", "format", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties",
		"minProperties",
		"required", "dependentRequired":
		return aValue, true
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "prefixItems", "items", "contains",
		"additionalProperties",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties":
		return aSchema, true
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
		return aMap, true
	case "additionalItems":
		return aSchema, old
	case "dependencies":
		return aMap, old
	case "contentEncoding", "contentMediaType", "contentSchema":
		return noEffect, true
	default:
		return aValue, strings.HasPrefix(name, "x-")
	}
}

// keywordNames lists the keywords that the author of a misspelt keyword may have meant.
func keywordNames() []string {
	return []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "pattern",
		"format", "description",
		"maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems", "uniqueItems", "oneOf", "anyOf",
		"allOf", "not",
		"exclusiveMaximum", "exclusiveMinimum", "patternProperties", "propertyNames", "prefixItems", "maxProperties",
		"minProperties"}
}

// formats lists the formats that the validator checks. The validator ignores all others.
func formats() []string {
	return []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer", "period",
		"regex",
		"relative-json-pointer", "semver", "time", "uri", "uri-reference", "uri-template", "uuid"}
}

// exactKeywords rejects keywords and formats that the validator ignores, and empty lists of choices. old is
// true for a schema of a draft before 2019.
func exactKeywords(v any, at string, old bool) error {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if err := exactKeywords(e, fmt.Sprintf("%s/%d", at, i), old); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := exactKeyword(name, v[name], at+"/"+name, old); err != nil {
				return err
			}
		}
	}
	return nil
}

func exactKeyword(name string, v any, at string, old bool) error {
	what, known := keyword(name, old)
	switch {
	case !known:
		names := keywordNames()
		if meant := spelling.Of(name, names, spelling.Effort{Names: 1000, Letters: 100_000}); meant >= 0 {
			return fmt.Errorf("at %s: no such keyword, did you mean %q?", clip(at), names[meant])
		}
		return fmt.Errorf("at %s: no such keyword, so nothing would check it", clip(at))
	case what == noEffect:
		return fmt.Errorf("at %s: nothing checks this", clip(at))
	case name == "format":
		if text, ok := v.(string); ok && !slices.Contains(formats(), text) {
			return fmt.Errorf("at %s: no format is called %q", clip(at), clip(text))
		}
	case name == "$ref":
		if text, ok := v.(string); ok && !schemaPlace(text) {
			return fmt.Errorf("at %s: %q is no place of a schema", clip(at), clip(text))
		}
	case name == "enum":
		if list, ok := v.([]any); ok && len(list) == 0 {
			return fmt.Errorf("at %s: the list is empty, so nothing fits", clip(at))
		}
	case what == aSchema:
		return exactKeywords(v, at, old)
	case what == aMap:
		if parts, ok := v.(map[string]any); ok {
			for _, part := range slices.Sorted(maps.Keys(parts)) {
				if err := exactKeywords(parts[part], at+"/"+part, old); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// schemaPlace reports whether a reference leads to a part that exactKeywords checks.
func schemaPlace(ref string) bool {
	for step := range strings.SplitSeq(ref, "/") {
		switch {
		case strings.HasPrefix(step, "x-"), step == "default", step == "examples", step == "const", step == "enum":
			return false
		}
	}
	return true
}

// oldDraft reports whether a schema declares a draft before 2019.
func oldDraft(doc any) bool {
	root, _ := doc.(map[string]any)
	version, _ := root["$schema"].(string)
	return strings.Contains(version, "json-schema.org/draft-0")
}
