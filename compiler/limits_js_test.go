package compiler_test

import (
	"testing"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// A ceiling over all executors may be more than one of them takes, which then has what
// it can take. An agent that names as much for one is told.
func TestCeilingAboveAnExecutor(t *testing.T) {
	const (
		org = "apiVersion: ringd/v1\nkind: OrgPolicy\nmetadata: {name: acme, revision: 1, owner: \"group:x@y\"}\n" +
			"spec:\n  executors: {allowed: [js, python]}\n  limits: {memory: 4GiB, stack: 8MiB}\n"
		agent = "apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: etl, revision: 1, owner: \"user:x@y\", " +
			"parent: acme}\nspec:\n  executors: {allowed: [js, python]"
	)
	set, found := compile(t, org, agent+"}\n")
	if len(found) > 0 {
		t.Fatal(found)
	}
	a := set.Agents["etl"]
	if got := *a.JS.Limits.MemoryBytes; got != profiles.MaxJSMemoryBytes {
		t.Errorf("memory of js: %d", got)
	}
	if got := *a.JS.Limits.StackBytes; got != profiles.MaxJSStackBytes {
		t.Errorf("stack of js: %d", got)
	}
	if got := *a.Python.Limits.MemoryBytes; got != 4<<30 {
		t.Errorf("memory of python: %d", got)
	}
	for _, own := range []string{"memory: 1025MiB", "stack: 513KiB"} {
		if _, found := compile(t, org, agent+", js: {limits: {"+own+"}}}\n"); len(found) != 1 ||
			found[0].Code != compiler.CodeLimit {
			t.Errorf("%s: %v", own, found)
		}
	}
}

func compile(t *testing.T, texts ...string) (*profiles.Set, compiler.Diagnostics) {
	t.Helper()
	var sources []schema.Source
	for i, text := range texts {
		sources = append(sources, schema.Source{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	policies, diags := schema.Decode(sources)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return compiler.Compile(compiler.Config{Policies: policies})
}
