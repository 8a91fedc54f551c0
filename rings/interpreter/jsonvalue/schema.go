package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringd/ringd/profiles/canonjson"
)

// schemaName is the address of the one document that a validator is made of.
const schemaName = "ringd:///schema"

// noLoader refuses every reference to another document.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may not refer to another document")
}

// Schema is one compiled JSON Schema or several. A value has to fit all of them. It is
// immutable.
type Schema struct{ all []*jsonschema.Schema }

// Compile compiles JSON Schemas, draft 2020-12 unless one names another. They do not see
// each other, and no other document is loaded. Without a text the schema accepts everything.
func Compile(texts ...[]byte) (*Schema, error) {
	var s Schema
	for _, text := range texts {
		one, err := compile(text)
		if err != nil {
			return nil, err
		}
		s.all = append(s.all, one)
	}
	return &s, nil
}

func compile(text []byte) (*jsonschema.Schema, error) {
	if _, err := Scan(text); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat() // otherwise a format would be a limit that is not enforced
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := c.Compile(schemaName)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// plainer turns a tagged value into plain JSON for a schema. A member that is undefined is
// left out, as JSON.stringify does. Any other tagged value has no plain form: the error
// names its path.
type plainer struct{ path []string }

func (p *plainer) plain(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if kind, tagged := v[Mark]; tagged {
			return p.tagged(kind, v)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if isUndefined(v[key]) {
				delete(v, key)
				continue
			}
			p.path = append(p.path, "."+Clip(key, 40))
			out, err := p.plain(v[key])
			if err != nil {
				return nil, err
			}
			p.path = p.path[:len(p.path)-1]
			v[key] = out
		}
	case []any:
		for i := range v {
			p.path = append(p.path, "["+strconv.Itoa(i)+"]")
			out, err := p.plain(v[i])
			if err != nil {
				return nil, err
			}
			p.path = p.path[:len(p.path)-1]
			v[i] = out
		}
	}
	return v, nil
}

func (p *plainer) tagged(kind any, v map[string]any) (any, error) {
	if kind == "number" && v["value"] == "-0" {
		return json.Number("0"), nil
	}
	name, _ := kind.(string)
	return nil, fmt.Errorf("%s is not plain JSON (%s)", p.where(), Clip(name, 20))
}

func (p *plainer) where() string { return Clip("$"+strings.Join(p.path, ""), 200) }

func isUndefined(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 1 && m[Mark] == "undefined"
}

// Validate checks a value against the schemas and returns the value that they have seen,
// encoded again: what a repeated key or half of a surrogate pair means to another reader
// must not differ from what was checked. Without a schema it returns b. No schema may be
// nil. The error is for the program: it names a path and what the schema wants, and is
// short.
func Validate(b []byte, marked bool, schemas ...*Schema) (json.RawMessage, error) {
	if len(schemas) == 0 {
		return b, nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, errors.New("not one JSON value")
	}
	if marked {
		p := plainer{}
		if v, err = p.plain(v); err != nil {
			return nil, err
		}
	}
	for _, s := range schemas {
		for _, one := range s.all {
			if err := one.Validate(v); err != nil {
				return nil, errors.New(finding(err))
			}
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errors.New("not plain JSON")
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// finding returns the first of the mistakes deepest in the value, without the address of the
// schema.
func finding(err error) string {
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return "does not match its schema"
	}
	for len(bad.Causes) > 0 {
		bad = bad.Causes[0]
	}
	where := "$"
	for _, part := range bad.InstanceLocation {
		where += "." + Clip(part, 40)
	}
	text := "does not match its schema"
	if unit := bad.BasicOutput(); unit != nil && unit.Error != nil {
		text = unit.Error.String()
	}
	return Clip(where, 200) + ": " + Clip(text, 200)
}

// Clip shortens s to at most n bytes, at the edge of a rune.
func Clip(s string, n int) string { return canonjson.Truncate(s, n) }
