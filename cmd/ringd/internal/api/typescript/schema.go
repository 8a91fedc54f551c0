package typescript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxDepth limits the nesting of one type. Deeper parts are unknown.
const maxDepth = 32

// maxTypes limits the definitions of one schema.
const maxTypes = 200

// converter converts one schema document to types.
type converter struct {
	writer *writer
	root   any
	name   string
	refs   map[string]string // $ref to the name of the type
	wanted []wanted
}

type wanted struct {
	name string
	node any
}

// parse parses a schema, which is an object or a boolean.
func parse(schema []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	return v, nil
}

// typeOf returns the type of a schema. A part that TypeScript cannot express becomes wider, never narrower: every
// value that the schema allows fits the type.
func (s *converter) typeOf(node any, indent, depth int) string {
	switch n := node.(type) {
	case bool:
		if n {
			return "unknown"
		}
		return "never"
	case map[string]any:
		if depth > maxDepth {
			return "unknown"
		}
		return s.object(n, indent, depth+1)
	default:
		return "unknown"
	}
}

func (s *converter) object(n map[string]any, indent, depth int) string {
	var parts []string // parts of an intersection
	if ref, ok := n["$ref"].(string); ok {
		parts = append(parts, s.ref(ref))
	}
	if v, ok := n["const"]; ok {
		parts = append(parts, literal(v))
	}
	if list, ok := n["enum"].([]any); ok {
		options := make([]string, len(list))
		for i, v := range list {
			options[i] = literal(v)
		}
		parts = append(parts, union(options))
	}
	if len(parts) == 0 || n["properties"] != nil {
		if t := s.keywordType(n, indent, depth); t != "unknown" {
			parts = append(parts, t)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := n[key].([]any); ok {
			parts = append(parts, union(s.each(list, indent, depth)))
		}
	}
	if list, ok := n["allOf"].([]any); ok {
		parts = append(parts, s.each(list, indent, depth)...)
	}
	return intersection(parts)
}

func (s *converter) each(list []any, indent, depth int) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = s.typeOf(v, indent, depth)
	}
	return out
}

// keywordType returns the type for "type" and its keywords.
func (s *converter) keywordType(n map[string]any, indent, depth int) string {
	var kinds []string
	switch t := n["type"].(type) {
	case string:
		kinds = []string{t}
	case []any:
		for _, v := range t {
			if k, ok := v.(string); ok {
				kinds = append(kinds, k)
			}
		}
	default:
		// Without "type" the keywords bind only values of their kind, so only the obvious cases have a closed
		// type.
		switch {
		case n["properties"] != nil:
			kinds = []string{"object"}
		case n["items"] != nil || n["prefixItems"] != nil:
			kinds = []string{"array"}
		}
	}
	out := make([]string, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, s.kind(k, n, indent, depth))
	}
	return union(out)
}

func (s *converter) kind(k string, n map[string]any, indent, depth int) string {
	switch k {
	case "string", "boolean", "null":
		return k
	case "number", "integer":
		return "number"
	case "array":
		return s.array(n, indent, depth)
	case "object":
		return s.objectType(n, indent, depth)
	default:
		return "unknown"
	}
}

