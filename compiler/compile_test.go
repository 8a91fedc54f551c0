package compiler_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

func compact() schema.Policy {
	imports := &schema.Imports{Allow: []string{"pandas", "numpy", "tappass_agent"},
		Deny: []string{"requests", "urllib3", "collibra_client"}}
	return schema.Policy{File: "policy.yaml", Compact: true, Spec: schema.Spec{
		Executors: &schema.Executors{Allowed: []string{"js", "python", "shell"},
			JS: &schema.JS{Imports: imports}, Python: &schema.Python{
				Imports: &schema.PythonImports{Allow: imports.Allow, Deny: imports.Deny}},
			Shell: &schema.Shell{Binaries: []schema.Binary{{Path: "/usr/bin/git"}},
				DenyPatterns: []schema.DenyPattern{{Pattern: "rm -rf", Kind: "literal"},
					{Pattern: "curl", Kind: "literal"}}}},
		Network: &schema.Network{Mode: "gateway-only"},
	}, Origins: map[string]schema.Origin{
		"spec.executors.python.imports.deny[1]": {Pos: schema.Pos{File: "policy.yaml", Line: 5, Column: 7}, Path: "interpreter_ring.denied_imports[1]"},
		"spec.executors.js.imports.deny[1]":     {Pos: schema.Pos{File: "policy.yaml", Line: 5, Column: 7}, Path: "interpreter_ring.denied_imports[1]"},
	}}
}

func compile(t *testing.T, cfg compiler.Config) profiles.Set {
	t.Helper()
	set, found := compiler.Compile(cfg)
	if len(found) > 0 {
		t.Fatalf("findings:\n%v", found)
	}
	return set
}

func TestCompactForm(t *testing.T) {
	set := compile(t, compiler.Config{Policies: []schema.Policy{compact()}})
	d := set.Decider("default", profiles.Environment{})
	want := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeImportDenied,
		Reason:   "import of urllib3 is denied",
		Rule:     &profiles.Rule{File: "policy.yaml", Line: 5, Column: 7, Path: "interpreter_ring.denied_imports[1]"},
		Revision: set.Revision}
	for _, executor := range []string{"js", "python"} {
		if diff := cmp.Diff(want, d.Import(executor, "urllib3")); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", executor, diff)
		}
	}
	if got := d.Import("python", "pandas.core"); got.Verdict != profiles.Allow {
		t.Errorf("pandas.core: %+v", got)
	}
	if got := d.Import("js", "pandas"); got.Code != profiles.CodeImportNotAllowed {
		t.Errorf("pandas in JavaScript: %+v", got)
	}
}

// TestByteStable: the order of files, policies and map keys changes nothing.
func TestByteStable(t *testing.T) {
	var sources []schema.Source
	files := map[string][]byte{}
	for i := range 8 {
		sources = append(sources, schema.Source{Name: fmt.Sprintf("p%d.yaml", i), Data: []byte(fmt.Sprintf(`apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: agent-%d, revision: 1, owner: "team:x@y"}
spec:
  executors: {allowed: [js, python], js: {imports: {allow: [shared, own%d]}}, python: {imports: {allow: [json]}}}
  bridges:
    - {name: b%d, powers: {sensitive: true, untrusted: false, external: false}, arguments: {type: object, properties: {z: {}, a: {type: string}}}}
`, i, i, i))})
		files[fmt.Sprintf("modules/own%d.js", i)] = []byte(fmt.Sprintf("export default %d", i))
	}
	files["modules/shared.ts"] = []byte("export const é = '\u2028<>&'")
	r := rand.New(rand.NewPCG(3, 4))
	first := ""
	for range 20 {
		policies, found := schema.Decode(sources)
		if len(found) > 0 {
			t.Fatal(found)
		}
		set := compile(t, compiler.Config{Policies: policies, Files: files})
		b, err := set.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(b)
		}
		if string(b) != first {
			t.Fatal("another order of sources gave another set")
		}
		r.Shuffle(len(sources), func(i, j int) { sources[i], sources[j] = sources[j], sources[i] })
	}
	if _, err := profiles.DecodeSet([]byte(first)); err != nil {
		t.Error(err)
	}
	sources[0].Data = append(sources[0].Data, " "...)
	policies, _ := schema.Decode(sources)
	if b, _ := ptr(compile(t, compiler.Config{Policies: policies, Files: files})).Encode(); string(b) != first {
		t.Error("a space at the end of a file changed the set")
	}
	files["modules/shared.ts"] = []byte("export const e = 1")
	if b, _ := ptr(compile(t, compiler.Config{Policies: policies, Files: files})).Encode(); string(b) == first {
		t.Error("another module gave the same set")
	}
}

