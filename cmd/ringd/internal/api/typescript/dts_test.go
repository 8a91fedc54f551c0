package typescript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/api/typescript"
	"github.com/ringd/ringd/profiles"
)

const head = "// The bridges of agent a. Generated from policy sha256:1; do not edit.\n" +
	"// Every call is decided and recorded by the host; a refused one throws CapabilityDenied.\n\n" +
	"/** The inputs of the run, frozen. */\n" +
	"declare const inputs: Readonly<Record<string, unknown>>;\n"

func parses(t *testing.T, text string) {
	t.Helper()
	r := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS})
	for _, e := range r.Errors {
		t.Errorf("not TypeScript: %s\n%s", e.Text, text)
	}
}

func TestTypes(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"string", `{"type":"string"}`, `string`},
		{"integer", `{"type":["integer","null"]}`, `number | null`},
		{"true", `true`, `unknown`},
		{"false", `false`, `never`},
		{"empty", `{}`, `unknown`},
		{"several types", `{"type":["string","null"]}`, `string | null`},
		{"enum", `{"enum":["a","b",3,null,true]}`, `"a" | "b" | 3 | null | true`},
		{"const object", `{"const":{"a":[1,"x"]}}`, `{ a: [1, "x"] }`},
		{"array", `{"type":"array","items":{"type":["string","number"]}}`, `(string | number)[]`},
		{"array of anything", `{"type":"array"}`, `unknown[]`},
		{"tuple", `{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false}`, `[string?, number?]`},
		{"open tuple", `{"prefixItems":[{"type":"string"}]}`, `[string?, ...unknown[]]`},
		{"object", `{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"number"}},"required":["q"],"additionalProperties":false}`,
			"{\n  n?: number;\n  q: string;\n}"},
		{"open object", `{"type":"object","properties":{"a-b":{"type":"string"}}}`, "{\n  \"a-b\"?: string;\n  [name: string]: unknown;\n}"},
		{"required only", `{"type":"object","required":["x"],"additionalProperties":false}`, "{\n  x: unknown;\n}"},
		{"map", `{"type":"object","additionalProperties":{"type":"number"}}`, `Record<string, number>`},
		{"any object", `{"type":"object"}`, `Record<string, unknown>`},
		{"no members", `{"type":"object","additionalProperties":false}`, `Record<string, never>`},
		{"any of", `{"anyOf":[{"type":"string"},{"type":"object","additionalProperties":false}]}`, `string | Record<string, never>`},
		{"one of with unknown", `{"oneOf":[{"type":"string"},{}]}`, `unknown`},
		{"all of", `{"allOf":[{"anyOf":[{"type":"string"},{"type":"null"}]},{"const":"x"}]}`, `(string | null) & "x"`},
		{"foreign reference", `{"$ref":"https://example.com/s.json"}`, `unknown`},
		{"dangling reference", `{"$ref":"#/$defs/none"}`, `unknown`},
		{"unknown type", `{"type":"colour"}`, `unknown`},
		{"not a schema", `17`, `unknown`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := typescript.Declare("a", "sha256:1", map[string]profiles.Bridge{
				"f": {Arguments: json.RawMessage(tc.schema)}})
			if err != nil {
				t.Fatal(err)
			}
			want := head + "\ntype FInput = " + tc.want + ";\n" +
				"/** At most 0 calls in a run, 0 at once: further ones are refused. */\ndeclare function f(input: FInput): Promise<unknown>;\n"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			parses(t, got)
		})
	}
}

func TestDeclareWhole(t *testing.T) {
	tree := `{"description":"A tree.\nOf nodes.","$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
		"children":{"type":"array","items":{"$ref":"#/$defs/node"}},"name":{"type":"string","description":"Its name.","maxLength":8}},
		"required":["name"],"additionalProperties":false}}}`
	got, err := typescript.Declare("a", "sha256:1", map[string]profiles.Bridge{
		"log":          {Limits: profiles.BridgeLimits{CallsPerRun: 9, Concurrent: 2}},
		"tools.delete": {Result: json.RawMessage(tree), Limits: profiles.BridgeLimits{CallsPerRun: 1, Concurrent: 1}},
		"toolsDelete":  {Result: json.RawMessage(`{"type":"boolean"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := head + `
/** At most 9 calls in a run, 2 at once: further ones are refused. */
declare function log(...args: unknown[]): Promise<unknown>;

/**
 * A tree.
 * Of nodes.
 */
type ToolsDeleteResult = ToolsDeleteResultNode;
type ToolsDeleteResultNode = {
  children?: ToolsDeleteResultNode[];
  /**
   * Its name.
   * maxLength 8
   */
  name: string;
};
declare namespace tools {
  /** At most 1 calls in a run, 1 at once: further ones are refused. */
  function delete_(...args: unknown[]): Promise<ToolsDeleteResult>;
  export { delete_ as delete };
}

type ToolsDeleteResult2 = boolean;
/** At most 0 calls in a run, 0 at once: further ones are refused. */
declare function toolsDelete(...args: unknown[]): Promise<ToolsDeleteResult2>;
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	parses(t, got)
}

func TestHostileSchemaStaysInItsPlace(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 2000) + `{}` + strings.Repeat(`}`, 2000)
	for _, tc := range []struct{ name, schema, mark string }{
		{"comment end", `{"type":"string","description":"x */ declare function rm(): void; /*","default":"*/ y"}`, "* / declare function rm"},
		{"quotes", `{"enum":["\"; declare function rm(): void; \""]}`, `\"; declare`},
		{"line separators", `{"type":"object","properties":{"a\u2028b":{"description":"x\u2028y"}}}`, `\u2028`},
		{"depth", deep, "unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := typescript.Declare("a\n*/ b", "r", map[string]profiles.Bridge{
				"f": {Arguments: json.RawMessage(tc.schema)}})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got, tc.mark) || len(got) > 10_000 {
				t.Errorf("got %d bytes without %q:\n%.2000s", len(got), tc.mark, got)
			}
			if n := strings.Count(got, "\ndeclare function"); n != 1 {
				t.Errorf("%d functions are declared, want 1:\n%s", n, got)
			}
			parses(t, got)
		})
	}
}

