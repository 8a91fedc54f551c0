// Package openapi_test makes the OpenAPI document of the harness API from the route table and the Go types of
// schema/wire. It compares docs/openapi.json and the copy that the server embeds with the document, and writes both
// with RINGD_UPDATE=1.
package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

const (
	module = "github.com/ringd/ringd"
	root   = "../../../../.." // folder of the module
)

// documented returns the packages whose comments become descriptions.
func documented() []string {
	return []string{"schema/wire", "profiles"}
}

type object = map[string]any

// generator collects the schemas that routes use.
type generator struct {
	reflector *jsonschema.Reflector
	schemas   object
	types     map[string]reflect.Type // structs by name
}

// makeDocument returns the document, indented, with sorted keys.
func makeDocument() ([]byte, error) {
	m := &generator{schemas: object{}, types: map[string]reflect.Type{}, reflector: &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true, Mapper: textSchema, Namer: nameOf}}
	for _, p := range documented() {
		if err := m.reflector.AddGoComments(module, root+"/"+p); err != nil {
			return nil, fmt.Errorf("read the comments of %s: %w", p, err)
		}
	}
	m.mapComments()
	paths := object{}
	for _, r := range api.Routes() {
		op, err := m.operation(r)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		}
		item, ok := paths[r.Path].(object)
		if !ok {
			item = object{}
			paths[r.Path] = item
		}
		item[strings.ToLower(r.Method)] = op
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{"title": "ringd harness API", "version": "1",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "HTTP/JSON on a Unix socket, and over TCP with TLS 1.3. The caller is identified by the " +
				"uid and gid of the peer, over TCP by " +
				"the header Authorization: Bearer TOKEN (else unauthorized, on every path); its roles decide which " +
				"requests it may make. " +
				"The header Ringd-Role makes a request act in one of them. Every error has a code."},
		"servers":    []any{object{"url": "http://ringd", "description": "the Unix socket; the host name is ignored"}},
		"paths":      paths,
		"components": object{"schemas": m.schemas},
	}, "", "  ")
}

// mapComments converts keys of the form <path of a folder>.Type to those that the reflector expects: the folder
// may be absolute.
func (m *generator) mapComments() {
	out := map[string]string{}
	for k, v := range m.reflector.CommentMap {
		for _, p := range documented() {
			if i := strings.LastIndex(k, "/"+p+"."); i >= 0 {
				out[module+k[i:]] = strings.Join(strings.Fields(v), " ")
			}
		}
	}
	m.reflector.CommentMap = out
}

// nameOf returns the schema name of a type. The approval in a policy is not the approval of a call.
func nameOf(t reflect.Type) string {
	if t == reflect.TypeFor[profiles.Approval]() {
		return "ApprovalGrant"
	}
	if t == reflect.TypeFor[profiles.GrantOfBridge]() {
		return "GrantOfBridge"
	}
	return t.Name()
}

// textSchema returns the schema of types that are encoded as text.
func textSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[profiles.Verdict]():
		return &jsonschema.Schema{Type: "string", Enum: []any{"allow", "ask", "deny"}}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Description: "any JSON value"}
	default:
		return nil
	}
}