func ptr[T any](v T) *T { return &v }

func TestNoPolicy(t *testing.T) {
	set, found := compiler.Compile(compiler.Config{})
	if !found.Refused() || len(found) != 1 || found[0].Code != compiler.CodeNoPolicy {
		t.Errorf("findings %v", found)
	}
	if diff := cmp.Diff(profiles.Set{}, set); diff != "" {
		t.Errorf("a refused policy gave a set: %s", diff)
	}
}

// TestPolicyFolder compiles what testdata/policies holds: everything but what
// says unsupported.
func TestPolicyFolder(t *testing.T) {
	names, err := filepath.Glob("../testdata/policies/*.*")
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		policies, found := schema.Decode([]schema.Source{{Name: filepath.Base(name), Data: text}})
		if found.Refused() {
			t.Errorf("%s: %v", name, found)
			continue
		}
		_, found = compiler.Compile(compiler.Config{Policies: policies})
		unsupported := 0
		for _, d := range found {
			if d.Code == compiler.CodeUnsupported || d.Code == layers.CodeUnknownParent { // each is alone here
				unsupported++
			} else if d.Severity == schema.Error {
				t.Errorf("%s: %v", name, d)
			}
		}
		if unsupported == 0 {
			compiled++
		}
		if len(found) > unsupported {
			t.Errorf("%s: %v", name, found)
		}
		t.Logf("%s: %d unsupported", filepath.Base(name), unsupported)
	}
	if len(names) < 5 || compiled == 0 {
		t.Errorf("%d policies, %d without unsupported parts", len(names), compiled)
	}
}

