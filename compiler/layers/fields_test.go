package layers_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles/fields"
	"github.com/ringd/ringd/schema"
)

// read decodes documents, the name of each before its text.
func read(t testing.TB, texts ...string) []schema.Policy {
	t.Helper()
	var sources []schema.Source
	for i := 0; i < len(texts); i += 2 {
		sources = append(sources, schema.Source{Name: texts[i], Data: []byte(texts[i+1])})
	}
	policies, found := schema.Decode(sources)
	if found.Refused() {
		t.Fatal(found)
	}
	return policies
}

// full is a ceiling that states every field, and an agent below it that states the same.
func full(t testing.TB) (org, agent string) {
	t.Helper()
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	org = string(text)
	agent = strings.NewReplacer("kind: OrgPolicy", "kind: AgentPolicy", "name: acme,", "name: agent, parent: acme,").Replace(org)
	return org, agent
}

// TestEveryFieldNarrows: a field of the agent that is wider than the ceiling is one
// finding with both places, and one that is narrower, equal or left out is none.
func TestEveryFieldNarrows(t *testing.T) {
	org, agent := full(t)
	proved := map[string]bool{}
	merge := func(change func(*schema.Spec, *schema.Policy)) layers.Merged {
		policies := read(t, "org.yaml", org, "agent.yaml", agent)
		if change != nil {
			change(&policies[1].Spec, &policies[1])
		}
		return layers.Merge(layers.Config{Policies: policies})
	}
	if found := merge(nil).Found; len(found) > 0 {
		t.Fatalf("an agent that states its ceiling: %v", found)
	}
	for _, p := range proofs() {
		proved[p.field] = true
		if p.wide != nil {
			found := merge(p.wide).Found
			if len(found) != 1 {
				t.Errorf("%s: wider: want one finding, got %v", p.field, found)
				continue
			}
			f := found[0]
			if want := p.code; want == "" && f.Code != layers.CodeWidens || want != "" && f.Code != want {
				t.Errorf("%s: wider: %v", p.field, f)
			}
			if f.Pos.File != "agent.yaml" || len(f.Related) != 1 || f.Related[0].File != "org.yaml" || f.Related[0].Line == 0 || f.Hint == "" {
				t.Errorf("%s: wider: the finding lacks a place or a fix: %+v", p.field, f)
			}
		}
		if p.narrow != nil {
			if found := merge(p.narrow).Found; len(found) > 0 {
				t.Errorf("%s: narrower: %v", p.field, found)
			}
		}
		if p.drop != nil {
			out := merge(p.drop)
			if len(out.Found) > 0 || len(out.Effective) != 1 {
				t.Errorf("%s: left out: %v", p.field, out.Found)
			} else if !p.stays(&out.Effective[0].Spec) {
				t.Errorf("%s: left out, and what is above does not stand", p.field)
			}
		}
		if p.wide == nil && p.drop == nil {
			t.Errorf("%s: proves nothing", p.field)
		}
	}
	exempt := []fields.Order{fields.Parts, fields.Annotation, fields.Own, fields.Filled}
	for _, f := range fields.Table() {
		if !proved[f.Policy] && !slices.Contains(exempt, f.Order) && !strings.HasPrefix(f.Policy, "Policy.") {
			t.Errorf("%s: nothing proves its order %q", f.Policy, f.Order)
		}
	}
}

// TestAbsentTakesTheCeiling: of an agent that states only what it has to, limits, lists
// of what is denied and settings are those above, and grants are none.
func TestAbsentTakesTheCeiling(t *testing.T) {
	org, _ := full(t)
	policies := read(t, "org.yaml", org, "agent.yaml", `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: agent, revision: 1, owner: "team:x@y", parent: acme}
spec:
  executors: {allowed: [js, python, shell]}
`)
	out := layers.Merge(layers.Config{Policies: policies})
	if len(out.Found) > 0 {
		t.Fatal(out.Found)
	}
	s := out.Effective[0].Spec
	if s.Bridges != nil || s.Network != nil || s.Sessions != nil || s.Filesystem.Read != nil || s.Filesystem.Write != nil || s.Executors.Shell.Binaries != nil ||
		s.Executors.JS.Imports.Allow != nil || s.Executors.Python.JIT != nil || s.Executors.Shell.AllowPipes != nil {
		t.Errorf("something is granted that nobody asked for: %+v", s)
	}
	if s.Executors.Python.Limits.Memory != "1GiB" || s.Limits.Wall != "1h" || s.Executors.MinTier != "wasm" || len(s.Filesystem.Deny) != 1 ||
		len(s.Executors.Shell.DenyPatterns) != 1 || s.Executors.Python.Imports.Within == nil {
		t.Errorf("something above does not stand: %+v", s)
	}
}

