package schema_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/ringd/ringd/schema"
)

func editorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := schema.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	again, err := schema.JSONSchema()
	if err != nil || !bytes.Equal(text, again) {
		t.Fatalf("two calls differ, %v", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("policy.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// value reads YAML or JSON as an editor does.
func value(t *testing.T, text []byte) (any, bool) {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, false
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	return out, err == nil
}

func TestJSONSchemaTakesPolicies(t *testing.T) {
	s := editorSchema(t)
	for _, name := range []string{"compact.yaml", "org.yaml", "team.yaml", "code-review.yaml", "data-engineer.yaml",
		"orchestrator.yaml", "analyst.yaml", "../../schema/testdata/everything.yaml", "../../schema/testdata/everything-compact.yaml"} {
		v, ok := value(t, read(t, name).Data)
		if !ok {
			t.Fatalf("%s cannot be read", name)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The editor refuses what Decode refuses about names, types and choices.
func TestJSONSchemaRefusesMistakes(t *testing.T) {
	s := editorSchema(t)
	refused := 0
	for _, m := range mistakes(t) {
		name := filepath.Base(m.path)
		switch {
		case strings.HasSuffix(m.source.Name, ".cue"):
			continue
		case name == "schema-module-both.txtar" || name == "missing-module.txtar" || name == "yaml-escaped-nul.txtar":
			continue // two values compared, and a character; only Decode knows
		}
		v, ok := value(t, m.source.Data)
		if !ok {
			continue
		}
		switch m.code {
		case schema.CodeUnknownField, schema.CodeEnum, schema.CodeSchema, schema.CodeType, schema.CodeMissing,
			schema.CodeNotPolicy:
			refused++
			if s.Validate(v) == nil {
				t.Errorf("%s: the JSON Schema takes it", name)
			}
		}
	}
	if refused < 60 {
		t.Errorf("%d mistakes tried, want at least 60", refused)
	}
}

func TestJSONSchemaDescribesFields(t *testing.T) {
	text, err := schema.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"The functions a program may call; absent grants none."`,
		`"must be a size such as 64MiB"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in the JSON Schema", want)
		}
	}
}
