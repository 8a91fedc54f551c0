package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/schema"
)

const header = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: reviewer, revision: 1, owner: "team:devex@acme.example"}
spec:
`

func read(t testing.TB, name string) schema.Source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "policies", name))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Source{Name: name, Data: text}
}

// decode reads one source that must be without a finding.
func decode(t testing.TB, src schema.Source) []schema.Policy {
	t.Helper()
	policies, found := schema.Decode([]schema.Source{src})
	if len(found) > 0 {
		t.Fatalf("%s: %v", src.Name, found)
	}
	return policies
}

func one(t testing.TB, name, text string) schema.Policy {
	t.Helper()
	policies := decode(t, schema.Source{Name: name, Data: []byte(text)})
	if len(policies) != 1 {
		t.Fatalf("%s: %d policies, want 1", name, len(policies))
	}
	return policies[0]
}

// bare drops what says where a policy was read from.
func bare(p schema.Policy) schema.Policy {
	p.File, p.Origins = "", nil
	return p
}

func TestPersonasAreEqualInAllForms(t *testing.T) {
	fromCUE := decode(t, read(t, "personas.cue"))
	files := []string{"code-review.yaml", "data-engineer.yaml", "orchestrator.yaml"}
	if len(fromCUE) != len(files) {
		t.Fatalf("%d policies in personas.cue, want %d", len(fromCUE), len(files))
	}
	for i, name := range files {
		fromYAML := decode(t, read(t, name))[0]
		if diff := cmp.Diff(bare(fromYAML), bare(fromCUE[i])); diff != "" {
			t.Errorf("%s and CUE differ (-yaml +cue):\n%s", name, diff)
		}
		for path := range fromYAML.Origins {
			if _, ok := fromCUE[i].Origins[path]; !ok {
				t.Errorf("%s: CUE has no origin of %s", name, path)
			}
		}
	}
}

func TestJSONEqualsYAML(t *testing.T) {
	json := one(t, "p.json", `{"apiVersion": "ringd/v1", "kind": "AgentPolicy",
		"metadata": {"name": "a", "revision": 2, "owner": "team:x", "labels": {"tier": "7"}},
		"spec": {"executors": {"allowed": []}, "limits": {"files": 0}, "bridges": [
			{"name": "tools.search", "powers": {"sensitive": true, "untrusted": false, "external": false},
			 "arguments": {"type": "object", "properties": {"q": {"maximum": 1.5e3, "enum": [null, true, "<"]}}}}]}}`)
	yaml := one(t, "p.yaml", `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 2, owner: "team:x", labels: {tier: "7"}}
spec:
  executors: {allowed: []}
  limits: {files: 0}
  bridges:
    - name: tools.search
      powers: {sensitive: true, untrusted: false, external: false}
      arguments: {properties: {q: {enum: [null, true, "<"], maximum: 1.5e3}}, type: object}
