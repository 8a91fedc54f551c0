package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/schema"
)

// What CUE offers to share parts works, and every value keeps a place in the
// text of the author.
func TestCUESharesParts(t *testing.T) {
	p := one(t, "p.cue", `import "strings"

#Quiet: {sensitive: false, untrusted: *false | bool, external: false}
_limits: {cpu: string, wall: *"1h" | string}
_strict: true

apiVersion: "ringd/v1"
kind:       "AgentPolicy"
metadata: {name: strings.ToLower("REVIEWER"), revision: 1 + 1, owner: "team:x"}
spec: bridges: [for n in ["security", "performance"] {
	name:   "review.\(n)"
	powers: #Quiet
}, #Bridge & {name: "log", powers: #Quiet & {untrusted: true}}]
spec: limits: _limits & {cpu: "5s"}
if _strict {
	spec: audit: "strict"
}
let Hosts = ["api.example.com"]
spec: network: egress: [for h in Hosts {host: h, ports: [443]}]
`)
	want := schema.Spec{
		Audit: "strict",
		Bridges: []schema.Bridge{
			{Name: "review.security"}, {Name: "review.performance"},
			{Name: "log", Powers: schema.Powers{Untrusted: true}},
		},
		Network: &schema.Network{Egress: []schema.Egress{{Host: "api.example.com", Ports: []int{443}}}},
		Limits:  &schema.Limits{CPU: "5s", Wall: "1h"},
	}
	if diff := cmp.Diff(want, p.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if p.Metadata.Name != "reviewer" || p.Metadata.Revision != 2 {
		t.Errorf("metadata %+v", p.Metadata)
	}
	for path, line := range map[string]int{
		"metadata.name":                   9,
		"spec.bridges[1].name":            11,
		"spec.bridges[2].powers.external": 3,
		"spec.limits.cpu":                 14,
		"spec.limits.wall":                4,
		"spec.audit":                      16,
		"spec.network.egress[0].ports[0]": 19,
	} {
		if got := p.Origins[path].Pos.Line; got != line {
			t.Errorf("%s is on line %d, want %d", path, got, line)
		}
	}
	if got := p.Origins["spec.bridges[2].powers.untrusted"].Path; got != "spec.bridges[2].powers.untrusted" {
		t.Errorf("path %q", got)
	}
}

// The author's own constraints hold beside those of the language.
func TestCUEConstraintsOfTheAuthorHold(t *testing.T) {
	const head = "#House: {spec: {mode: \"enforce\", ...}, ...}\na: #House & #Policy & {apiVersion: \"ringd/v1\", " +
		"kind: \"AgentPolicy\", metadata: {name: \"a\", revision: 1, owner: \"team:x\"}, spec: "
	if p := one(t, "p.cue", head+"{}}\n"); p.Spec.Mode != "enforce" {
		t.Errorf("mode %q", p.Spec.Mode)
	}
	_, found := schema.Decode([]schema.Source{{Name: "p.cue", Data: []byte(head + "{mode: \"audit\"}}\n")}})
	if len(found) != 1 || found[0].Code != schema.CodeConflict {
		t.Errorf("%v, want a conflict", found)
	}
}

// The names of the definitions mean nothing but themselves: a policy that is
// unified with #Policy and one that is not are checked alike.
func TestCUENeedsNoDefinition(t *testing.T) {
	for _, with := range []string{"", "#Policy & ", "#Compact & ", "#Spec & "} {
		_, found := schema.Decode([]schema.Source{{Name: "p.cue", Data: []byte("a: " + with + "{kernel_ring: " +
			"fs_read: [\"/\"]}\n")}})
		if len(found) != 1 || found[0].Code != schema.CodeUnknownField {
			t.Errorf("%q: %v, want an unknown field", with, found)
		}
	}
}

// A text may show a policy in YAML; a file that is one is told what it is.
func TestCUEThatSpeaksOfYAML(t *testing.T) {
	const policy = "a: {apiVersion: \"ringd/v1\", kind: \"AgentPolicy\", metadata: {name: \"a\", revision: 1, owner: " +
		"\"team:x\", description: \"\"\"\n%s\n\"\"\"}, spec: {}}\n"
	if p := one(t, "p.cue", fmt.Sprintf(policy, "It was:\n\napiVersion: ringd/v1\nspec:\n  - x")); !strings.Contains(
		p.Metadata.Description, "apiVersion: ringd/v1") {
		t.Errorf("%q", p.Metadata.Description)
	}
	for _, text := range []string{"apiVersion: ringd/v1\nkind: AgentPolicy\n",
		"kind: AgentPolicy\napiVersion: ringd/v1\n", "# by hand\napiVersion: ringd/v1\n"} {
		_, found := schema.Decode([]schema.Source{{Name: "p.cue", Data: []byte(text)}})
		if len(found) != 1 || !strings.Contains(found[0].String(), "looks like YAML") {
			t.Errorf("%q: %v", text, found)
		}
	}
}
