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

// maxDepth bounds the nesting of one type; deeper parts are unknown.
const maxDepth = 32

// maxTypes bounds how many definitions one schema brings.
const maxTypes = 200

// scope turns one schema document into types.
type scope struct {
	writer *writer
	root   any
	name   string
	refs   map[string]string // $ref -> name of the type
	wanted []wanted
}

type wanted struct {
	name string
	node any
}

// parse reads a schema: an object or a boolean.
func parse(schema []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	return v, nil
}

// of is the type of a schema. What it cannot say is wider, never narrower: a
// value the schema allows fits the type.
func (s *scope) of(node any, indent, depth int) string {
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

func (s *scope) object(n map[string]any, indent, depth int) string {
	var parts []string // all hold at once
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
		if t := s.typed(n, indent, depth); t != "unknown" {
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

func (s *scope) each(list []any, indent, depth int) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = s.of(v, indent, depth)
	}
	return out
}

// typed is the part of a schema that "type" and its keywords say.
func (s *scope) typed(n map[string]any, indent, depth int) string {
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
		// Without "type" the keywords bind only values of their kind, so
		// a closed statement can be made of none but the obvious ones.
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

func (s *scope) kind(k string, n map[string]any, indent, depth int) string {
	switch k {
	case "string", "boolean", "null":
		return k
	case "number", "integer":
		return "number"
	case "array":
		return s.array(n, indent, depth)
	case "object":
		return s.members(n, indent, depth)
	default:
		return "unknown"
	}
}

func (s *scope) array(n map[string]any, indent, depth int) string {
	rest := "unknown"
	items, hasItems := n["items"]
	if hasItems {
		rest = s.of(items, indent, depth)
	}
	prefix, ok := n["prefixItems"].([]any)
	if !ok {
		return wrap(rest) + "[]"
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
			parts[i] = wrap(parts[i]) + "?"
		}
	}
	if rest != "never" {
		parts = append(parts, "..."+wrap(rest)+"[]")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// members is an object type: its properties, then what else it may have.
func (s *scope) members(n map[string]any, indent, depth int) string {
	props, _ := n["properties"].(map[string]any)
	required := map[string]bool{}
	if list, ok := n["required"].([]any); ok {
		for _, v := range list {
			if name, ok := v.(string); ok {
				required[name] = true
			}
		}
	}
	more := s.more(n, indent, depth)
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
		fmt.Fprintf(&b, "%s%s%s: %s;\n", pad, key(name), mark, s.of(props[name], indent+1, depth))
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if _, ok := props[name]; !ok {
			fmt.Fprintf(&b, "%s%s: unknown;\n", pad, key(name))
		}
	}
	if more != "never" {
		// An index signature must fit the named members too, so it is unknown.
		fmt.Fprintf(&b, "%s[name: string]: unknown;\n", pad)
	}
	b.WriteString(strings.Repeat("  ", indent) + "}")
	return b.String()
}

// more is the type of members without a name of their own: "" when nothing is
// said about them, "never" when there may be none.
func (s *scope) more(n map[string]any, indent, depth int) string {
	var parts []string
	if patterns, ok := n["patternProperties"].(map[string]any); ok {
		for _, p := range slices.Sorted(maps.Keys(patterns)) {
			parts = append(parts, s.of(patterns[p], indent, depth))
		}
	}
	v, ok := n["additionalProperties"]
	if !ok {
		return ""
	}
	if t := s.of(v, indent, depth); t != "never" || len(parts) == 0 {
		parts = append(parts, t)
	}
	return union(parts)
}

// ref is the name of the type that a $ref leads to. References out of the
// document are unknown; the compiler refuses them anyway.
func (s *scope) ref(ref string) string {
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
	name := s.writer.free(s.name + pascal(last))
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

// quoted is a string literal that holds in TypeScript, whatever is inside.
func quoted(s string) string {
	b, err := json.Marshal(s) // escapes <, >, & and the line separators, too
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
		out[i] = wrap(out[i])
	}
	return strings.Join(out, " & ")
}

// wrap puts a union or an intersection in brackets.
func wrap(t string) string {
	if strings.Contains(t, " | ") || strings.Contains(t, " & ") {
		return "(" + t + ")"
	}
	return t
}

// comment is the documentation of a schema as lines of a comment.
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