`)
	if diff := cmp.Diff(bare(json), bare(yaml)); diff != "" {
		t.Errorf("-json +yaml:\n%s", diff)
	}
	want := `{"properties":{"q":{"enum":[null,true,"\u003c"],"maximum":1.5e3}},"type":"object"}`
	if got := string(yaml.Spec.Bridges[0].Arguments); got != want {
		t.Errorf("arguments %s, want %s", got, want)
	}
	if yaml.Spec.Executors.Allowed == nil || yaml.Spec.Limits.Files == nil || *yaml.Spec.Limits.Files != 0 {
		t.Error("an empty list or a zero is taken for an absent one")
	}
}

func TestLayers(t *testing.T) {
	org, team := decode(t, read(t, "org.yaml"))[0], decode(t, read(t, "team.yaml"))[0]
	if org.Kind != "OrgPolicy" || team.Kind != "TeamPolicy" || team.Metadata.Parent != org.Metadata.Name {
		t.Errorf("kinds %s and %s, parent %q", org.Kind, team.Kind, team.Metadata.Parent)
	}
	if got := org.Origins["spec.executors.python.imports.deny[1]"]; got.Pos != (schema.Pos{File: "org.yaml", Line: 22, Column: 30}) {
		t.Errorf("origin %+v", got)
	}
	if !strings.Contains(org.Spec.Guardrails[0].Rego, "package ringd.guardrails") {
		t.Errorf("guardrail %q", org.Spec.Guardrails[0].Rego)
	}
}

func TestCompactIsLowered(t *testing.T) {
	p := decode(t, read(t, "compact.yaml"))[0]
	want := schema.Policy{
		Compact: true, APIVersion: "ringd/v1", Kind: "AgentPolicy",
		Metadata: schema.Metadata{Name: "default", Revision: 1},
		Spec: schema.Spec{
			Agents: []schema.AgentMatch{{Match: "default"}},
			Executors: &schema.Executors{
				Allowed: []string{"js", "python", "shell"},
				JS:      &schema.JS{Imports: imports()},
				Python:  &schema.Python{Imports: &schema.PythonImports{Allow: imports().Allow, Deny: imports().Deny}},
				Shell: &schema.Shell{
					Binaries: []schema.Binary{{Path: "/usr/bin/git"}},
					DenyPatterns: []schema.DenyPattern{{Pattern: "rm -rf", Kind: "argv"},
						{Pattern: "curl", Kind: "argv"}},
				},
			},
			Filesystem: &schema.Filesystem{Read: []string{"/workspace"}, Write: []string{"/workspace/out"}},
			Network: &schema.Network{Mode: "gateway-only", Egress: []schema.Egress{
				{Host: "api.example.com"},
				{Host: "*.cdn.example.com:443"},
			}},
		},
	}
	if diff := cmp.Diff(want, bare(p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	origins := map[string]schema.Origin{
		"spec.executors.python.imports.deny[1]":        at("compact.yaml", 5, 7, "interpreter_ring.denied_imports[1]"),
		"spec.executors.js.imports.deny[1]":            at("compact.yaml", 5, 7, "interpreter_ring.denied_imports[1]"),
		"spec.executors.shell.binaries[0].path":        at("compact.yaml", 8, 22, "interpreter_ring.allowed_binaries[0]"),
		"spec.executors.shell.denyPatterns[0].pattern": at("compact.yaml", 9, 21, "interpreter_ring.denied_patterns[0]"),
		"spec.network.mode":                            at("compact.yaml", 7, 21, "interpreter_ring.executor_network"),
		"spec.network.egress[1].host":                  at("compact.yaml", 11, 49, "kernel_ring.network_egress_allowlist[1]"),
		"spec.filesystem.write[0]":                     at("compact.yaml", 13, 24, "kernel_ring.fs_write_allowlist[0]"),
		"spec.agents[0].match":                         at("compact.yaml", 1, 1, "interpreter_ring"),
	}
	for path, want := range origins {
		if got := p.Origins[path]; got != want {
			t.Errorf("origin of %s: %+v, want %+v", path, got, want)
		}
	}
}

func imports() *schema.Imports {
	return &schema.Imports{Allow: []string{"pandas", "numpy", "tappass_agent"},
		Deny: []string{"requests", "urllib3", "collibra_client"}}
}

func at(file string, line, column int, path string) schema.Origin {
	return schema.Origin{Pos: schema.Pos{File: file, Line: line, Column: column}, Path: path}
}

func TestCompactGrantsNothingItDoesNotSay(t *testing.T) {
	p := one(t, "p.yaml", "kernel_ring: {}\n")
	want := schema.Spec{
		Agents: []schema.AgentMatch{{Match: "default"}},
		Executors: &schema.Executors{Allowed: []string{"js", "python", "shell"}, JS: &schema.JS{},
			Python: &schema.Python{}, Shell: &schema.Shell{}},
	}
	if diff := cmp.Diff(want, p.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOriginsInEveryForm(t *testing.T) {
	for _, tc := range []struct{ name, text, path, want string }{
		{"p.yaml", header + "  filesystem:\n    read:\n      - /usr\n      - \"/é\" \n", "spec.filesystem.read[1]", "p.yaml:8:9"},
		{"p.yaml", header + "  data: {residency: [\"é\", eu]}\n", "spec.data.residency[1]", "p.yaml:5:28"},
		{"p.yaml", strings.ReplaceAll(header, "\n", "\r\n") + "  mode: enforce\r\n", "spec.mode", "p.yaml:5:9"},
		{"p.yaml", "\xef\xbb\xbf" + header + "  mode: enforce\n", "apiVersion", "p.yaml:1:13"},
		{"p.yaml", header + "  limits: &l {cpu: 1s}\n  executors: {js: {limits: *l}}\n", "spec.executors.js.limits", "p.yaml:6:28"},
		{"p.yaml", header + "  limits: &l {cpu: 1s}\n  executors: {js: {limits: *l}}\n", "spec.executors.js.limits.cpu", "p.yaml:5:20"},
		{"p.json", "{\"interpreter_ring\": {\n\t\"denied_imports\" :\n  [ \"a\",\n\"b\" ]}}", "spec.executors.js.imports.deny[1]", "p.json:4:1"},
		{"p.cue", "_cpu: \"1s\"\ninterpreter_ring: denied_imports: [\"a\",\n\t\"b\"]\n", "spec.executors.js.imports.deny[1]", "p.cue:3:2"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			if got := one(t, tc.name, tc.text).Origins[tc.path].Pos.String(); got != tc.want {
				t.Errorf("origin of %s: %s, want %s", tc.path, got, tc.want)
			}
		})
	}
}

func TestNetworkModesAreNormalised(t *testing.T) {
	for mode, want := range map[string]string{
		"off": "off", "allowlist": "allowlist", "kernel-allowlist": "allowlist",
		"gateway-only": "gateway-only", "broker-only": "gateway-only", "tappass-only": "gateway-only",
	} {
		p := one(t, "p.yaml", header+"  network: {mode: \""+mode+"\"}\n")
		if got := p.Spec.Network.Mode; got != want {
			t.Errorf("%s is %s, want %s", mode, got, want)
		}
		p = one(t, "p.yaml", "interpreter_ring: {executor_network: \""+mode+"\"}\n")
		if got := p.Spec.Network.Mode; got != want {
			t.Errorf("compact %s is %s, want %s", mode, got, want)
		}
	}
}

func TestWarningsDoNotRefuse(t *testing.T) {
	policies, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: []byte("interpreter_ring:\n  " +
		"executor_network: off\n")}})
	if len(policies) != 1 || len(found) != 1 || found.Refused() {
		t.Fatalf("%d policies, findings %v", len(policies), found)
	}
	if got := policies[0].Spec.Network.Mode; got != "off" {
		t.Errorf("mode %q, want off: false would open nothing and mean nothing", got)
	}
}

func TestAllFindingsAtOnceSorted(t *testing.T) {
	policies, found := schema.Decode([]schema.Source{
		{Name: "z.yaml", Data: []byte(header + "  mode: enforced\n  limits: {cpu: 5}\n  network: {mode: of}\n")},
		{Name: "good.yaml", Data: []byte(header + "  mode: enforce\n")},
		{Name: "a.json", Data: []byte(`{"interpreter_ring": {"x": 1}}`)},
	})
	var got []string
	for _, d := range found {
		got = append(got, fmt.Sprintf("%s %s", d.Pos, d.Code))
	}
	want := []string{"a.json:1:23 unknown-field", "z.yaml:5:9 enum", "z.yaml:6:17 type-mismatch", "z.yaml:7:19 enum"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(policies) != 1 || policies[0].File != "good.yaml" {
		t.Errorf("%d policies, want that of good.yaml alone", len(policies))
	}
	if !found.Refused() {
		t.Error("not refused")
	}
}

func TestBounds(t *testing.T) {
	full := strings.Repeat("# comment of forty characters, no more.\n", schema.MaxFileBytes/40)
	parts := make([]schema.Source, 9)
	for i := range parts {
		parts[i] = schema.Source{Name: fmt.Sprintf("p%d.yaml", i),
			Data: []byte("interpreter_ring: {}\n" + full[:schema.MaxFileBytes-64])}
	}
	many := header
	for i := range 3000 {
		many += fmt.Sprintf("  unknown%d: 1\n", i)
	}
	for _, tc := range []struct {
		name    string
		sources []schema.Source
		want    string // code of the last finding
		count   int
	}{
		{"file", []schema.Source{{Name: "p.yaml", Data: []byte(full + full[:100])}}, schema.CodeTooLarge, 1},
		{"all", parts, schema.CodeTooLarge, 1},
		{"findings", []schema.Source{{Name: "p.yaml", Data: []byte(many)}}, schema.CodeTooMany, 1001},
		{"json depth", []schema.Source{{Name: "p.json", Data: []byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))}}, schema.CodeTooDeep, 1},
		{"json deeper", []schema.Source{{Name: "p.json", Data: []byte(strings.Repeat("[", 90000))}}, schema.CodeTooDeep, 1},
		{"yaml depth", []schema.Source{{Name: "p.yaml", Data: []byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))}}, schema.CodeTooDeep, 1},
		{"yaml deeper", []schema.Source{{Name: "p.yaml", Data: []byte(strings.Repeat("[", 90000))}}, schema.CodeTooDeep, 1},
		{"cue depth", []schema.Source{{Name: "p.cue", Data: []byte("a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200))}}, schema.CodeTooDeep, 1},
		{"cue values", []schema.Source{{Name: "p.cue", Data: []byte("import \"list\"\na: list.Repeat([list.Repeat([1], 500)], 500)")}}, schema.CodeTooLarge, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, found := schema.Decode(tc.sources)
			if len(found) != tc.count || !found.Refused() {
				t.Fatalf("%d findings, want %d: %.300v", len(found), tc.count, found)
			}
			if got := found[len(found)-1].Code; got != tc.want {
				t.Errorf("%v, want %s", found[len(found)-1], tc.want)
			}
		})
	}
}

// The same bytes give the same policies and findings, from many goroutines.
func TestDecodeIsPure(t *testing.T) {
	sources := []schema.Source{read(t, "personas.cue"), read(t, "org.yaml"), read(t, "compact.yaml"),
		{Name: "bad.cue", Data: []byte("interpreter_ring: {x: 1, y: \"a\" & 2}")}}
	policies, found := schema.Decode(sources)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			again, foundAgain := schema.Decode(sources)
			if diff := cmp.Diff(policies, again); diff != "" {
				t.Errorf("policies differ:\n%s", diff)
			}
			if diff := cmp.Diff(found, foundAgain); diff != "" {
				t.Errorf("findings differ:\n%s", diff)
			}
		})
	}
	wg.Wait()
}

func TestNothingIsNoPolicy(t *testing.T) {
	policies, found := schema.Decode(nil)
	if len(policies) != 0 || len(found) != 0 {
		t.Errorf("%v, %v", policies, found)
	}
}
