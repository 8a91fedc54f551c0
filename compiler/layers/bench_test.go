package layers_test

import (
	"fmt"
	"testing"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/schema"
)

// large is a pair of layers with n rules of one kind each, and half of them in the agent
// in another order: what a comparison of all with all would be slow for.
func large(kind string, n int) []schema.Policy {
	org, agent := schema.Spec{}, schema.Spec{}
	fill := func(s *schema.Spec, i int, below bool) {
		switch kind {
		case "imports":
			if s.Executors == nil {
				s.Executors = &schema.Executors{Allowed: []string{"python"},
					Python: &schema.Python{Imports: &schema.PythonImports{}}}
			}
			name := fmt.Sprintf("package%d.module", i)
			if below {
				name += ".part"
			}
			s.Executors.Python.Imports.Allow = append(s.Executors.Python.Imports.Allow, name)
		case "hosts", "addresses":
			if s.Network == nil {
				s.Network = &schema.Network{Mode: "allowlist"}
			}
			host := fmt.Sprintf("*.h%d.example.com", i)
			if kind == "addresses" {
				host = fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255)
			}
			if below && kind == "hosts" {
				host = fmt.Sprintf("api.h%d.example.com", i)
			} else if below {
				host = fmt.Sprintf("10.%d.%d.7", i>>8, i&255)
			}
			s.Network.Egress = append(s.Network.Egress, schema.Egress{
				Host: host, Limits: &schema.EgressLimits{Rate: "10/m"}})
		case "paths":
			if s.Filesystem == nil {
				s.Filesystem = &schema.Filesystem{}
			}
			s.Filesystem.Read = append(s.Filesystem.Read, fmt.Sprintf("/srv/data/d%d", i))
		case "binaries":
			if s.Executors == nil {
				s.Executors = &schema.Executors{Allowed: []string{"shell"}, Shell: &schema.Shell{}}
			}
			s.Executors.Shell.Binaries = append(s.Executors.Shell.Binaries,
				schema.Binary{Path: fmt.Sprintf("/usr/bin/p%d", i),
					Args: &schema.Args{Subcommands: []string{"a b", "c"}}})
		}
	}
	for i := range n {
		fill(&org, i, false)
	}
	for i := n - 1; i >= 0; i-- {
		fill(&agent, i, true)
	}
	docs := []schema.Policy{document("OrgPolicy", "org", "", org), document("AgentPolicy", "agent", "org", agent)}
	for i := range docs { // as many places as a document of this size has
		for j := range n {
			path := fmt.Sprintf("spec.network.egress[%d]", j)
			docs[i].Origins[path] = schema.Origin{Path: path}
			docs[i].Origins[path+".host"] = schema.Origin{Path: path + ".host"}
		}
	}
	return docs
}

// BenchmarkMerge compares layers of 10,000 rules.
func BenchmarkMerge(b *testing.B) {
	for _, kind := range []string{"imports", "hosts", "addresses", "paths", "binaries"} {
		for _, n := range []int{1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				docs := large(kind, n)
				b.ReportAllocs()
				for b.Loop() {
					if out := layers.Merge(layers.Config{Policies: docs}); len(out.Found) > 0 {
						b.Fatal(out.Found[0])
					}
				}
			})
		}
	}
}

// FuzzMerge merges whatever the language reads: an agent under an organisation with both
// texts. Nothing panics, and what comes out fits under the same ceiling.
func FuzzMerge(f *testing.F) {
	org, agent := full(f)
	f.Add(org, agent)
	f.Add("apiVersion: ringd/v1\nkind: OrgPolicy\nmetadata: {name: acme, revision: 1, owner: \"team:x@y\"}\nspec: "+
		"{network: {egress: [{host: \"*.a.test\"}, {host: 10.0.0.0/8}], deny: [a.b.test]}}\n",
		"apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: a, revision: 1, owner: \"team:x@y\", parent: acme}\nspec: {network: {mode: allowlist, egress: [{host: \"b.a.test:*\"}]}}\n")
	f.Fuzz(func(t *testing.T, above, below string) {
		policies, found := schema.Decode([]schema.Source{{Name: "org.yaml", Data: []byte(above)},
			{Name: "agent.yaml", Data: []byte(below)}})
		if found.Refused() {
			return
		}
		out := layers.Merge(layers.Config{Policies: policies})
		for _, p := range out.Effective {
			if p.Layers == nil {
				continue
			}
			again := []schema.Policy{p}
			for _, up := range policies {
				if up.Metadata.Name != p.Metadata.Name {
					again = append(again, up)
				}
			}
			for _, d := range layers.Merge(layers.Config{Policies: again}).Found {
				if d.Code == layers.CodeWidens && d.Pos.File == "agent.yaml" {
					t.Errorf("what comes out is wider than its ceiling: %v", d)
				}
			}
		}
	})
}
