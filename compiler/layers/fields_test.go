package layers_test

import (
	"cmp"
	"fmt"
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
	agent = strings.NewReplacer("kind: OrgPolicy", "kind: AgentPolicy", "name: acme,",
		"name: agent, parent: acme,").Replace(org)
	return org, agent
}

// TestEveryFieldNarrows: a field of the agent that is wider than the ceiling is one
// finding with both places, and one that is narrower, equal or left out is none.
func TestEveryFieldNarrows(t *testing.T) {
	merge := merges(t, fields.Table())
	if found := merge(nil).Found; len(found) > 0 {
		t.Fatalf("an agent that states its ceiling: %v", found)
	}
	proved := map[string]bool{}
	for _, p := range proofs() {
		proved[p.field] = true
		for _, text := range p.failures(merge) {
			t.Error(text)
		}
	}
	exempt := []fields.Order{fields.Parts, fields.Annotation, fields.Own, fields.Filled}
	for _, f := range fields.Table() {
		if !proved[f.Policy] && !slices.Contains(exempt, f.Order) && !strings.HasPrefix(f.Policy, "Policy.") {
			t.Errorf("%s: nothing proves its order %q", f.Policy, f.Order)
		}
	}
}

// TestBrokenRow: of each field that the table alone merges, another order is noticed, and so is a row that is not
// there.
func TestBrokenRow(t *testing.T) {
	broken := 0
	for i, f := range fields.Table() {
		switch f.Order {
		case fields.Subset, fields.Accumulates, fields.Stricter, fields.AtMost, fields.AtLeast, fields.Opens,
			fields.Restrains, fields.Owner:
		default:
			continue
		}
		if _, word := inItems()[f.Policy]; word || layers.HasCode(f.Policy) {
			continue
		}
		noticed := func(change func(*fields.Field)) bool {
			table := fields.Table()
			change(&table[i])
			merge := merges(t, table)
			return slices.ContainsFunc(proofs(), func(p proof) bool {
				return p.field == f.Policy && len(p.failures(merge)) > 0
			})
		}
		if !strings.HasPrefix(f.Policy, "Limits.") && !noticed(func(f *fields.Field) { f.Order = fields.Own }) {
			t.Errorf("%s: that another order merges it is not noticed", f.Policy)
		}
		if !noticed(func(f *fields.Field) { f.Policy = "" }) {
			t.Errorf("%s: that it has no row is not noticed", f.Policy)
		}
		broken++
	}
	if broken < 50 {
		t.Errorf("only %d rows were broken", broken)
	}
}

// inItems are fields that are merged with the item that they are in.
func inItems() map[string]bool {
	out := map[string]bool{}
	for _, of := range []string{"ModuleSource.File", "ModuleSource.Source", "ModuleSource.Digest", "Guardrail.Name",
		"Guardrail.On", "Guardrail.Rego", "Guardrail.File", "Guardrail.OnError", "DenyPattern.Pattern",
		"DenyPattern.Kind",
		"DenyPattern.Reason", "DenyPattern.Instead", "DenyWords.Words", "DenyWords.Because", "DenyWords.Instead",
		"AskWords.Words", "Environment.Path", "Egress.Ports", "Egress.Methods", "Egress.Paths", "Egress.TLS",
		"Egress.ECH",
		"Egress.Expires", "Egress.Binaries", "EgressLimits.Up", "EgressLimits.Down", "EgressLimits.Connections",
		"EgressLimits.Rate"} {
		out[of] = true
	}
	return out
}

// merges makes a merge of an agent, which a change makes to state another thing than its ceiling, by a table.
func merges(t *testing.T, table []fields.Field) func(func(*schema.Spec, *schema.Policy)) layers.Merged {
	org, agent := full(t)
	return func(change func(*schema.Spec, *schema.Policy)) layers.Merged {
		policies := read(t, "org.yaml", org, "agent.yaml", agent)
		if change != nil {
			change(&policies[1].Spec, &policies[1])
		}
		return layers.MergeBy(table, layers.Config{Policies: policies})
	}
}

