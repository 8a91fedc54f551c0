package openapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func document(t *testing.T) []byte {
	t.Helper()
	got, err := makeDocument()
	if err != nil {
		t.Fatal(err)
	}
	return append(got, '\n')
}

func TestDocumentIsWhatTheCodeSays(t *testing.T) {
	want := document(t)
	if again := document(t); !bytes.Equal(want, again) {
		t.Fatal("two documents of the same code differ")
	}
	for _, path := range []string{root + "/docs/openapi.json", "../openapi.json"} {
		if os.Getenv("RINGD_UPDATE") == "1" {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the code says; RINGD_UPDATE=1 go test ./cmd/ringd/internal/api/openapi writes it",
				path)
		}
	}
}

func TestEveryRouteIsDescribed(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Summary     string
			Responses   map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(document(t), &doc); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	n := 0
	for _, item := range doc.Paths {
		n += len(item)
	}
	for _, r := range api.Routes() {
		op := doc.Paths[r.Path][strings.ToLower(r.Method)]
		if op.Summary == "" || op.Responses["default"] == nil || len(op.Responses) < 2 {
			t.Errorf("%s %s is not described: %+v", r.Method, r.Path, op)
		}
		if ids[op.OperationID] || op.OperationID == "" {
			t.Errorf("operation id %q is missing or stands twice", op.OperationID)
		}
		ids[op.OperationID] = true
	}
	if n != len(api.Routes()) {
		t.Errorf("%d operations for %d routes", n, len(api.Routes()))
	}
}

func TestSchemasCompile(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:///openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	if len(schemas) < 20 {
		t.Errorf("only %d schemas", len(schemas))
	}
	for name := range schemas {
		if _, err := c.Compile("mem:///openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