// TestEgressEntries: entries of every good form, and of every bad one.
func TestEgressEntries(t *testing.T) {
	entry := func(text string) schema.Diagnostics {
		_, found := compiler.Compile(
			compiler.Config{Policies: []schema.Policy{
				{File: "p.yaml", Kind: "AgentPolicy", Metadata: schema.Metadata{Name: "a"},
					Spec: schema.Spec{Network: &schema.Network{Mode: "allowlist",
						Egress: []schema.Egress{{Host: text}}}}}}})
		return found
	}
	for _, text := range []string{"*.example.com", "*.example.com.", "**.example.com", "*.example.com:8443",
		"10.1.2.3:443", "169.254.169.254:80", "93.184.215.14",
		"[2606:4700::6810:84e5]:443", "2606:4700::6810:84e5", "[::1]:80", "_dmarc.example.com", "API.example.com", "example.com:*", "localhost:80",
		"xn--bcher-kva.example", "10.0.0.0/8", "10.0.0.0/8:22", "[fd00::]/8", "[fd00::]/8:443", "[fd00::/8]:443", "fd00::/8", "::ffff:10.1.2.3", "a-b.example.com",
		"bücher.example", "example。com", "*.BÜCHER.example:8443"} {
		if found := entry(text); found.Refused() {
			t.Errorf("%q: %v", text, found)
		}
	}
	for _, text := range []string{"", "*", "**", "*.", "*.com", "*.*.example.com", "a.*.example.com", "example.*",
		"exam*ple.com", "*example.com", ":443",
		"example.com:", "example.com:0", "example.com:0443", "example.com:+443", "example.com:65536", "example.com:443:443", "example.com/path",
		"https://example.com", "user@example.com", "exa mple.com", "example..com", ".example.com", "127.1", "0177.0.0.1", "0x7f000001", "2130706433",
		"1.2.3.4.5", "1.2.3", "10.0.0.1/8", "10.0.0.0/33", "0.0.0.0/0", "[::]/0", "::/0", "[::1", "::1]", "[example.com]", "[10.0.0.1]", "[fe80::1%25eth0]",
		"fe80::1%eth0", "[::ffff:10.0.0.0]/104", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 127) + "com", "exam\x00ple.com", "example.com\n",
		"xn--.example", "xn--a.example", "exa\u00admple.com:0", "gateway.ringd.internal", "gateway.ringd.internal:80", "*.ringd.internal", "ringd.internal"} {
		if found := entry(text); !found.Refused() {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzEgressEntry(f *testing.F) {
	f.Add("*.example.com:443")
	f.Add("[::1]:80")
	f.Add("10.0.0.0/8")
	f.Fuzz(func(t *testing.T, text string) {
		policy := schema.Policy{File: "p.yaml", Kind: "AgentPolicy", Metadata: schema.Metadata{Name: "a"},
			Spec: schema.Spec{Network: &schema.Network{Mode: "allowlist", Egress: []schema.Egress{{Host: text}}}}}
		set, found := compiler.Compile(compiler.Config{Policies: []schema.Policy{policy}})
		if found.Refused() {
			return
		}
		rule := set.Agents["a"].Egress.Allow[0]
		policy.Spec.Network.Egress[0] = schema.Egress{Host: rule.Host, Ports: rule.Ports}
		again, found := compiler.Compile(compiler.Config{Policies: []schema.Policy{policy}})
		if found.Refused() {
			t.Fatalf("%q gave %q, which is no entry: %v", text, rule.Host, found)
		}
		if got := again.Agents["a"].Egress.Allow[0].Host; got != rule.Host {
			t.Fatalf("%q gave %q, then %q", text, rule.Host, got)
		}
	})
}

func FuzzJSONSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string","pattern":"^a"}}}`))
	f.Add([]byte(`{"$ref":"http://x/y"}`))
	f.Add([]byte(`{"$id":"http://x/","$ref":"y"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, found := compiler.Compile(
			compiler.Config{Policies: []schema.Policy{
				{File: "p.yaml", Kind: "AgentPolicy", Metadata: schema.Metadata{Name: "a"},
					Spec: schema.Spec{Bridges: []schema.Bridge{{Name: "b", Arguments: text}}}}}})
		if found.Refused() {
			return
		}
		b, err := set.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := profiles.DecodeSet(b); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

// TestSchemaCost: a schema that makes a validator work without end is refused
// when the policy is compiled, not met when a guest sends the value.
func TestSchemaCost(t *testing.T) {
	doubling := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 40 {
		doubling += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	doubling += `"d40":{"type":"string"}}}`
	for name, tt := range map[string]struct {
		schema string
		want   string
	}{
		"plain":              {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"number"}}}}`, ""},
		"shared":             {`{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, ""},
		"boolean":            {`true`, ""},
		"doubling":           {doubling, "parts"},
		"itself":             {`{"$ref":"#"}`, "itself"},
		"tree":               {`{"anyOf":[{"type":"null"},{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}]}`, "itself"},
		"doubling by depth":  {`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, "itself"},
		"items":              {`{"items":{"$ref":"#"}}`, "itself"},
		"pattern properties": {`{"patternProperties":{"^a":{"$ref":"#"}}}`, "itself"},
		"additional":         {`{"additionalProperties":{"$ref":"#"}}`, "itself"},
		"dynamic":            {`{"$dynamicAnchor":"a","items":{"$dynamicRef":"#a"}}`, "itself"},
		"draft 7 items":      {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#"}]}`, "itself"},
		"draft 7 depends":    {`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, "itself"},
		"draft 2019":         {`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`, "itself"},
		"the metaschema":     {`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "itself"},
		"unknown draft":      {`{"$schema":"https://example.com/schema"}`, "refers"},
		"huge number":        {`{"maximum":1e999999999}`, "double"},
		"tiny number":        {`{"multipleOf":1e-999999999}`, "double"},
		"nested":             {strings.Repeat(`{"not":`, 60) + "true" + strings.Repeat("}", 60), "deeper"},
		"large":              {`{"const":"` + strings.Repeat("x", 70_000) + `"}`, "above"},
		"repeat of a repeat": {`{"pattern":"((a{0,1000}){0,1000}){0,1000}"}`, "regex"},
		"not a schema":       {`[]`, ""},
		"not JSON":           {`{`, "not JSON"},
		"base changes":       {`{"$id":"https://example.com/a","$ref":"b"}`, "refers"},
		"file":               {`{"$ref":"file:///etc/passwd"}`, "refers"},
	} {
		_, found := compiler.Compile(
			compiler.Config{Policies: []schema.Policy{
				{File: "p.yaml", Kind: "AgentPolicy", Metadata: schema.Metadata{Name: "a"},
					Spec: schema.Spec{Bridges: []schema.Bridge{{Name: "b", Arguments: []byte(tt.schema)}}}}}})
		switch {
		case tt.want == "" && name != "not a schema":
			if len(found) > 0 {
				t.Errorf("%s: %v", name, found)
			}
		case !found.Refused() || found[0].Code != compiler.CodeJSONSchema || !strings.Contains(found[0].Msg, tt.want):
			t.Errorf("%s: got %v, want %q", name, found, tt.want)
		}
	}
}