// failures are what a merge does that the proof does not say.
func (p proof) failures(merge func(func(*schema.Spec, *schema.Policy)) layers.Merged) (out []string) {
	fail := func(format string, args ...any) { out = append(out, p.field+": "+fmt.Sprintf(format, args...)) }
	if p.wide != nil {
		if found := merge(p.wide).Found; len(found) != 1 {
			fail("wider: want one finding, got %v", found)
		} else if f := found[0]; f.Code != cmp.Or(p.code, layers.CodeWidens) {
			fail("wider: %v", f)
		} else if f.Pos.File != "agent.yaml" || len(f.Related) != 1 || f.Related[0].File != "org.yaml" ||
			f.Related[0].Line == 0 || f.Hint == "" {
			fail("wider: the finding lacks a place or a fix: %+v", f)
		}
	}
	if p.narrow != nil {
		if found := merge(p.narrow).Found; len(found) > 0 {
			fail("narrower: %v", found)
		}
	}
	if p.drop != nil {
		merged := merge(p.drop)
		if len(merged.Found) > 0 || len(merged.Effective) != 1 {
			fail("left out: %v", merged.Found)
		} else if !p.stays(&merged.Effective[0].Spec) {
			fail("left out, and what is above does not stand")
		}
	}
	if p.wide == nil && p.drop == nil {
		fail("proves nothing")
	}
	return out
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
	if s.Bridges != nil || s.Network != nil || s.Sessions != nil || s.Filesystem.Read != nil ||
		s.Filesystem.Write != nil || s.Executors.Shell.Binaries != nil ||
		s.Executors.JS.Imports.Allow != nil || s.Executors.Python.JIT != nil || s.Executors.Shell.AllowPipes != nil {
		t.Errorf("something is granted that nobody asked for: %+v", s)
	}
	if s.Executors.Python.Limits.Memory != "1GiB" || s.Limits.Wall != "1h" || s.Executors.MinTier != "wasm" ||
		len(s.Filesystem.Deny) != 1 ||
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
	within := map[string]string{"Policy": "", "Spec": "", "Metadata": "metadata.", "AgentMatch": "agents[].",
		"RuleOfTwo": "ruleOfTwo.", "Touches": "powers.", "Executors": "executors.",
		"JS": "js.", "Imports": "js.imports.", "Python": "python.", "PythonImports": "python.imports.",
		"Environment": "python.environments[].", "Shell": "shell.", "Binary": "binaries[].",
		"Args": "binaries[].args.", "DenyWords": "args.deny[].", "AskWords": "args.ask[].",
		"WordsApproval": "args.ask[].approval.", "DenyPattern": "denyPatterns[].", "ModuleSource": "modules.*.",
		"Bridge": "bridges[].", "Powers": "bridges[].powers.", "BridgeLimits": "bridges[].limits.",
		"Approval": "bridges[].approval.", "Network": "network.", "Egress": "egress[].",
		"EgressLimits": "egress[].limits.", "Gateway": "gateways[].", "Guardrail": "guardrails[].",
		"Exception": "exceptions[].", "ExceptionGrants": "exceptions[].grants.", "Data": "data.",
		"Filesystem": "filesystem.", "Limits": "limits.", "Sessions": "sessions.", "Inputs": "inputs."}
	type line struct{ kind, says string }
	var order []line
	lines := map[line][]string{}
	for _, f := range fields.Table() {
		kind, _, _ := strings.Cut(f.Policy, ".")
		if f.Order == fields.Parts || f.Order == fields.Filled || names[f.Policy] == "" {
			continue
		}
		l := line{string(f.Order), saysOf(f)}
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

// saysOf returns the text of the last column of a row.
func saysOf(f fields.Field) string {
	var parts []string
	if n := len(f.Words); n > 0 {
		words := slices.Clone(f.Words)
		words[0] = cmp.Or(words[0], "absent")
		parts = append(parts, strings.Join(words, ", "))
		if f.Strictest {
			parts = append(parts, "left out: "+words[n-1])
		}
	}
	if f.Items != "" {
		parts = append(parts, string(f.Items))
	}
	if f.Says != "" {
		parts = append(parts, f.Says)
	}
	if f.None {
		parts = append(parts, "if the layer above has none, nothing is allowed")
	}
	return strings.Join(parts, "; ")
}