func TestDeclareRefuses(t *testing.T) {
	for name, b := range map[string]profiles.Bridge{
		"f":    {Arguments: json.RawMessage(`{`)},
		"g":    {Result: json.RawMessage(`nope`)},
		"a-b":  {},
		"a..b": {},
	} {
		if text, err := typescript.Declare("a", "r", map[string]profiles.Bridge{name: b}); err == nil {
			t.Errorf("%s: declared:\n%s", name, text)
		}
	}
}

func FuzzDeclare(f *testing.F) {
	for _, s := range []string{`{}`, `true`, `{"$ref":"#"}`,
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		`{"type":["array"],"items":{"enum":[1,"*/"]},"description":"*/"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		got, err := typescript.Declare("a", "r", map[string]profiles.Bridge{"f": {Arguments: json.RawMessage(schema)}})
		if err != nil {
			return
		}
		r := api.Transform(got, api.TransformOptions{Loader: api.LoaderTS})
		if len(r.Errors) > 0 {
			t.Fatalf("not TypeScript: %s\n%s", r.Errors[0].Text, got)
		}
	})
}

func TestApprovalIsTold(t *testing.T) {
	for when, want := range map[string]string{"": "/** Needs an approval:",
		"input.args.n > 1": "/** May need an approval"} {
		got, err := typescript.Declare("a", "sha256:1", map[string]profiles.Bridge{
			"pay": {Approval: &profiles.Approval{Count: 1, When: when}}})
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, "input.args") {
			t.Errorf("%q: %s, %v", when, got, err)
		}
		parses(t, got)
	}
}

// fetch is the platform's, and no other bridge is.
func TestFetch(t *testing.T) {
	got, err := typescript.Declare("a", "sha256:1", map[string]profiles.Bridge{
		"fetch":       {Limits: profiles.BridgeLimits{CallsPerRun: 5, Concurrent: 2}, Approval: &profiles.Approval{}},
		"tools.fetch": {}, "request": {Arguments: json.RawMessage(`{"type":"string"}`)}, "response": {Result: json.RawMessage(`{"type":"string"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	parses(t, got)
	for _, want := range []string{
		"ApprovalDenied. At most 5 calls in a run, 2 at once: further ones are refused. */\ndeclare function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;\n",
		"declare class Headers ", "function fetch(...args: unknown[]): Promise<unknown>;", "readonly body: null;",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if without, err := typescript.Declare("a", "sha256:1", map[string]profiles.Bridge{"tools.fetch": {}}); err != nil ||
		strings.Contains(without, "Response") {
		t.Errorf("without the grant: %s %v", without, err)
	}
}

// shell has types of its own, unless the policy has schemas for it.
func TestDeclareShell(t *testing.T) {
	for name, tt := range map[string]struct {
		bridge profiles.Bridge
		want   string
	}{
		"shell":       {profiles.Bridge{}, "declare function shell(input: ShellInput | string): Promise<ShellResult>;"},
		"tools.shell": {profiles.Bridge{}, "function shell(...args: unknown[]): Promise<unknown>;"},
	} {
		text, err := typescript.Declare("a", "sha256:1", map[string]profiles.Bridge{name: tt.bridge})
		if err != nil || !strings.Contains(text, tt.want) ||
			strings.Contains(text, "exit_code: number;") != (name == "shell") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	text, err := typescript.Declare("a", "sha256:1", map[string]profiles.Bridge{
		"shell": {Arguments: json.RawMessage(`{"type":"string"}`)}})
	if err != nil || !strings.Contains(text, "input: ") || strings.Contains(text, "exit_code") {
		t.Errorf("with a schema: %v\n%s", err, text)
	}
}