func (m *generator) operation(r api.Route) (object, error) {
	op := object{"operationId": r.Name, "summary": r.Summary}
	if len(r.Roles) > 0 {
		op["x-roles"] = r.Roles
		op["description"] = "Roles: " + join(r.Roles) + "."
	}
	if params := parameters(r); len(params) > 0 {
		op["parameters"] = params
	}
	if r.Request != nil {
		schema, err := m.ref(r.Request)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schema}}}
	}
	success := object{"description": "done"}
	switch {
	case r.Response != nil && r.Content != "":
		schema, err := m.ref(r.Response)
		if err != nil {
			return nil, err
		}
		success["content"] = object{r.Content: object{"schema": object{"type": "string"}, "x-data": schema}}
	case r.Response != nil:
		schema, err := m.ref(r.Response)
		if err != nil {
			return nil, err
		}
		success["content"] = object{"application/json": object{"schema": schema}}
	case r.Content == "application/json":
		success["content"] = object{r.Content: object{"schema": object{"type": "object"}}}
	default:
		success["content"] = object{r.Content: object{"schema": object{"type": "string"}}}
	}
	status := r.Success
	if status == 0 {
		status = http.StatusOK
	}
	failure, err := m.ref(wire.ErrorBody{})
	if err != nil {
		return nil, err
	}
	text := "an error with its code"
	if len(r.Codes) > 0 {
		text += ": " + strings.Join(r.Codes, ", ") + ", or one that any route may give"
	}
	responses := object{strconv.Itoa(status): success,
		"default": object{"description": text, "content": object{"application/json": object{"schema": failure}}}}
	if r.Unread {
		responses["304"] = object{"description": "the caller has the revision in force"}
	}
	op["responses"] = responses
	return op, nil
}

func join(roles []api.Role) string {
	out := make([]string, len(roles))
	for i, r := range roles {
		out[i] = string(r)
	}
	return strings.Join(out, ", ")
}

func parameters(r api.Route) []any {
	var out []any
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(r.Path, -1) {
		out = append(out, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range r.Query {
		out = append(out, object{"name": p.Name, "in": p.In, "description": p.Text, "schema": object{"type": "string"}})
	}
	return out
}

// ref returns a reference to the schema of v's type, and adds that schema.
func (m *generator) ref(v any) (object, error) {
	if many, ok := v.(api.OneOrMore); ok {
		one, err := m.ref(many.Of)
		if err != nil {
			return nil, err
		}
		return object{"oneOf": []any{one, object{"type": "array", "items": one}}}, nil
	}
	if _, ok := v.(wire.Action); ok {
		return object{"type": "object", "minProperties": 1, "maxProperties": 1,
			"description": "one of shell, import, egress, bridge, file, exec"}, nil
	}
	raw, err := json.Marshal(m.reflector.Reflect(v))
	if err != nil {
		return nil, fmt.Errorf("reflect %T: %w", v, err)
	}
	raw = []byte(strings.ReplaceAll(string(raw), `"#/$defs/`, `"#/components/schemas/`))
	var schema object
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	m.addTypes(reflect.TypeOf(v))
	defs, _ := schema["$defs"].(object)
	for name, def := range defs {
		def = m.tidy(name, def)
		if old, ok := m.schemas[name]; ok && !reflect.DeepEqual(old, def) {
			return nil, fmt.Errorf("two types are called %s", name)
		}
		m.schemas[name] = def
	}
	ref, _ := schema["$ref"].(string)
	return object{"$ref": ref}, nil
}

// addTypes records the struct types below t by name.
func (m *generator) addTypes(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		m.addTypes(t.Elem())
	case reflect.Struct:
		if m.types[nameOf(t)] == t {
			return
		}
		m.types[nameOf(t)] = t
		for i := range t.NumField() {
			m.addTypes(t.Field(i).Type)
		}
	}
}

// tidy removes keys that are not valid inside a document, and sorts unordered lists. A field with omitzero is
// not required; the reflector knows only omitempty.
func (m *generator) tidy(name string, def any) any {
	o, ok := def.(object)
	if !ok {
		return def
	}
	delete(o, "$schema")
	required, ok := o["required"].([]any)
	if !ok {
		return def
	}
	optional := map[string]bool{}
	if t := m.types[name]; t != nil {
		for i := range t.NumField() {
			field, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			optional[field] = strings.Contains(options, "omitzero")
		}
	}
	required = slices.DeleteFunc(required, func(v any) bool { return optional[fmt.Sprint(v)] })
	slices.SortFunc(required, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	o["required"] = required
	if len(required) == 0 {
		delete(o, "required")
	}
	return o
}