func (s *converter) array(n map[string]any, indent, depth int) string {
	rest := "unknown"
	items, hasItems := n["items"]
	if hasItems {
		rest = s.typeOf(items, indent, depth)
	}
	prefix, ok := n["prefixItems"].([]any)
	if !ok {
		return parenthesise(rest) + "[]"
	}
	least := 0
	if m, ok := n["minItems"].(json.Number); ok {
		if v, err := m.Int64(); err == nil {
			least = int(v)
		}
	}
	parts := s.each(prefix, indent, depth)
	for i := range parts {
		if i >= least {
			parts[i] = parenthesise(parts[i]) + "?"
		}
	}
	if rest != "never" {
		parts = append(parts, "..."+parenthesise(rest)+"[]")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// objectType returns an object type: its properties, then the rest.
func (s *converter) objectType(n map[string]any, indent, depth int) string {
	props, _ := n["properties"].(map[string]any)
	required := map[string]bool{}
	if list, ok := n["required"].([]any); ok {
		for _, v := range list {
			if name, ok := v.(string); ok {
				required[name] = true
			}
		}
	}
	more := s.indexType(n, indent, depth)
	if len(props) == 0 && len(required) == 0 {
		switch more {
		case "":
			return "Record<string, unknown>"
		case "never":
			return "Record<string, never>"
		default:
			return "Record<string, " + more + ">"
		}
	}
	var b strings.Builder
	b.WriteString("{\n")
	pad := strings.Repeat("  ", indent+1)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		for _, line := range comment(props[name]) {
			b.WriteString(pad + line + "\n")
		}
		mark := "?"
		if required[name] {
			mark = ""
		}
		fmt.Fprintf(&b, "%s%s%s: %s;\n", pad, key(name), mark, s.typeOf(props[name], indent+1, depth))
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if _, ok := props[name]; !ok {
			fmt.Fprintf(&b, "%s%s: unknown;\n", pad, key(name))
		}
	}
	if more != "never" {
		// An index signature must also fit the named members, so its type is unknown.
		fmt.Fprintf(&b, "%s[name: string]: unknown;\n", pad)
	}
	b.WriteString(strings.Repeat("  ", indent) + "}")
	return b.String()
}

// indexType returns the type of members without a name. It is "" if the schema does not say, and "never" if there
// may be none.
func (s *converter) indexType(n map[string]any, indent, depth int) string {
	var parts []string
	if patterns, ok := n["patternProperties"].(map[string]any); ok {
		for _, p := range slices.Sorted(maps.Keys(patterns)) {
			parts = append(parts, s.typeOf(patterns[p], indent, depth))
		}
	}
	v, ok := n["additionalProperties"]
	if !ok {
		return ""
	}
	if t := s.typeOf(v, indent, depth); t != "never" || len(parts) == 0 {
		parts = append(parts, t)
	}
	return union(parts)
}

// ref returns the name of the type of a $ref. References out of the document are unknown, and the compiler
// refuses them.
func (s *converter) ref(ref string) string {
	if name, ok := s.refs[ref]; ok {
		return name
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok || len(s.refs) >= maxTypes {
		return "unknown"
	}
	node := s.root
	var last string
	for part := range strings.SplitSeq(path, "/") {
		last = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		m, ok := node.(map[string]any)
		if !ok {
			return "unknown"
		}
		if node, ok = m[last]; !ok {
			return "unknown"
		}
	}
	name := s.writer.freeName(s.name + pascal(last))
	s.refs[ref] = name
	s.wanted = append(s.wanted, wanted{name, node})
	return name
}

func literal(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(x)
	case json.Number:
		return x.String()
	case string:
		return quoted(x)
	case []any:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = literal(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			parts = append(parts, key(k)+": "+literal(x[k]))
		}
		return "{ " + strings.Join(parts, "; ") + " }"
	default:
		return "unknown"
	}
}

func key(name string) string {
	if identifier(name) {
		return name
	}
	return quoted(name)
}

// quoted returns a valid TypeScript string literal for any text.
func quoted(s string) string {
	b, err := json.Marshal(s) // also escapes <, >, & and the line separators
	if err != nil {
		return `""`
	}
	return string(b)
}

func union(options []string) string {
	if slices.Contains(options, "unknown") {
		return "unknown"
	}
	var out []string
	for _, o := range options {
		if !slices.Contains(out, o) && (o != "never" || len(options) == 1) {
			out = append(out, o)
		}
	}
	switch {
	case len(out) == 1:
		return out[0]
	case len(out) > 0:
		return strings.Join(out, " | ")
	case len(options) > 0:
		return "never"
	default:
		return "unknown"
	}
}

func intersection(parts []string) string {
	var out []string
	for _, p := range parts {
		if p != "unknown" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	switch len(out) {
	case 0:
		return "unknown"
	case 1:
		return out[0]
	}
	for i := range out {
		out[i] = parenthesise(out[i])
	}
	return strings.Join(out, " & ")
}

// parenthesise adds parentheses to a union or an intersection.
func parenthesise(t string) string {
	if strings.Contains(t, " | ") || strings.Contains(t, " & ") {
		return "(" + t + ")"
	}
	return t
}

// comment returns the documentation of a schema as lines of a comment.
func comment(node any) []string {
	n, ok := node.(map[string]any)
	if !ok {
		return nil
	}
	var lines []string
	for _, k := range []string{"title", "description"} {
		if text, ok := n[k].(string); ok {
			for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
				lines = append(lines, strings.ReplaceAll(oneLine(line), "*/", "* /"))
			}
		}
	}
	var facts []string
	for _, k := range []string{"format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems",
		"maxItems", "default"} {
		if v, ok := n[k]; ok {
			facts = append(facts, k+" "+strings.ReplaceAll(literal(v), "*/", `*\u002f`))
		}
	}
	if n["type"] == "integer" {
		facts = append([]string{"integer"}, facts...)
	}
	if len(facts) > 0 {
		lines = append(lines, strings.Join(facts, ", "))
	}
	switch len(lines) {
	case 0:
		return nil
	case 1:
		return []string{"/** " + lines[0] + " */"}
	}
	out := []string{"/**"}
	for _, l := range lines {
		out = append(out, strings.TrimRight(" * "+l, " "))
	}
	return append(out, " */")
}
