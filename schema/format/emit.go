package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ringd/ringd/schema"
)

// YAML formats p as YAML, in the order of the language. It quotes every text that some YAML reader would read
// as another value. Package schema reads the result as the same policy. Absent values are left out and empty
// values are written, since the language distinguishes them. The error is for an invalid JSON Schema in p.
func YAML(p schema.Policy) ([]byte, error) {
	root, err := node(reflect.ValueOf(p))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write policy as YAML: %w", err)
	}
	return out.Bytes(), nil
}

// maxFlow is the largest width of a list or object of plain values on one line.
const maxFlow = 72

// node converts a value of schema's Go types. It returns nil for an absent one.
func node(v reflect.Value) (*yaml.Node, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return node(v.Elem())
	case reflect.String:
		return textNode(v.String()), nil
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}, nil
	case reflect.Int, reflect.Int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}, nil
	case reflect.Slice:
		return list(v)
	case reflect.Map:
		return mapping(v)
	case reflect.Struct:
		return object(v)
	default:
		return nil, fmt.Errorf("write policy as YAML: a value of kind %s", v.Kind())
	}
}

// object converts a struct by the tags of its fields; "globals.deny" is below globals.
func object(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := range v.NumField() {
		tag, f := v.Type().Field(i).Tag.Get("cue"), v.Field(i)
		if tag == "" || absent(f) {
			continue
		}
		value, err := node(f)
		if err != nil {
			return nil, err
		}
		group, name, dotted := strings.Cut(tag, ".")
		if !dotted {
			put(out, tag, value)
			continue
		}
		inner := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		put(inner, name, value)
		put(out, group, flowStyle(inner))
	}
	return flowStyle(out), nil
}

// absent reports whether an author left a value out. A bool that is not a pointer is always written.
func absent(v reflect.Value) bool {
	if v.Kind() == reflect.Bool {
		return false
	}
	return v.IsZero() && !(v.Kind() == reflect.Struct && required(v.Type()))
}

// required reports whether the zero value of a struct has a meaning.
func required(t reflect.Type) bool {
	return t == reflect.TypeFor[schema.Powers]() || t == reflect.TypeFor[schema.Spec]()
}

func put(to *yaml.Node, name string, value *yaml.Node) {
	to.Content = append(to.Content, textNode(name), value)
}

func list(v reflect.Value) (*yaml.Node, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return schemaText(v.Bytes())
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range v.Len() {
		item, err := node(v.Index(i))
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, item)
	}
	return flowStyle(out), nil
}

func mapping(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		keys[k.String()] = k
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		value, err := node(v.MapIndex(keys[name]))
		if err != nil {
			return nil, err
		}
		put(out, name, value)
	}
	return out, nil
}

// schemaText converts a JSON Schema. JSON is YAML, and the order of its names is kept.
func schemaText(b []byte) (*yaml.Node, error) {
	if !json.Valid(b) {
		return nil, fmt.Errorf("write policy as YAML: a schema is no JSON")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil || len(doc.Content) != 1 {
		return nil, fmt.Errorf("write policy as YAML: a schema is no object: %w", err)
	}
	return doc.Content[0], nil
}

// flowStyle puts a short list or object of plain values on one line.
func flowStyle(n *yaml.Node) *yaml.Node {
	width := 2
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode && len(c.Content) > 0 || c.Style == yaml.LiteralStyle {
			return n
		}
		width += len(c.Value) + 4
	}
	if width <= maxFlow {
		n.Style = yaml.FlowStyle
	}
	return n
}

// plain matches text that every YAML reader reads as text.
var plain = regexp.MustCompile(`^[A-Za-z$/~_][A-Za-z0-9$/_.-]*( [A-Za-z0-9$/_.-]+)*$`)

// textNode quotes words that YAML 1.1 reads as another value, such as off or no. Several lines become a block.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	case !plain.MatchString(s) || isMisreadWord(s):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// isMisreadWord reports words that YAML 1.1 or 1.2 reads as a bool or null.
func isMisreadWord(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~":
		return true
	default:
		return false
	}
}