// TestPythonEngine: the WebAssembly engine is there or the policy is refused; there
// is no other that takes its place.
func TestPythonEngine(t *testing.T) {
	policies, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: []byte("apiVersion: ringd/v1\nkind: " +
		"AgentPolicy\n" +
		"metadata: {name: a, revision: 1, owner: \"team:x@y\"}\nspec: {executors: {allowed: [python], python: {tier: wasm}}}\n")}})
	if found.Refused() {
		t.Fatal(found)
	}
	set, found := compiler.Compile(compiler.Config{Policies: policies})
	if !found.Refused() || found[0].Code != compiler.CodeEngine || len(set.Agents) != 0 {
		t.Errorf("without the engine: %v", found)
	}
	set, found = compiler.Compile(compiler.Config{Policies: policies, PythonWasm: true})
	if len(found) != 0 || set.Agents["a"].Python.Engine != profiles.PythonWasm {
		t.Errorf("with the engine: %v %+v", found, set.Agents["a"].Python)
	}
}

// TestAnalyst: what testdata/policies/analyst.yaml says is what is decided.
func TestAnalyst(t *testing.T) {
	text, err := os.ReadFile("../testdata/policies/analyst.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, found := compileAll(t, []schema.Source{{Name: "analyst.yaml", Data: text}}, nil)
	if len(found) > 0 {
		t.Fatal(found)
	}
	a, d := set.Agents["analyst"], set.Decider("analyst", profiles.Environment{})
	if a.Bridges["publish"].Approval.HoldMillis != 20*60*1000 || !a.Python.EndOnDenied ||
		a.Python.Environments[0].Path != "/srv/analysis/.venv" ||
		a.Python.Engine != profiles.PythonNative || len(a.Python.DenyBuiltins) != 2 {
		t.Errorf("got %+v", a.Python)
	}
	for _, tt := range []struct {
		module           string
		program, library profiles.Verdict
		line             int
	}{
		{"pandas.core.frame", profiles.Allow, profiles.Allow, 11},
		{"pandas.io.sql", profiles.Deny, profiles.Deny, 12},
		{"requests.adapters", profiles.Deny, profiles.Deny, 12},
		{"multiprocessing", profiles.Deny, profiles.Deny, 13},
		{"subprocess", profiles.Deny, profiles.Allow, 11},
		{"dateutil", profiles.Deny, profiles.Allow, 11},
		{"os", profiles.Deny, profiles.Allow, 11},
		{"json.decoder", profiles.Allow, profiles.Allow, 11},
	} {
		program, library := d.Import("python", tt.module), d.ImportFor("python", tt.module, profiles.OriginLibrary)
		if program.Verdict != tt.program || library.Verdict != tt.library || program.Rule == nil ||
			program.Rule.Line != tt.line {
			t.Errorf("%s: %+v, of a library %+v", tt.module, program, library)
		}
	}
}
