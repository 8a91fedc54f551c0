package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

const policy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a@b.example"}
spec:
  executors:
    allowed: [js, python, shell]
    python: {imports: {allow: [pandas, numpy, json]}}
    shell: {binaries: [{path: /usr/bin/git}, {path: /usr/bin/jq}, {path: /bin/bash}]}
  bridges:
    - {name: search, powers: {sensitive: false, untrusted: true, external: false}, limits: {callsPerRun: 9}}
    - {name: full, powers: {sensitive: false, untrusted: true, external: false}, limits: {callsPerRun: 2}}
    - {name: idle, powers: {sensitive: false, untrusted: false, external: false}}
  network:
    mode: allowlist
    egress:
      - {host: "*.example.com", ports: [443, 8443]}
      - {host: api.example.com}
      - {host: idle.example.org}
      - {host: "any.example.net:*"}
      - {host: "[2001:db8::1]:8443"}
    gateways: [{name: models, upstream: "https://m.example"}, {name: spare, upstream: "https://s.example"}]
`

func agent(t *testing.T) profiles.Agent {
	t.Helper()
	policies, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: []byte(policy)}})
	if found.Refused() {
		t.Fatal(found)
	}
	set, found := compiler.Compile(compiler.Config{Policies: policies})
	if found.Refused() {
		t.Fatal(found)
	}
	return set.Agents["a"]
}

func TestOf(t *testing.T) {
	got := lint.SuggestFor(agent(t), lint.Used{
		Imports: []string{"json", "pandas", "pandas.core", "socket"}, Python: 2,
		Calls:    map[string]int64{"search": 4, "full": 7, "gone": 1},
		Programs: []string{"/usr/bin/git", "/usr/bin/curl"},
		Targets: []string{"api.example.com:443", "www.example.com:8443", "any.example.net:80", "[2001:db8::1]:8443",
			"models.ringd.internal:80", "other.example:443", "no port", "x:0", "gone.ringd.internal:80"},
	})
	want := []string{
		"remove import numpy", "remove bridge idle", "narrow bridge search callsPerRun: 4", "remove program /usr/bin/jq",
		"narrow host *.example.com www.example.com:8443", "remove host idle.example.org", "narrow host any.example.net any.example.net:80",
		"remove gateway spare",
	}
	var changes []string
	for _, c := range got.Changes {
		text := c.Do + " " + c.What
		for _, to := range c.To {
			text += " " + to
		}
		changes = append(changes, text)
		if c.Rule.Line == 0 {
			t.Errorf("%s: no place", text)
		}
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bridge gone", "host gone.ringd.internal:80", "host other.example:443",
		"import socket", "program /usr/bin/curl"}, got.Refused); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"json", "pandas"}, got.Imports.Allow); diff != "" {
		t.Error(diff)
	}
}

// TestNothingKnown: without records nothing is known, and everything granted is unused.
func TestNothingKnown(t *testing.T) {
	got := lint.SuggestFor(agent(t), lint.Used{})
	if got.Imports != nil || len(got.Changes) != 12 || got.Refused != nil {
		t.Errorf("%d changes: %+v", len(got.Changes), got)
	}
	if got := lint.SuggestFor(profiles.Agent{}, lint.Used{}); len(got.Changes) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}
