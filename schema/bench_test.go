package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/schema"
)

// rules is a policy of n rules: a third each of bridges, imports and hosts,
// spread over files of at most 3,000 rules.
func rules(n int) []schema.Source {
	var out []schema.Source
	for done := 0; done < n; done += 3000 {
		count := min(3000, n-done) / 3
		var imports, bridges, hosts strings.Builder
		for i := range count {
			fmt.Fprintf(&imports, "          - package%d.module\n", done+i)
			fmt.Fprintf(&bridges, "    - name: tools.bridge%d\n      powers: {sensitive: false, untrusted: true, "+
				"external: false}\n      limits: {callsPerRun: %d, timeout: 30s}\n", done+i, i)
			fmt.Fprintf(&hosts, "      - {host: host%d.example.com, ports: [80], methods: [GET, POST], paths: "+
				"[\"/v1/\"]}\n", done+i)
		}
		text := fmt.Sprintf("apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: agent%d, revision: 1, owner: "+
			"\"team:x@acme.example\"}\nspec:\n  executors:\n    python:\n      imports:\n        allow:\n%s  bridges:\n%s  network:\n    mode: allowlist\n    egress:\n%s",
			done, &imports, &bridges, &hosts)
		out = append(out, schema.Source{Name: fmt.Sprintf("p%d.yaml", done), Data: []byte(text)})
	}
	return out
}

func BenchmarkDecodeYAML(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			sources := rules(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, found := schema.Decode(sources); len(found) > 0 {
					b.Fatal(found[0])
				}
			}
		})
	}
}

func BenchmarkDecodeCUE(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var bridges strings.Builder
			for i := range n {
				fmt.Fprintf(&bridges, "\t\t{name: \"bridge%d\", powers: _powers, limits: callsPerRun: %d},\n", i, i)
			}
			text := fmt.Sprintf("_powers: {sensitive: false, untrusted: true, external: false}\nagent: #Policy & {\n"+
				"\tapiVersion: \"ringd/v1\"\n\tkind: \"AgentPolicy\"\n\tmetadata: {name: \"a\", revision: 1, owner: \"team:x\"}\n\tspec: bridges: [\n%s\t]\n}\n", &bridges)
			sources := []schema.Source{{Name: "p.cue", Data: []byte(text)}}
			b.ReportAllocs()
			for b.Loop() {
				if _, found := schema.Decode(sources); len(found) > 0 {
					b.Fatal(found[0])
				}
			}
		})
	}
}

// The work of a reading grows with the policy and not with its square.
func TestAllocationsGrowWithThePolicy(t *testing.T) {
	small, large := allocations(t, 300), allocations(t, 3000)
	if large > 12*small {
		t.Errorf("%.0f allocations for 3,000 rules and %.0f for 300", large, small)
	}
}

func allocations(t *testing.T, n int) float64 {
	sources := rules(n)
	return testing.AllocsPerRun(3, func() {
		if _, found := schema.Decode(sources); len(found) > 0 {
			t.Error(found[0])
		}
	})
}