// TestDocument holds the table of docs/LAYERS.md to the rules. RINGD_UPDATE=1 rewrites it.
func TestDocument(t *testing.T) {
	const name, from, to = "../../docs/LAYERS.md", "<!-- fields -->\n", "<!-- /fields -->"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), from)
	table, after, closed := strings.Cut(rest, to)
	if !found || !closed {
		t.Fatal("docs/LAYERS.md has no table of fields")
	}
	want := rulesTable()
	if os.Getenv("RINGD_UPDATE") == "1" && table != want {
		if err := os.WriteFile(name, []byte(before+from+want+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Errorf("docs/LAYERS.md has another table; RINGD_UPDATE=1 rewrites it\n%s", want)
	}
}

// namesOf maps the Go path of every field to its name in a policy; empty: no author writes it.
func namesOf(t reflect.Type, out map[string]string) map[string]string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return namesOf(t.Elem(), out)
	case reflect.Struct:
		for f := range t.Fields() {
			if _, seen := out[t.Name()+"."+f.Name]; !seen {
				out[t.Name()+"."+f.Name] = f.Tag.Get("cue")
				namesOf(f.Type, out)
			}
		}
	}
	return out
}

// rulesTable writes the rules for readers, those that say the same in one line.
func rulesTable() string {
	names := namesOf(reflect.TypeFor[schema.Policy](), map[string]string{})
	within := map[string]string{"Policy": "", "Spec": "", "Metadata": "metadata.", "AgentMatch": "agents[].", "RuleOfTwo": "ruleOfTwo.", "Touches": "powers.", "Executors": "executors.",
		"JS": "js.", "Imports": "js.imports.", "Python": "python.", "PythonImports": "python.imports.", "Environment": "python.environments[].", "Shell": "shell.", "Binary": "binaries[].",
		"Args": "binaries[].args.", "DenyWords": "args.deny[].", "AskWords": "args.ask[].", "WordsApproval": "args.ask[].approval.", "DenyPattern": "denyPatterns[].", "ModuleSource": "modules.*.",
		"Bridge": "bridges[].", "Powers": "bridges[].powers.", "BridgeLimits": "bridges[].limits.", "Approval": "bridges[].approval.", "Network": "network.", "Egress": "egress[].",
		"EgressLimits": "egress[].limits.", "Gateway": "gateways[].", "Guardrail": "guardrails[].", "Exception": "exceptions[].", "ExceptionGrants": "exceptions[].grants.", "Data": "data.",
		"Filesystem": "filesystem.", "Limits": "limits.", "Sessions": "sessions.", "Inputs": "inputs."}
	type line struct{ kind, says string }
	var order []line
	lines := map[line][]string{}
	for _, f := range fields.Table() {
		kind, _, _ := strings.Cut(f.Policy, ".")
		if f.Order == fields.Parts || f.Order == fields.Filled || names[f.Policy] == "" {
			continue
		}
		l := line{string(f.Order), f.Says}
		if lines[l] == nil {
			order = append(order, l)
		}
		lines[l] = append(lines[l], "`"+within[kind]+names[f.Policy]+"`")
	}
	var b strings.Builder
	b.WriteString("| fields | rule | |\n|---|---|---|\n")
	for _, l := range order {
		b.WriteString("| " + strings.Join(lines[l], ", ") + " | " + l.kind + " | " + l.says + " |\n")
	}
	return b.String()
}
